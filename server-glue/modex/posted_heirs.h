// What processes had posted outlives their host: a daemon that leaves in order, while other hosts of its step
// still run, hands it to an heir, which hands it on when it leaves itself. Who the heir is everyone can
// compute: the first of the host's line that is there. The line is the host's ancestors in the step's tree,
// nearest first, then all hosts from 0 on. Pure: no sockets, no clock.
//
// Each byte goes one hop up the tree for each daemon that leaves before the last one, and none where a fence of the
// whole job that collects data has brought it to every host already (contrib/doc/decisions/modex.md).
#pragma once

#include "common/job/job_map.h"
#include "common/job/rank_ranges.h"
#include "common/transport/tree.h"

#include <functional>
#include <map>
#include <set>

namespace pmixhost {

// Recognizes data that the other hosts already have.
class PostedDigests {
  public:
    void add(Rank rank, std::string_view data) { digests_[rank] = std::hash<std::string_view>()(data); }
    bool is(Rank rank, std::string_view data) const {
        auto it = digests_.find(rank);
        return it != digests_.end() && it->second == std::hash<std::string_view>()(data);
    }

  private:
    std::map<Rank, std::size_t> digests_;
};

class PostedHeirs {
  public:
    static constexpr std::size_t max_bytes = 64u << 20; // that are kept for others

    PostedHeirs(const JobMap &map, HostIndex self, std::uint32_t radix)
        : map_(map), self_(self), tree_(map.host_count(), radix) {}

    // Notes what is known of the other hosts and their processes.
    void ended_normally(Rank first, Rank last) { ended_.add(first, last); }
    void left(HostIndex host) { left_.insert(host); }
    void lost(HostIndex host) { lost_.insert(host); }
    // Has it left in order? It said farewell, or all of its processes have ended so.
    bool has_left(HostIndex host) const;
    bool is_gone(HostIndex host) const { return lost_.contains(host) || has_left(host); }

    // The first of the line of `host` that is not gone, and not among those, perhaps this one; no_host when nobody is
    // there.
    HostIndex heir_of(HostIndex host, const std::set<HostIndex> &but = {}) const;
    // May what was posted on `home` still be on its way to us? `connected` says whose farewell would be heard.
    bool may_still_come(HostIndex home, const std::function<bool(HostIndex)> &connected) const;

    // Keeps what another host had; false when there is no such rank elsewhere, or it would be too much.
    bool keep(Rank rank, std::string data);
    const std::string *kept(Rank rank) const;
    const std::map<Rank, std::string> &all_kept() const { return kept_; }

  private:
    const JobMap &map_;
    HostIndex self_;
    Tree tree_;
    RankRanges ended_;
    std::set<HostIndex> left_, lost_;
    mutable HostIndex lowest_ = 0; // all below are gone
    std::map<Rank, std::string> kept_;
    std::size_t bytes_ = 0;
};

} // namespace pmixhost
