// Which rank of a namespace runs on which host: the one fact that everything about a job is
// derived from. Pure data; made by a backend, read by all.
//
// A host is named by its index: the position in the job's list of hosts, which is also its PMIx
// node id. A rank is the RM's global task id.
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace pmixhost {

using Rank = std::uint32_t;
using HostIndex = std::uint32_t;
inline constexpr HostIndex no_host = UINT32_MAX;

// One program of the job (--multi-prog line, het component, pmix_app_t).
struct App {
    std::vector<std::string> argv; // may be empty where the RM does not tell
    std::vector<Rank> ranks;       // ascending; empty means: all ranks (only when there is one app)
};

class JobMap {
  public:
    // `ranks_by_host[h]` lists host h's ranks in the order of their local rank. Fails (invalid)
    // unless each rank of 0..N-1 occurs exactly once, hosts are distinct and there is a rank.
    static Result<JobMap> create(std::vector<std::string> hosts, std::vector<std::vector<Rank>> ranks_by_host);
    // Of one host without a rank.
    static JobMap without_ranks(std::string host);

    const std::vector<std::string> &hosts() const { return hosts_; }
    HostIndex host_count() const { return static_cast<HostIndex>(hosts_.size()); }
    Rank rank_count() const { return static_cast<Rank>(host_of_rank_.size()); }
    std::span<const Rank> ranks_on(HostIndex host) const { return ranks_by_host_[host]; }
    // no_host when the rank is not one of this job.
    HostIndex host_of(Rank rank) const { return rank < host_of_rank_.size() ? host_of_rank_[rank] : no_host; }
    // Position of the rank among the ranks of its host. Precondition: host_of(rank) != no_host.
    std::uint32_t local_rank(Rank rank) const { return local_rank_[rank]; }

  private:
    std::vector<std::string> hosts_;
    std::vector<std::vector<Rank>> ranks_by_host_;
    std::vector<HostIndex> host_of_rank_;
    std::vector<std::uint32_t> local_rank_;
};

} // namespace pmixhost
