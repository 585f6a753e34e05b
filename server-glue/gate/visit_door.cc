// See visit_door.h.
#include "server-glue/gate/visit_door.h"

#include "common/base/no_room.h"
#include "common/rendezvous/desk_word.h"
#include "server-glue/gate/desk_channel.h"

#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using namespace std::chrono_literals;

constexpr int in_line = 256, accepts_at_once = 16;
constexpr Duration says_within = 5s;
constexpr Duration without_descriptor_again = 100ms;
constexpr StrangerLimits::Bounds bounds{.in_all = 256, .per_source = 16};

// Of this user, and a socket: what an earlier gate of this host has left.
bool is_left_over(const std::string &path) {
    struct stat there {};
    return ::lstat(path.c_str(), &there) == 0 && S_ISSOCK(there.st_mode) && there.st_uid == ::geteuid();
}

} // namespace

Result<std::unique_ptr<VisitDoor>> VisitDoor::open(EventLoop &loop, const std::string &directory,
                                                   std::function<void(Visitor)> on_visitor,
                                                   std::function<Refusals(uid_t)> refusals_of) {
    const std::string path = gate_door_path(directory);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path)
        return error(ErrorKind::invalid, "{} is longer than a socket's path may be", path);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (is_left_over(path))
        ::unlink(path.c_str());
    if (!fd)
        return system_error("a socket for visitors", errno);
    if (::bind(fd.get(), reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
        return errno == EADDRINUSE ? error(ErrorKind::exists, "{} is somebody else's", path)
                                   : system_error(path, errno);
    if (::chmod(path.c_str(), 0666) != 0 || ::listen(fd.get(), in_line) != 0)
        return system_error(path, errno);
    return std::unique_ptr<VisitDoor>(
        new VisitDoor(loop, std::move(fd), path, std::move(on_visitor), std::move(refusals_of)));
}

VisitDoor::VisitDoor(EventLoop &loop, UniqueFd listener, std::string path, std::function<void(Visitor)> on_visitor,
                     std::function<Refusals(uid_t)> refusals_of)
    : loop_(loop), listener_(std::move(listener)), path_(std::move(path)), on_visitor_(std::move(on_visitor)),
      refusals_of_(std::move(refusals_of)), limits_(bounds) {
    watch_listener();
}

VisitDoor::~VisitDoor() {
    ::unlink(path_.c_str());
}

void VisitDoor::watch_listener() {
    watch_ = loop_.watch(listener_.get(), EventLoop::readable, [this](unsigned) { accept(); });
}

void VisitDoor::accept() {
    Hurry hurry;
    for (int i = 0; i < accepts_at_once; ++i) {
        UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd) {
            if (is_no_room(errno))
                watch_ = loop_.after(without_descriptor_again, [this] { watch_listener(); });
            return;
        }
        ucred peer{};
        socklen_t size = sizeof peer;
        if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
            continue;
        Id id = next_++;
        int number = fd.get();
        silent_.emplace(id, Silent{std::move(fd), peer.uid, peer.pid,
                                   loop_.watch(number, EventLoop::readable, [this, id](unsigned) { hear(id); }),
                                   loop_.after(says_within, [this, id] { forget(id); })});
        if (auto gone = limits_.add(id, std::to_string(peer.uid)))
            forget(*gone);
    }
}

void VisitDoor::forget(Id id) {
    limits_.remove(id);
    silent_.erase(id);
}

void VisitDoor::hear(Id id) {
    Hurry hurry;
    Silent &one = silent_.at(id);
    auto word = receive_word(one.connection.get());
    if (word && !*word)
        return;
    if (word && **word == asks_for_refusals) {
        say(one.connection.get(), refusals_word(refusals_of_(one.asker)));
        return forget(id);
    }
    auto wish = word && !(*word)->empty() ? parse_visit(**word) : Result<Visit>(error(ErrorKind::invalid, ""));
    Visitor visitor{std::move(one.connection), one.asker, one.pid, wish ? std::move(*wish) : Visit()};
    one.watch.reset();
    forget(id);
    if (wish)
        return on_visitor_(std::move(visitor));
    if (!wish.failure().text.empty())
        say(visitor.connection.get(), desk_failed(wish.failure()));
}

} // namespace pmixhost
