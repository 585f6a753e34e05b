// The directory for libpmix' store of what is posted, if the site wants it in memory: on a disk each PMIx_Init, and the
// end of each step, waits for the file system (contrib/doc/decisions/modex.md). It has the name of the daemon's private
// directory, so that whoever removes that one of a daemon that was killed finds it, too (common/start/status_page.h).
#pragma once

#include "common/config/settings.h"
#include "server-glue/daemon/private_directory.h"

#include <optional>

namespace pmixhost {

// What must be free, in bytes.
inline constexpr std::uint64_t least_store_room = 1ull << 30;

// For daemons whose private directory has a name of their own; `pmixhost run` chooses those of its daemons. None where
// the settings do not want it, libpmix has no such store, there is no file system in memory with that much
// room, or the name is taken: the store is then in the private directory.
std::optional<PrivateDirectory> create_store(const Settings &settings, const PrivateDirectory &beside);

} // namespace pmixhost
