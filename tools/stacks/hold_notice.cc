// See hold_notice.h.
#include "tools/stacks/hold_notice.h"

#include "common/process/process_stat.h"
#include "common/rendezvous/debugger_door.h"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <poll.h>
#include <sys/socket.h>

namespace pmixhost {

static constexpr auto daemon_comes_to_read = std::chrono::seconds(1);

bool HoldNotice::open(const std::string &rendezvous) {
    std::lock_guard guard(lock_);
    if (auto door = knock_at_debugger_door(std::filesystem::path(rendezvous).parent_path().string()))
        door_ = std::move(*door);
    return static_cast<bool>(door_);
}

void HoldNotice::holds(pid_t process) {
    std::lock_guard guard(lock_);
    if (!door_ || !told_.insert(process).second)
        return;
    if (auto stat = read_process_stat(process))
        say(hold_word({process, stat->began}));
}

void HoldNotice::keeps() {
    std::lock_guard guard(lock_);
    keeps_ = true;
}

void HoldNotice::over() {
    std::lock_guard guard(lock_);
    waits_ = true; // else the daemon would let run, too, whom somebody else has stopped since
    if (door_ && !keeps_)
        say(std::string(over_word));
    door_.reset();
}

void HoldNotice::say(const std::string &word) {
    // The connection has room for some 270 words, and more only when the daemon has come to read.
    using Clock = std::chrono::steady_clock;
    for (auto until = Clock::now() + daemon_comes_to_read;;) {
        bool said = ::send(door_.get(), word.data(), word.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
        if (said || (errno != EAGAIN && errno != EINTR) || !waits_)
            return;
        auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
        pollfd room{door_.get(), POLLOUT, 0};
        waits_ = left.count() > 0;
        if (waits_)
            ::poll(&room, 1, static_cast<int>(left.count()));
    }
}

} // namespace pmixhost
