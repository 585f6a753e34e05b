// One end of connections that are passed on over a link between daemons: what comes from a local socket goes to the
// other end, and the other way round. Both ends are the same. Bytes are not looked at; each connection holds at most
// wire::relay_window bytes in each direction, so a side that does not read costs that much and holds up nobody else.
//
// All in the loop's thread. Nothing is called from within the functions that are called.
#pragma once

#include "common/base/bytes.h"
#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"
#include "common/wire/relay_messages.h"

#include <functional>
#include <map>

namespace pmixhost {

class Relay {
  public:
    // To the other end. It must not be full for long: only windows are under way.
    using Send = std::function<void(std::uint8_t type, SharedBytes payload)>;
    Relay(EventLoop &loop, Send send) : loop_(loop), send_(std::move(send)) {}

    // `local`: a connected, non-blocking stream socket. The other end knows of `id`, or is told before it gets bytes.
    // `ahead`: what the other end gets before anything of `local`; at most a window.
    void add(std::uint64_t id, UniqueFd local, Bytes ahead = {});
    bool has(std::uint64_t id) const { return connections_.contains(id); }
    std::size_t size() const { return connections_.size(); }
    // Is there anything from a local socket that has not been read yet?
    bool has_unread() const;

    // From the other end. Of a connection that is not here (any more), nothing happens.
    void on_bytes(wire::RelayBytes message);
    void on_taken(const wire::RelayTaken &message);
    // What came before is still handed on, for a few seconds.
    void on_end(const wire::RelayEnd &message);
    // Closes it here, and says so to the other end.
    void drop(std::uint64_t id);
    // `then` is posted once no connection is left.
    void when_empty(std::function<void()> then);
    // The other end has gone. What came is still handed on, for a few seconds; then `then` is posted.
    void finish(std::function<void()> then);

  private:
    struct Connection {
        UniqueFd local;
        EventLoop::Handle watch, timer;
        unsigned interest = 0;
        std::size_t under_way = 0; // sent, and not taken
        Bytes waiting;             // for the local socket
        bool ended = false;        // by the other end
    };
    template <typename Message> void tell(const Message &message) {
        send_(Message::type, share(wire::encode(message)));
    }
    void watch(std::uint64_t id, Connection &connection);
    void on_ready(std::uint64_t id, unsigned ready);
    bool read_some(std::uint64_t id, Connection &connection);
    bool write_some(std::uint64_t id, Connection &connection);
    void end(std::uint64_t id);
    void forget(std::uint64_t id);
    void look_whether_empty();

    EventLoop &loop_;
    Send send_;
    std::map<std::uint64_t, Connection> connections_;
    std::function<void()> when_empty_; // while some are left
};

} // namespace pmixhost
