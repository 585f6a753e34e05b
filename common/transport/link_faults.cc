// See link_faults.h.
#include "common/transport/link_faults.h"

namespace pmixhost {

LinkFaults::LinkFaults(EventLoop &loop, const std::vector<LinkFault> &faults) : loop_(loop) {
    for (const auto &fault : faults) {
        LinkFault &known = states_[fault.peer].fault;
        known.peer = fault.peer;
        if (fault.cut_after)
            known.cut_after = fault.cut_after;
        known.delay += fault.delay;
    }
}

bool LinkFaults::cuts_at_open(HostIndex peer) const {
    auto found = states_.find(peer);
    return found != states_.end() && found->second.fault.cut_after == 0;
}

bool LinkFaults::cuts_after_message(HostIndex peer) {
    auto found = states_.find(peer);
    return found != states_.end() && found->second.fault.cut_after &&
           ++found->second.messages == *found->second.fault.cut_after;
}

Link::Callbacks LinkFaults::delayed(HostIndex peer, Link::Callbacks callbacks) {
    auto found = states_.find(peer);
    if (found == states_.end() || found->second.fault.delay.count() == 0)
        return callbacks;
    State *state = &found->second; // states_ does not change
    return {[this, state, now = callbacks.on_message](std::uint8_t type, Bytes payload) {
                later(*state, [now, type, payload = std::move(payload)] { now(type, payload); });
            },
            [this, state, now = callbacks.on_closed](Error why) {
                later(*state, [now, why = std::move(why)] { now(why); });
            }};
}

void LinkFaults::later(State &state, std::function<void()> work) {
    state.late.emplace_back(loop_.now() + state.fault.delay, std::move(work));
    if (state.late.size() == 1)
        arm(state);
}

void LinkFaults::arm(State &state) {
    state.timer = loop_.after(state.late.front().first - loop_.now(), [this, &state] {
        auto work = std::move(state.late.front().second);
        state.late.pop_front();
        if (!state.late.empty())
            arm(state);
        work();
    });
}

} // namespace pmixhost
