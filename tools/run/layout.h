// Which task runs on which virtual host: --map-by.
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"

#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

// `policy`:
//   slot, block      consecutive ranks on one host, as even as can be; the first hosts get one more
//   node, cyclic     one rank to each host in turn
//   plane=K          K ranks to each host in turn
//   ppr:K:node       K ranks to each host in order; there must be room for all
//   list=H,H,...     host index of rank 0, 1, ...
// Fails with a text that names what is allowed, or the host that would stay empty.
Result<std::vector<std::vector<Rank>>> place_tasks(std::string_view policy, Rank tasks, HostIndex hosts);

// "0-3,7" for ascending ranks.
std::string rank_list(const std::vector<Rank> &ranks);

} // namespace pmixhost
