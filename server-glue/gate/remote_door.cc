// See remote_door.h.
#include "server-glue/gate/remote_door.h"

#include "common/base/no_room.h"
#include "common/transport/keep_alive.h"
#include "server-glue/guard/hello_peek.h"

#include <cerrno>

namespace pmixhost {

namespace {

using namespace std::chrono_literals;

constexpr int strangers_at_once = 16;
constexpr Duration no_descriptor_again = 100ms;
constexpr Duration peek_again = 50ms; // the kernel says "readable" too early
constexpr Duration gates_munge_patience = 8s;
// A tool whose host has gone keeps its place at a job no longer; one that does not read, but is there, keeps it.
constexpr auto host_is_dead_after = 60s;

} // namespace

RemoteDoor::RemoteDoor(EventLoop &loop, Log &log, std::vector<UniqueFd> listeners, Port port, Limits limits)
    : loop_(loop), log_(log), port_(std::move(port)), bounds_(limits), limits_(limits.unknown),
      calls_(loop, limits.unknown.asked_at_once, {4, 4}) {
    for (auto &each : listeners)
        listeners_.push_back({std::move(each), {}});
    for (auto &each : listeners_)
        watch_listener(each);
}

void RemoteDoor::watch_listener(Listener &listener) {
    listener.watch =
        loop_.watch(listener.fd.get(), EventLoop::readable, [this, &listener](unsigned) { accept(listener); });
}

void RemoteDoor::accept(Listener &listener) {
    for (int i = 0; i < strangers_at_once; ++i) {
        PeerAddress from;
        UniqueFd fd = accept_from(listener.fd.get(), from);
        if (fd) {
            take_in(std::move(fd), from);
            continue;
        }
        if (is_no_room(errno))
            listener.watch = loop_.after(no_descriptor_again, [this, &listener] { watch_listener(listener); });
        if (errno != ECONNABORTED && errno != EINTR)
            return;
    }
}

void RemoteDoor::take_in(UniqueFd connection, const PeerAddress &from) {
    if (!port_.may_anybody_come(from.numeric()))
        return tell(from, "no rule of the site (tools.policy) lets anybody look at jobs from there");
    keep_alive(connection.get(), host_is_dead_after);
    Id id = next_++;
    unknown_.emplace(id, Unknown{std::move(connection), from, {}, loop_.after(bounds_.hello, [this, id] {
                                     refuse(id, "it did not say who it is in time");
                                 })});
    if (auto gone = limits_.add(id, from.source()))
        refuse(*gone, unknown_.at(*gone).has_spoken ? "others came: more than munge is asked about in time"
                                                    : "others came, and it had not said who it is");
    if (!unknown_.contains(id))
        return;
    await_hello(unknown_.at(id).connection.get());
    await(id);
}

void RemoteDoor::await(Id id) {
    Unknown &one = unknown_.at(id);
    one.watch = loop_.watch(one.connection.get(), EventLoop::readable, [this, id](unsigned) { look(id); });
}

void RemoteDoor::look(Id id) {
    Unknown &one = unknown_.at(id);
    auto message = peek_hello(one.connection.get());
    if (message && *message) {
        one.watch.reset();
        one.has_spoken = true;
        one.answered_by = loop_.now() + gates_munge_patience;
        one.timer = loop_.after(gates_munge_patience, [this, id] { refuse(id, "munge had no time for it"); });
        limits_.has_spoken(id);
        return ask_some();
    }
    if (message)
        one.watch = loop_.after(peek_again, [this, id] { await(id); });
    else if (message.failure().kind == ErrorKind::unreachable)
        forget(id);
    else
        refuse(id, message.failure().text);
}

// What each has said stays with the kernel until its turn; of one that was reset meanwhile it is there no more.
void RemoteDoor::ask_some() {
    while (auto id = limits_.ask_next()) {
        Unknown &one = unknown_.at(*id);
        auto message = peek_hello(one.connection.get());
        if (!message || !*message) {
            forget(*id);
            continue;
        }
        one.timer.reset();
        calls_.run_alone(
            one.answered_by,
            [identify = port_.identify, message = std::move(**message), address = one.from.numeric()] {
                return identify(message, address);
            },
            [this, id = *id](const Result<Identity> &who) {
                judge(id, who);
                ask_some();
            });
    }
}

void RemoteDoor::judge(Id id, const Result<Identity> &who) {
    if (!who)
        return refuse(id, who.failure().text);
    if (who->uid == 0)
        return refuse(id, "root's tools have no desk; next: run the tool as the job's user");
    const Unknown &one = unknown_.at(id);
    if (auto agreed = port_.agrees(one.connection.get(), one.from.numeric(), who->uid); !agreed)
        return refuse(id, agreed.failure().text);
    auto known = unknown_.extract(id);
    limits_.remove(id);
    port_.on_tool({std::move(known.mapped().connection), who->uid, known.mapped().from.numeric()});
}

void RemoteDoor::refuse(Id id, const std::string &why) {
    if (auto one = unknown_.find(id); one != unknown_.end())
        tell(one->second.from, why);
    forget(id);
}

void RemoteDoor::forget(Id id) {
    limits_.remove(id);
    unknown_.erase(id);
}

void RemoteDoor::tell(const PeerAddress &from, const std::string &why) {
    auto missed = lines_.admit(from.source(), loop_.now());
    auto missed_of_all = missed ? all_lines_.admit(loop_.now()) : std::nullopt;
    if (missed_of_all)
        log_.warning("tools: refused: from {}: {}{}", from.text(), why, not_logged(*missed + *missed_of_all));
}

} // namespace pmixhost
