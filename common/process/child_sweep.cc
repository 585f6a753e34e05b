// See child_sweep.h.
#include "common/process/child_sweep.h"

#include "common/process/sweep.h"

#include <algorithm>
#include <csignal>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

using namespace std::chrono_literals;

// A look reads all of /proc: after an end it waits for those that come with it.
static constexpr Duration look_after_end = 10ms;
// For who cannot be watched: there is no descriptor of it, or it has ended and is another process's to wait for first.
static constexpr Duration unwatched_look = 50ms;

void ChildSweep::start(Duration limit, Done done, Spares spares) {
    stop();
    done_ = std::move(done);
    spares_ = std::move(spares);
    look_within(Duration::zero());
    limit_ = loop_.after(limit, [this] {
        if (look()) // who has come to us since the last one
            limit_ = loop_.after(unwatched_look, [this] { finish(left()); });
    });
}

void ChildSweep::stop() {
    next_look_.reset();
    limit_.reset();
    ending_.clear();
    spares_ = nullptr;
    done_ = nullptr;
}

std::vector<pid_t> ChildSweep::swept_children() const {
    std::vector<pid_t> children = children_of_this_process();
    std::erase_if(children, [this](pid_t pid) { return spares_ && spares_(pid); });
    return children;
}

std::vector<pid_t> ChildSweep::left() const {
    std::vector<pid_t> children = swept_children();
    std::erase_if(children, [](pid_t pid) { return ::waitpid(pid, nullptr, WNOHANG) != 0; });
    return children;
}

void ChildSweep::look_within(Duration delay) {
    const TimePoint time = loop_.now() + delay;
    if (next_look_ && next_look_time_ <= time)
        return;
    next_look_time_ = time;
    next_look_ = loop_.after(delay, [this] { look(); });
}

// A process hands its children to this one when it ends, so there is nothing left only when a look finds nobody; and
// those of one that has ended are killed while others still end.
bool ChildSweep::look() {
    next_look_.reset();
    auto children = swept_children();
    if (children.empty()) {
        finish({});
        return false;
    }
    std::erase_if(ending_, [&](const auto &ending) {
        return std::find(children.begin(), children.end(), ending.first) == children.end();
    });
    for (pid_t pid : children) {
        ::kill(pid, SIGKILL);
        auto [found, is_new] = ending_.try_emplace(pid);
        Ending &ending = found->second;
        if (is_new)
            ending.process.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
        if (is_new && ending.process)
            ending.watch =
                loop_.watch(ending.process.get(), EventLoop::readable, [this, pid](unsigned) { ended(pid); });
        if (ending.watch)
            continue;
        ::waitpid(pid, nullptr, WNOHANG); // the next look tells
        look_within(unwatched_look);
    }
    return true;
}

void ChildSweep::ended(pid_t pid) {
    if (::waitpid(pid, nullptr, WNOHANG) == 0) { // a debugger's, say, to wait for; its descriptor stays readable
        ending_.at(pid).watch.reset();
        return look_within(unwatched_look);
    }
    ending_.erase(pid); // also where somebody else has waited for it
    look_within(ending_.empty() ? Duration::zero() : look_after_end);
}

void ChildSweep::finish(std::vector<pid_t> left) {
    Done done = std::move(done_);
    stop();
    done(std::move(left));
}

} // namespace pmixhost
