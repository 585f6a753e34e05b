// The other hosts of the step, and the session, as the pure state machines of a step's daemon see them:
// whom messages go to, who is gone, what is still queued. One interface for all of them, since the
// connections are the same ones (common/transport/mesh.h); what a state machine needs besides is in a
// port of its own.
//
// Nothing here waits or answers: a message that is accepted may still be lost with its receiver. Whoever
// waits for an answer has a deadline, and hears of a host that goes (on_host_gone() of the state machine)
// after the call that noticed it, never from within. All in the event loop's thread.
#pragma once

#include "common/base/bytes.h"
#include "common/job/job_map.h"

#include <cstddef>
#include <cstdint>

namespace pmixhost {

class HostPort {
  public:
    virtual ~HostPort() = default;
    // Sends to the daemon of a host of the step: queued until there is a connection, in order for each host. The type
    // is that of the message (common/wire). False when the host is gone: nothing was sent. The session's number as a
    // peer (central_roles.h) is a host here, for processes of other namespaces.
    virtual bool send(HostIndex to, std::uint8_t type, SharedBytes payload) = 0;
    // Something will be sent to the host soon: the connection is made meanwhile.
    virtual void prepare(HostIndex to) = 0;
    // The host has left or was lost, and does not come again.
    virtual bool host_gone(HostIndex host) = 0;
    // Is there a connection, or one that is being made and worth waiting for?
    virtual bool connected(HostIndex host) = 0;
    // Bytes that wait to be sent to that host, whoever has sent them.
    virtual std::size_t queued_bytes(HostIndex to) = 0;
    // Sends to the session: queued until there is a connection, for which the session is started if need be. False
    // when it cannot be reached.
    virtual bool send_to_session(std::uint8_t type, SharedBytes payload) = 0;
    // Is there a connection to the session? Whoever answers a question of the session looks first: a new session does
    // not know of the question.
    virtual bool session_is_there() = 0;
};

} // namespace pmixhost
