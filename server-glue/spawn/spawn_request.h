// What PMIx_Spawn was given, copied out of libpmix' structures with bounds: from here on it is plain
// data that travels to the launcher (wire::SpawnRequest). What a directive means is decided there
// (spawn_plan.h).
#pragma once

#include "common/base/result.h"
#include "common/wire/spawn_messages.h"

#include <pmix_common.h>

namespace pmixhost {

enum class SpawnValue : std::uint8_t { other = 0, flag, number, text, process, variable, ranks };

inline constexpr std::size_t max_spawn_bytes = 1u << 20; // of all texts together
inline constexpr std::size_t max_spawn_apps = 1024;
inline constexpr std::size_t max_spawn_directives = 4096; // of a request, with those of its programs

// `id`, `nspace` and `rank` are left to the caller. Fails (limit, invalid).
Result<wire::SpawnRequest> copy_spawn_request(const pmix_info_t *info, std::size_t info_count, const pmix_app_t *apps,
                                              std::size_t app_count);

// Working directories (those of the programs, and PMIX_WDIR) that do not begin with '/' are below `base`, which is
// where the caller's rank is: on other hosts nobody knows that any more.
void place_directories(wire::SpawnRequest &request, const std::string &base);

} // namespace pmixhost
