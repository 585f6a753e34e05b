// See task_door.h.
#include "server-glue/tasks/task_door.h"

#include "common/base/hurry.h"
#include "common/base/no_room.h"
#include "common/peer/peer_process.h"
#include "common/process/descriptor_message.h"
#include "common/process/exec_stop.h"
#include "common/wire/iof_messages.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/socket.h>
#include <vector>

namespace pmixhost {

static constexpr std::uint32_t door_magic = 0x504d4832; // "PMH2"
static constexpr std::size_t request_bytes = 12;
static constexpr auto visitor_patience = std::chrono::seconds(10);
static constexpr std::size_t max_visitors = 8192; // with those that wait for their answer
static constexpr StrangerLimits::Bounds silent_bounds{256, 32};
static constexpr int batch = 64;
// A reply's status; 0: welcome, and no more.
static constexpr std::uint32_t refused = 1, with_streams = 2, with_stop = 4, until_exec = 8;

struct TaskDoor::Visitor {
    UniqueFd fd;
    pid_t pid = 0;
    gid_t gid = 0;
    Rank rank = 0;
    bool welcome = false, stops = false, executes = false;
    Bytes request;
    Bytes reply;
    std::size_t written = 0;
    ExecWords words; // has the connection once the reply is out, in spawned steps
    EventLoop::Handle watch;
    EventLoop::Handle timer;
};

TaskDoor::TaskDoor(EventLoop &loop, Log &log, UniqueFd fd, uid_t uid, std::function<void(Knock)> on_knock,
                   ExecReport on_exec_report, TakeStreams take_streams, ExecStops exec_stops, Executed on_executed)
    : loop_(loop), log_(log), fd_(std::move(fd)), uid_(uid), on_knock_(std::move(on_knock)),
      on_exec_report_(std::move(on_exec_report)), take_streams_(std::move(take_streams)),
      exec_stops_(std::move(exec_stops)), on_executed_(std::move(on_executed)), silent_(silent_bounds) {
    fcntl(fd_.get(), F_SETFL, O_NONBLOCK);
    watch_door();
}

void TaskDoor::watch_door() {
    watch_ = loop_.watch(fd_.get(), EventLoop::readable, [this](unsigned) { accept(); });
}

TaskDoor::~TaskDoor() {
    *alive_ = false;
}

void TaskDoor::accept() {
    for (int i = 0; i < batch; ++i) {
        UniqueFd peer(::accept4(fd_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!peer && is_no_room(errno)) {
            if (is_no_descriptor(errno) && make_room())
                continue;
            // Look again later, rather than be woken for ever.
            watch_ = loop_.after(std::chrono::milliseconds(100), [this] { watch_door(); });
            return;
        }
        if (!peer)
            return;
        ucred who{};
        socklen_t length = sizeof who;
        if (getsockopt(peer.get(), SOL_SOCKET, SO_PEERCRED, &who, &length) != 0 || who.uid != uid_ ||
            visitors_.size() >= max_visitors) {
            Hurry hurry; // it may be anybody's, and the tasks of a launch need none
            peer.reset();
            if (auto missed = refused_.admit(loop_.now()))
                log_.warning("the task door was closed to process {} of uid {}{}", who.pid, who.uid,
                             not_logged(*missed));
            continue;
        }
        std::uint64_t id = next_++;
        if (auto gone = silent_.add(id, std::to_string(who.pid)))
            visitors_.erase(*gone); // never the newcomer: all of them are silent
        auto visitor = std::make_unique<Visitor>();
        visitor->pid = who.pid;
        visitor->gid = who.gid;
        visitor->timer = loop_.after(visitor_patience, [this, id] { drop(id); });
        visitor->watch = loop_.watch(peer.get(), EventLoop::readable, [this, id](unsigned) { read(id); });
        visitor->fd = std::move(peer);
        visitors_.emplace(id, std::move(visitor));
    }
}

bool TaskDoor::make_room() {
    auto gone = silent_.evict();
    if (gone)
        visitors_.erase(*gone);
    return gone.has_value();
}

void TaskDoor::drop(std::uint64_t id) {
    visitors_.erase(id);
    silent_.remove(id);
}

void TaskDoor::read(std::uint64_t id) {
    auto found = visitors_.find(id);
    if (found == visitors_.end())
        return;
    Visitor &visitor = *found->second;
    char buffer[request_bytes];
    ssize_t n = ::recv(visitor.fd.get(), buffer, request_bytes - visitor.request.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0)
        return drop(id);
    visitor.request.append(buffer, static_cast<std::size_t>(n));
    if (visitor.request.size() < request_bytes)
        return;
    visitor.watch.reset();
    visitor.timer.reset(); // from here on the wait is ours, not the visitor's
    wire::Reader reader(visitor.request);
    std::uint32_t magic = 0, rank = 0, unread = 0;
    reader.get(magic);
    reader.get(rank);
    reader.get(unread);
    if (magic != door_magic)
        return drop(id);
    silent_.remove(id);
    visitor.rank = rank;
    std::weak_ptr<bool> alive = alive_;
    Answer answer(
        [this, alive, id](Result<std::vector<std::string>> environment) {
            if (alive.expired())
                return;
            auto found = visitors_.find(id);
            if (found == visitors_.end())
                return;
            Bytes body;
            Visitor &visitor = *found->second;
            visitor.welcome = environment.ok();
            visitor.stops = environment.ok() && exec_stops_.wanted && exec_stops_.wanted(visitor.rank);
            if (environment) {
                for (const auto &entry : *environment) {
                    body += entry;
                    body += '\0';
                }
            } else {
                body = environment.failure().text;
            }
            wire::Writer writer(visitor.reply);
            writer.put(door_magic);
            writer.put(!environment ? refused
                                    : (take_streams_ ? with_streams : 0) | (visitor.stops ? with_stop : 0) |
                                          (on_executed_ ? until_exec : 0));
            writer.put(body);
            visitor.timer = loop_.after(visitor_patience, [this, id] { visitors_.erase(id); });
            write(id);
        },
        error(ErrorKind::unreachable, "pmixhostd ended before it had an answer"));
    auto process = peer_pidfd(visitor.fd.get(), visitor.pid);
    if (!process && process.failure().kind == ErrorKind::system && make_room())
        process = peer_pidfd(visitor.fd.get(), visitor.pid);
    on_knock_({rank, visitor.pid, visitor.gid,
               static_cast<std::uint8_t>(unread & (wire::stdout_channel | wire::stderr_channel)), std::move(process),
               std::move(answer)});
}

void TaskDoor::write(std::uint64_t id) {
    auto found = visitors_.find(id);
    if (found == visitors_.end())
        return;
    Visitor &visitor = *found->second;
    while (visitor.written < visitor.reply.size()) {
        ssize_t n = ::send(visitor.fd.get(), visitor.reply.data() + visitor.written,
                           visitor.reply.size() - visitor.written, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            visitor.watch = loop_.watch(visitor.fd.get(), EventLoop::writable, [this, id](unsigned) { write(id); });
            return;
        }
        if (n < 0)
            break;
        visitor.written += static_cast<std::size_t>(n);
    }
    if (visitor.welcome && take_streams_)
        await_streams(id);
    else
        await_stop(id);
}

void TaskDoor::after_reply(std::uint64_t id) {
    if (!visitors_.at(id)->welcome || (!on_exec_report_ && !on_executed_))
        visitors_.erase(id);
    else if (on_executed_)
        await_exec(id);
    else
        listen_on(id);
}

// It says nothing more: execve(2) closes its end, and so does its end.
void TaskDoor::await_exec(std::uint64_t id) {
    Visitor &visitor = *visitors_.at(id);
    visitor.timer.reset(); // as in listen_on()
    visitor.executes = true;
    visitor.watch = loop_.watch(visitor.fd.get(), EventLoop::readable, [this, id](unsigned) {
        auto found = visitors_.find(id);
        if (found == visitors_.end())
            return;
        Rank rank = found->second->rank;
        visitors_.erase(found);
        on_executed_(rank);
    });
}

namespace {

// Each stream has a letter: t, it comes with two descriptors, the RM's and the daemon's; k, the task keeps it.
std::optional<TaskDescriptors> receive_streams(int socket, bool &later) {
    constexpr std::size_t streams = 3;
    char letters[streams];
    alignas(cmsghdr) char space[CMSG_SPACE(2 * streams * sizeof(int))];
    iovec text{letters, sizeof letters};
    msghdr message{};
    message.msg_iov = &text;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    ssize_t n = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    later = n < 0 && (errno == EAGAIN || errno == EINTR);
    std::vector<UniqueFd> fds;
    for (cmsghdr *part = n > 0 ? CMSG_FIRSTHDR(&message) : nullptr; part; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t at = 0; at + sizeof(int) <= part->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;
            std::memcpy(&fd, CMSG_DATA(part) + at, sizeof fd);
            fds.emplace_back(fd);
        }
    }
    std::string_view kinds(letters, n > 0 ? static_cast<std::size_t>(n) : 0);
    if (kinds.size() != streams || (message.msg_flags & MSG_CTRUNC) || kinds.find_first_not_of("tk") != kinds.npos ||
        fds.size() != 2 * static_cast<std::size_t>(std::count(kinds.begin(), kinds.end(), 't')))
        return std::nullopt;
    TaskDescriptors out;
    auto next = fds.begin();
    for (auto [letter, ends] : {std::pair(kinds[0], &out.in), {kinds[1], &out.out}, {kinds[2], &out.err}}) {
        if (letter != 't')
            continue;
        ends->rms = std::move(*next++);
        ends->ours = std::move(*next++);
    }
    return out;
}

} // namespace

void TaskDoor::await_streams(std::uint64_t id) {
    Visitor &visitor = *visitors_.at(id);
    visitor.timer.reset(); // it is one of the job's, and waits for the answer
    visitor.watch = loop_.watch(visitor.fd.get(), EventLoop::readable, [this, id](unsigned) {
        auto found = visitors_.find(id);
        if (found == visitors_.end())
            return;
        Visitor &visitor = *found->second;
        bool later = false;
        auto streams = receive_streams(visitor.fd.get(), later);
        if (later)
            return;
        visitor.watch.reset();
        // The task keeps them until it has heard that they are taken.
        const char answer = streams ? '1' : '0';
        bool heard = ::send(visitor.fd.get(), &answer, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
        if (!streams && heard)
            log_.warning("the standard streams of rank {} stay with it: they cannot be taken", visitor.rank);
        if (heard)
            take_streams_(visitor.rank, streams ? std::move(*streams) : TaskDescriptors()); // none: who waits hears so
        await_stop(id);
    });
}

void TaskDoor::await_stop(std::uint64_t id) {
    Visitor &visitor = *visitors_.at(id);
    if (!visitor.stops)
        return after_reply(id);
    visitor.timer.reset(); // as in await_streams()
    visitor.watch = loop_.watch(visitor.fd.get(), EventLoop::readable, [this, id](unsigned) {
        auto found = visitors_.find(id);
        if (found == visitors_.end())
            return;
        Visitor &visitor = *found->second;
        auto armed = receive_descriptor(visitor.fd.get(), MSG_DONTWAIT);
        if (armed && !armed->has_value())
            return;
        visitor.watch.reset();
        bool taken = armed && (*armed)->bytes == "s" && is_armed((*armed)->fd.get());
        const char answer = taken ? '1' : '0';
        if (taken)
            exec_stops_.take(visitor.rank, std::move((*armed)->fd));
        (void)::send(visitor.fd.get(), &answer, 1, MSG_NOSIGNAL | MSG_DONTWAIT); // who has gone does not stop
        after_reply(id);
    });
}

bool TaskDoor::awaits_exec_report() const {
    return std::any_of(visitors_.begin(), visitors_.end(), [](const auto &visitor) {
        return visitor.second->executes || static_cast<bool>(visitor.second->words.task);
    });
}

void TaskDoor::listen_on(std::uint64_t id) {
    Visitor &visitor = *visitors_.at(id);
    visitor.timer.reset(); // a task prolog may take its time
    visitor.watch.reset();
    visitor.words.task = std::move(visitor.fd);
    visitor.watch = loop_.watch(visitor.words.task.get(), EventLoop::readable, [this, id](unsigned) {
        auto found = visitors_.find(id);
        if (found == visitors_.end())
            return;
        Visitor &visitor = *found->second;
        if (!visitor.words.take())
            return;
        Rank rank = visitor.rank;
        visitor.watch.reset();
        ExecWords words = std::move(visitor.words);
        visitors_.erase(found);
        on_exec_report_(rank, std::move(words));
    });
}

} // namespace pmixhost
