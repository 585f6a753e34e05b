// Faults of links on demand, for tests: a link that is cut, or over which everything comes late. Made
// by a backend that has such knobs; without any the mesh does nothing for them. All in the loop's
// thread.
#pragma once

#include "common/job/job_map.h"
#include "common/transport/link.h"

#include <map>
#include <optional>
#include <vector>

namespace pmixhost {

struct LinkFault {
    HostIndex peer = 0;
    // This side closes the link after so many messages, counted in both directions from when it is
    // open; 0: at once.
    std::optional<std::uint64_t> cut_after;
    // What comes from the peer is handed on so much later, the end of the link too.
    std::chrono::milliseconds delay{0};
};

class LinkFaults {
  public:
    LinkFaults(EventLoop &loop, const std::vector<LinkFault> &faults);

    // A link with `peer` has opened resp. a message has passed: must the link be cut now?
    bool cuts_at_open(HostIndex peer) const;
    bool cuts_after_message(HostIndex peer);
    // `callbacks`, or some that call them later.
    Link::Callbacks delayed(HostIndex peer, Link::Callbacks callbacks);

  private:
    struct State {
        LinkFault fault;
        std::uint64_t messages = 0;
        std::deque<std::pair<TimePoint, std::function<void()>>> late;
        EventLoop::Handle timer;
    };
    void later(State &state, std::function<void()> work);
    void arm(State &state);

    EventLoop &loop_;
    std::map<HostIndex, State> states_;
};

} // namespace pmixhost
