// How the session relays what the steps of an allocation ask each other (server-glue/cross_job/session_relay.h). The
// message that answers says it, beside its fields (all_messages.h is looked through for those that do):
//
//     using Answers = ModexRequest;
//     static constexpr Relayed relayed{.is_asked_again = true};
//
// Both have an `id`, which the asker chooses and the session replaces on the way; the question has the `nspace` of the
// step that it is for, the answer a `status`, which is not 0 where there is none. A question may also have a `host` of
// that step, to which it goes; `timeout_ms`, for which its asker waits (UINT32_MAX: for ever); and a `source`, the
// namespace of who asks, which the session fills in.
#pragma once

namespace pmixhost::wire {

struct Relayed {
    bool waits_for_people = false; // the answer may take any time
    bool gathers = false;          // asked of the same host each time, which gathers the answer once
    bool ends = false;             // an end: a step that is out of reach is not one that is over
    bool is_asked_again = false;   // of another host, where the asked one goes without an answer
};

} // namespace pmixhost::wire
