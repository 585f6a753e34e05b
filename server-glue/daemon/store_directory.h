// The directory for libpmix' store of what is posted, in memory: on a disk each PMIx_Init, and the end of each step,
// waits for the file system (contrib/doc/decisions/modex.md). It has the name of the daemon's private directory, so
// that whoever removes that one of a daemon that was killed finds it, too (common/start/status_page.h).
//
// The library and its clients know it by a link in the private directory. Programs may remove all that is in there (the
// MPI_Finalize of Open MPI 4.1 does), and whoever comes behind them must not find a store of which a part is missing.
#pragma once

#include "common/config/settings.h"
#include "server-glue/daemon/private_directory.h"

#include <optional>

namespace pmixhost {

class StoreDirectory {
  public:
    // What must be free, in bytes, beside two segments (modex.segment_bytes), which take all of their memory at once.
    static constexpr std::uint64_t least_room = 1ull << 30;

    // For daemons whose private directory has a name of their own; `pmixhost run` chooses those of its daemons. None
    // where the settings do not want it, libpmix has no such store, there is no file system in memory with that much
    // room, or the name is taken: the store is then in the private directory.
    static std::optional<StoreDirectory> create(const Settings &settings, const PrivateDirectory &beside);

    // The link.
    const std::string &path() const { return link_; }
    // As PrivateDirectory::remove(). The link goes with the directory that it is in.
    bool remove() { return directory_.remove(); }

  private:
    StoreDirectory(PrivateDirectory directory, std::string link)
        : directory_(std::move(directory)), link_(std::move(link)) {}
    PrivateDirectory directory_;
    std::string link_;
};

} // namespace pmixhost
