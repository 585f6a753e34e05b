// The tree that spans a step's hosts: host 0 is the root, the children of h are h*radix+1 ..
// h*radix+radix. Everyone can compute it, so nobody has to be told.
#pragma once

#include "common/job/job_map.h"

#include <algorithm>

namespace pmixhost {

class Tree {
  public:
    Tree(HostIndex hosts, std::uint32_t radix) : hosts_(hosts), radix_(radix) {}

    HostIndex size() const { return hosts_; }
    // no_host for the root.
    HostIndex parent(HostIndex host) const { return host == 0 ? no_host : (host - 1) / radix_; }
    HostIndex first_child(HostIndex host) const {
        std::uint64_t child = std::uint64_t{host} * radix_ + 1;
        return child < hosts_ ? static_cast<HostIndex>(child) : no_host;
    }
    std::uint32_t child_count(HostIndex host) const {
        HostIndex first = first_child(host);
        return first == no_host ? 0 : std::min<std::uint32_t>(radix_, hosts_ - first);
    }
    bool is_child(HostIndex parent_host, HostIndex host) const {
        return host != 0 && host < hosts_ && parent(host) == parent_host;
    }
    // The child of `top` whose subtree has `host`; `top` itself if host == top; no_host if `host`
    // is not below `top`. O(log N).
    HostIndex branch(HostIndex top, HostIndex host) const {
        HostIndex below = host;
        while (host > top) {
            below = host;
            host = parent(host);
        }
        if (host != top)
            return no_host;
        return below == top ? top : below;
    }
    // The neighbour of `from` on the way to `to`. Precondition: from != to.
    HostIndex next_hop(HostIndex from, HostIndex to) const {
        HostIndex down = branch(from, to);
        return down == no_host ? parent(from) : down;
    }

  private:
    HostIndex hosts_;
    std::uint32_t radix_;
};

} // namespace pmixhost
