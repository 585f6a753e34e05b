// Where tools of other hosts come to the gate, if the site has given it a socket for them. Of each connection, before
// anybody else hears of it:
//   1. a rule of the site's must let somebody look at jobs from there; else it is closed before a byte was read.
//   2. its first message is awaited, without taking it, for ten seconds. There are so many at a time that are not
//      known; who goes for a new one, and about whom munge is asked next, unknown_tools.h says.
//   3. munge says whose it is, by the credential in that message, which must not have come to this host before
//      (guard/remote_hello.h). The message's text is not believed. Of this host, the kernel has to agree. It has eight
//      seconds for that and its turn before it.
// Then it is that user's, as one of this host whose user the kernel says (tool_gate.h). The message is still unread.
//
// Who is turned away gets no word, as libpmix would wait for more. The log has why, twenty lines a minute of each
// address, and three hundred of all. All in the loop's thread; munged is asked in others.
#pragma once

#include "common/base/log.h"
#include "common/base/unique_fd.h"
#include "common/base/user_lines.h"
#include "common/loop/slow_calls.h"
#include "common/peer/peer_address.h"
#include "common/transport/credential.h"
#include "server-glue/gate/unknown_tools.h"

#include <functional>
#include <map>
#include <vector>

namespace pmixhost {

class RemoteDoor {
  public:
    struct Tool {
        UniqueFd connection;
        uid_t user = 0;
        std::string address; // where it is, in numbers
    };
    struct Port {
        // Could a tool of anybody be let in from this address (in numbers)?
        std::function<bool(const std::string &address)> may_anybody_come;
        std::function<void(Tool)> on_tool;
        // Who sent this message, from there; blocks, in a thread of its own, and owns all that it uses.
        std::function<Result<Identity>(const std::string &message, const std::string &address)> identify;
        // Does nothing else that is known of the connection speak against it?
        std::function<Result<void>(int connection, const std::string &address, uid_t user)> agrees;
    };
    struct Limits {
        UnknownTools::Bounds unknown = {};
        Duration hello = std::chrono::seconds(10);
    };
    // `listeners`: bound sockets that listen, non-blocking.
    RemoteDoor(EventLoop &loop, Log &log, std::vector<UniqueFd> listeners, Port port, Limits limits);
    RemoteDoor(EventLoop &loop, Log &log, std::vector<UniqueFd> listeners, Port port)
        : RemoteDoor(loop, log, std::move(listeners), std::move(port), Limits()) {}
    RemoteDoor(const RemoteDoor &) = delete;
    std::size_t strangers() const { return unknown_.size(); } // whose tool is not known yet

  private:
    using Id = UnknownTools::Id;
    struct Listener {
        UniqueFd fd;
        EventLoop::Handle watch;
    };
    struct Unknown {
        UniqueFd connection;
        PeerAddress from;
        EventLoop::Handle watch, timer;
        bool has_spoken = false;    // its message is there as a whole
        TimePoint answered_by = {}; // then
    };
    void watch_listener(Listener &listener);
    void accept(Listener &listener);
    void take_in(UniqueFd connection, const PeerAddress &from);
    void await(Id id);
    void look(Id id);
    void ask_some();
    void judge(Id id, const Result<Identity> &who);
    void refuse(Id id, const std::string &why);
    void forget(Id id);
    void tell(const PeerAddress &from, const std::string &why);

    EventLoop &loop_;
    Log &log_;
    Port port_;
    const Limits bounds_;
    UnknownTools limits_;
    std::map<Id, Unknown> unknown_;
    Id next_ = 1;
    LinesOf<std::string> lines_;
    RateLimit all_lines_{300}; // whoever has many addresses
    std::vector<Listener> listeners_;
    SlowCalls calls_;
};

} // namespace pmixhost
