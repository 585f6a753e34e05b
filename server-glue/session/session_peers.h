// The steps that a session is connected with, as its services see them: who is there, and the way to them.
// All in the loop's thread.
#pragma once

#include "common/base/bytes.h"
#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/wire/codec.h"
#include "server-glue/rm/invitation_stream.h"

#include <functional>
#include <map>
#include <set>
#include <vector>

namespace pmixhost {

class SessionService;

class SessionPeers {
  public:
    // Names a step while it has a connection; never used again for another. 0 is none.
    using StepId = std::uint64_t;
    virtual ~SessionPeers() = default;
    // In the order in which they were made; each enters itself.
    std::vector<SessionService *> services;
    // The steps that have a connection, by namespace; of one namespace; and the hosts of one that have one.
    virtual std::map<Bytes, StepId> steps() const = 0;
    virtual StepId step_of(const Bytes &nspace) const = 0;
    virtual std::vector<HostIndex> hosts_of(StepId step) const = 0;
    // "" once it has gone.
    virtual Bytes nspace_of(StepId step) const = 0;
    // False when there is no connection with that host.
    virtual bool send(StepId step, HostIndex host, std::uint8_t type, SharedBytes payload) = 0;
    // Bytes that wait to be sent to that host.
    virtual std::size_t waiting_bytes(StepId step, HostIndex host) const = 0;
    // Calls the steps of the allocation that run and are none of these namespaces (InvitationSource::call_steps).
    // `done` may come at once, and may be empty: then nobody waits for how it went.
    virtual void call_steps(const std::set<Bytes> &known, std::function<void(TimePoint now, CalledSteps)> done) = 0;

    template <typename Message> bool send(StepId step, HostIndex host, const Message &message) {
        return send(step, host, Message::type, share(wire::encode(message)));
    }
    // Calls all that have no connection.
    void call_others(std::function<void(TimePoint now, CalledSteps)> done) {
        std::set<Bytes> known;
        for (const auto &[nspace, step] : steps())
            known.insert(nspace);
        call_steps(known, std::move(done));
    }
};

} // namespace pmixhost
