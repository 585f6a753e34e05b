// See debugger_door.h.
#include "server-glue/debug/debugger_door.h"

#include "common/base/no_room.h"
#include "common/peer/peer_process.h"

#include <algorithm>
#include <cerrno>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace pmixhost {

static constexpr int debuggers_in_line = 16, debuggers_at_once = 16, words_at_once = 64;
static constexpr Duration door_opens_again = std::chrono::milliseconds(100); // without a free descriptor
static constexpr Duration between_clearings = std::chrono::seconds(1);

Result<std::unique_ptr<DebuggerDoor>> DebuggerDoor::open(EventLoop &loop, Log &log, const std::string &directory,
                                                         std::function<bool(pid_t)> is_paused, std::size_t most) {
    auto address = debugger_door_address(directory);
    if (!address)
        return address.failure();
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr *>(&*address), sizeof *address) != 0 ||
        ::listen(fd.get(), debuggers_in_line) != 0)
        return system_error("a socket for debuggers", errno);
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0)
        most = std::min<std::size_t>(most, limit.rlim_cur / 4); // libpmix has half of them
    return std::unique_ptr<DebuggerDoor>(new DebuggerDoor(loop, log, std::move(fd), std::move(is_paused), most));
}

DebuggerDoor::DebuggerDoor(EventLoop &loop, Log &log, UniqueFd listener, std::function<bool(pid_t)> is_paused,
                           std::size_t most)
    : loop_(loop), log_(log), listener_(std::move(listener)), most_(most), left_(loop, log, std::move(is_paused)) {
    watch_listener();
}

void DebuggerDoor::watch_listener() {
    watch_ = loop_.watch(listener_.get(), EventLoop::readable, [this](unsigned) { accept(); });
}

std::size_t DebuggerDoor::descriptors() const {
    std::size_t count = debuggers_.size() + left_.count();
    for (const auto &[id, one] : debuggers_)
        count += one.held.size();
    return count;
}

// Ranks may have ended that a debugger has said long ago.
bool DebuggerDoor::has_room() {
    if (descriptors() >= most_ && (!cleared_ || loop_.now() >= *cleared_ + between_clearings)) {
        cleared_ = loop_.now();
        for (auto &[id, one] : debuggers_)
            std::erase_if(one.held, [](const auto &held) { return is_reaped(held.second.get()); });
        left_.forget_ended();
    }
    return descriptors() < most_;
}

void DebuggerDoor::accept() {
    for (int i = 0; i < debuggers_at_once; ++i) {
        UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
        if (!fd) {
            if (is_no_room(errno))
                watch_ = loop_.after(door_opens_again, [this] { watch_listener(); });
            return;
        }
        ucred who{};
        socklen_t size = sizeof who;
        if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.uid != ::geteuid() ||
            debuggers_.size() >= most_debuggers || !has_room())
            continue;
        const std::uint64_t id = next_++;
        const int number = fd.get();
        Debugger &one = debuggers_[id];
        one.fd = std::move(fd);
        one.watch = loop_.watch(number, EventLoop::readable, [this, id](unsigned) { hear(id); });
    }
}

void DebuggerDoor::hear(std::uint64_t id) {
    Debugger &one = debuggers_.at(id);
    for (int i = 0; i < words_at_once; ++i) {
        char bytes[longest_debugger_word];
        ssize_t got = ::recv(one.fd.get(), bytes, sizeof bytes, 0);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        std::string_view word(bytes, got > 0 ? static_cast<std::size_t>(got) : 0);
        if (word == over_word) {
            debuggers_.erase(id);
            return;
        }
        auto process = parse_hold_word(word);
        if (!process)
            return is_gone(id); // or says what nobody understands
        hold(one, *process);
    }
}

void DebuggerDoor::hold(Debugger &one, const HeldProcess &process) {
    if (std::any_of(one.held.begin(), one.held.end(), [&](const auto &held) { return held.first == process; }))
        return;
    if (!has_room()) {
        if (!std::exchange(told_full_, true))
            log_.warning("debuggers hold more than {} processes here: those that are left stopped beyond these will "
                         "stand",
                         most_);
        return;
    }
    if (auto pidfd = LeftStopped::open(process))
        one.held.emplace_back(process, std::move(pidfd));
}

void DebuggerDoor::is_gone(std::uint64_t id) {
    auto held = std::move(debuggers_.at(id).held);
    debuggers_.erase(id);
    if (!held.empty())
        log_.info("debuggers were ended by force: the {} processes that they held run on", held.size());
    for (auto &[process, pidfd] : held)
        left_.let_run(process, std::move(pidfd));
}

} // namespace pmixhost
