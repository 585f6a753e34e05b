// See connection_guard.h.
#include "server-glue/guard/connection_guard.h"

#include "common/base/no_room.h"
#include "common/text/printable.h"
#include "server-glue/guard/closed_connections.h"
#include "server-glue/guard/hello_peek.h"

#include <algorithm>
#include <cerrno>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using namespace std::chrono_literals;

// A bound, so that a flood of strangers does not keep the loop from its other work.
constexpr int accepts_at_once = 16;
// When to look again without a free descriptor, or where the kernel says "readable" and the message is not all there.
constexpr auto look_again = 50ms;
constexpr auto leaving_look = 1ms;
constexpr int taken_looks = 3;

std::uint16_t port_of_peer(int fd) {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr *>(&peer), &size) != 0)
        return 0;
    // The port is at the same place in both families.
    return ntohs(reinterpret_cast<const sockaddr_in &>(peer).sin_port);
}

} // namespace

ConnectionGuard::ConnectionGuard(EventLoop &loop, Log &log, std::unique_ptr<ListenerTakeover> takeover,
                                 SocketOwners owners, DescriptorRange range, Names names,
                                 std::function<void(Error)> on_broken, GuardLimits limits)
    : loop_(loop), log_(log), takeover_(std::move(takeover)), owners_(std::move(owners)), range_(range),
      names_(std::move(names)), on_broken_(std::move(on_broken)), limits_(limits) {}

Result<std::unique_ptr<ConnectionGuard>>
ConnectionGuard::open(EventLoop &loop, Log &log, std::unique_ptr<ListenerTakeover> takeover, DescriptorRange range,
                      Names names, std::function<void(Error)> on_broken, GuardLimits limits) {
    auto owners = SocketOwners::open();
    if (!owners)
        return owners.failure();
    std::unique_ptr<ConnectionGuard> guard(new ConnectionGuard(loop, log, std::move(takeover), std::move(*owners),
                                                               range, std::move(names), std::move(on_broken), limits));
    ClosedConnections::begin(range.first());
    guard->watch_listener();
    return guard;
}

void ConnectionGuard::watch_listener() {
    listener_watch_ = loop_.watch(takeover_->listener(), EventLoop::readable, [this](unsigned) { accept(); });
}

void ConnectionGuard::accept() {
    for (int i = 0; i < accepts_at_once; ++i) {
        UniqueFd fd(::accept4(takeover_->listener(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (fd) {
            judge(std::move(fd));
            continue;
        }
        if (is_no_room(errno))
            listener_watch_ = loop_.after(look_again, [this] { watch_listener(); });
        if (errno != ECONNABORTED && errno != EINTR)
            return;
    }
}

void ConnectionGuard::judge(UniqueFd fd) {
    std::uint16_t port = port_of_peer(fd.get());
    auto peer = owners_.peer_of(fd.get());
    if (!peer) {
        // It went, or never was of this host: nothing to say of one that closes its own connection.
        if (peer.failure().kind != ErrorKind::not_found)
            log_.error("nobody can be let in: {}", peer.failure().text);
        return;
    }
    Waiting newcomer{std::move(fd), *peer, port, {}, {}, {}};
    if (peer->uid != geteuid())
        return refuse(newcomer, fmt::format("only uid {} may connect here", geteuid()));
    take_in(std::move(newcomer));
}

void ConnectionGuard::admit_relayed(UniqueFd connection, ToolOrigin origin, pid_t pid) {
    SocketOwner peer;
    peer.uid = origin.asker.value_or(geteuid());
    Waiting newcomer{std::move(connection), peer, 0, std::move(origin), {}, {}, {}, pid};
    auto relayed =
        std::count_if(waiting_.begin(), waiting_.end(), [](const auto &one) { return one.origin.is_relayed(); });
    if (static_cast<std::size_t>(relayed) >= limits_.relayed_waiting)
        return refuse(newcomer, fmt::format("{} relayed connections wait already that say nothing", relayed));
    take_in(std::move(newcomer));
}

void ConnectionGuard::take_in(Waiting newcomer) {
    if (waiting_.size() >= limits_.waiting) {
        refuse(waiting_.front(), fmt::format("{} connections wait already that say nothing", waiting_.size()));
        waiting_.pop_front();
    }
    waiting_.push_back(std::move(newcomer));
    Place waiting = std::prev(waiting_.end());
    waiting->timer = loop_.after(limits_.hello, [this, waiting] {
        refuse(*waiting, "it did not say who it is in time");
        waiting_.erase(waiting);
    });
    await_hello(waiting->fd.get());
    await(waiting);
}

void ConnectionGuard::await(Place waiting) {
    waiting->watch = loop_.watch(waiting->fd.get(), EventLoop::readable, [this, waiting](unsigned) { look(waiting); });
}

// Looks at the message without taking it: the library reads it.
void ConnectionGuard::look(Place waiting) {
    auto message = peek_hello(waiting->fd.get());
    if (message && !*message)
        return look_later(waiting, look_again);
    if (!message) {
        if (message.failure().kind != ErrorKind::unreachable)
            refuse(*waiting, message.failure().text);
        waiting_.erase(waiting);
        return;
    }
    auto hello = parse_hello(**message);
    auto registered = hello ? names_.owner_of(hello->nspace, hello->rank) : std::nullopt;
    Result<void> verdict = hello ? admissible(*hello, waiting->peer.uid, registered, names_.known(hello->nspace))
                                 : Result<void>(hello.failure());
    if (verdict && !registered && tool_leaves_still(waiting, {hello->nspace, hello->rank}))
        return look_later(waiting, leaving_look);
    if (verdict && !registered)
        verdict = room_for_tool({hello->nspace, hello->rank});
    if (verdict && registered && waiting->origin.is_relayed())
        verdict = error(ErrorKind::denied, "it says that it is a process of the job, and is on another host");
    std::optional<pid_t> known;
    auto pid = [&] {
        if (!known)
            known = waiting->origin.is_relayed() ? waiting->relayed_pid : holder_of(waiting->peer).value_or(0);
        return *known;
    };
    ToolVisitor visitor{pid, waiting->origin, hello ? hello->nspace : std::string(), hello ? hello->rank : 0};
    if (verdict && !registered && names_.tool_may_come) {
        auto allowed = names_.tool_may_come(visitor);
        if (!allowed)
            return look_later(waiting, look_again);
        verdict = *allowed;
    }
    if (verdict) {
        Process process(hello->nspace, hello->rank);
        if (!waiting->since)
            waiting->since = loop_.now();
        if (registered && leaves_still(process) && loop_.now() < *waiting->since + limits_.leaving)
            return look_later(waiting, leaving_look);
        if (registered && names_.let_in)
            names_.let_in(hello->nspace, hello->rank, hello->version);
        if (auto given = hand_over(waiting); given && registered) {
            given_[process] = *given;
        } else if (given) {
            tools_.emplace_back(process, *given);
            if (names_.tool_came)
                names_.tool_came(visitor, {[given = *given] { return given.is_here(); },
                                           [given = *given] { return given.unsent(); }, *given});
        }
    } else {
        bool says_process = hello && (hello->kind == HelloKind::client || hello->kind == HelloKind::tool_of_server ||
                                      hello->kind == HelloKind::launcher_of_server);
        if (registered && says_process && names_.turned_away)
            names_.turned_away(hello->nspace, hello->rank, verdict.failure().text);
        refuse(*waiting, verdict.failure().text);
    }
    waiting_.erase(waiting);
}

// Has it closed the connection that it had before, and the library has not? A process may also have two at once.
bool ConnectionGuard::leaves_still(const Process &process) const {
    auto earlier = given_.find(process);
    return earlier != given_.end() && earlier->second.is_here() && peer_is_through(earlier->second.number);
}

std::size_t ConnectionGuard::unsent_to(const std::string &nspace, Rank rank) const {
    auto given = given_.find({nspace, rank});
    return given != given_.end() ? given->second.unsent() : 0;
}

// As for processes of a job: what the library forgets with the earlier one of that name would be this one's.
bool ConnectionGuard::tool_leaves_still(Place waiting, const Process &name) {
    if (!waiting->since)
        waiting->since = loop_.now();
    return !name.first.empty() && loop_.now() < *waiting->since + limits_.leaving &&
           std::any_of(tools_.begin(), tools_.end(), [&](const auto &tool) {
               return tool.first == name && tool.second.is_here() && peer_is_through(tool.second.number);
           });
}

// Tools come with a name of their own, or have none yet. Two of one name would be one to the library.
Result<void> ConnectionGuard::room_for_tool(const Process &name) {
    std::erase_if(tools_,
                  [](const auto &tool) { return !tool.second.is_here() || peer_is_through(tool.second.number); });
    if (tools_.size() >= limits_.tools)
        return error(ErrorKind::limit, "{} tools are connected already", tools_.size());
    if (!name.first.empty() &&
        std::any_of(tools_.begin(), tools_.end(), [&](const auto &tool) { return tool.first == name; }))
        return error(ErrorKind::denied, "a tool is called rank {} of '{}' already", name.second, printable(name.first));
    return {};
}

// The kernel wakes us when what was asked for is there; should it do so earlier, we are not woken at
// once again.
void ConnectionGuard::look_later(Place waiting, Duration pause) {
    waiting->watch = loop_.after(pause, [this, waiting] { await(waiting); });
}

std::optional<LibraryConnection> ConnectionGuard::hand_over(Place waiting) {
    // The connection lives on under another number: with this one closed, the loop could not end its watch any more,
    // and would wake for whatever comes for the library.
    waiting->watch.reset();
    set_low_water(waiting->fd.get(), 1);
    auto given = give(std::move(waiting->fd));
    if (given)
        return *given;
    refuse(*waiting, given.failure().text);
    return std::nullopt;
}

Result<void> ConnectionGuard::hand_over(UniqueFd own) {
    auto given = give(std::move(own));
    return given ? Result<void>() : given.failure();
}

Result<LibraryConnection> ConnectionGuard::give(UniqueFd connection) {
    auto moved = range_.move_up(std::move(connection));
    if (!moved)
        return moved.failure();
    const auto given = LibraryConnection::of(moved->get());
    auto taken = takeover_->hand_over(std::move(*moved));
    if (!taken_timer_)
        look_whether_taken(taken_looks);
    if (!taken)
        return taken.failure();
    return given;
}

void ConnectionGuard::look_whether_taken(int looks) {
    taken_timer_ = loop_.after(limits_.look, [this, looks] {
        taken_timer_.reset();
        if (takeover_->all_taken())
            return;
        if (looks > 1)
            return look_whether_taken(looks - 1);
        listener_watch_.reset();
        auto on_broken = std::move(on_broken_); // which may end this
        on_broken(error(ErrorKind::unsupported,
                        "libpmix has not taken a connection from the guard before it for {} s: it hangs, or this "
                        "version of it takes connections in a way that pmixhostd does not know",
                        std::chrono::duration_cast<std::chrono::seconds>(limits_.look * taken_looks).count()));
    });
}

void ConnectionGuard::refuse(const Waiting &waiting, const std::string &why) {
    auto missed = refusals_.admit(loop_.now());
    if (!missed)
        return;
    if (waiting.origin.is_relayed())
        return log_.warning("a tool of uid {} that is relayed from {} was refused: {}{}", waiting.peer.uid,
                            waiting.origin.from, why, not_logged(*missed));
    auto pid = holder_of(waiting.peer);
    log_.warning("a connection of uid {}, {}, from port {} to the PMIx server was refused: {}{}", waiting.peer.uid,
                 pid ? fmt::format("process {}", *pid) : "whose process the kernel does not show", waiting.port, why,
                 not_logged(*missed));
}

} // namespace pmixhost
