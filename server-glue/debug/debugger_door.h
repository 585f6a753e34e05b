// The door where debuggers of this host say of which processes they take hold (common/rendezvous/debugger_door.h): whom
// those leave stopped that are ended by force, with who has started them, runs on. Nobody else could see to it: a
// resource manager kills a step, with all that is in it, as soon as its launcher has ended.
//
// It is for the daemon's own user, who may stop and continue his processes in any case; the kernel says who comes. In
// the loop's thread.
#pragma once

#include "server-glue/debug/left_stopped.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace pmixhost {

class DebuggerDoor {
  public:
    // Of connections; and of descriptors for all that is here, a quarter at most of what the daemon may have.
    static constexpr std::size_t most_debuggers = 64, most_descriptors = 2048;

    // In the daemon's directory, with which it goes. `is_paused`: as LeftStopped has it. `most`: descriptors. Fails as
    // bind(2) and listen(2), and (limit) where the path is too long.
    static Result<std::unique_ptr<DebuggerDoor>> open(EventLoop &loop, Log &log, const std::string &directory,
                                                      std::function<bool(pid_t)> is_paused,
                                                      std::size_t most = most_descriptors);

    bool has_debuggers() const { return descriptors() > 0; }
    // Connections, processes that debuggers hold, and those that they have left; a debugger holds a process once.
    std::size_t descriptors() const;

  private:
    struct Debugger {
        UniqueFd fd;
        std::vector<std::pair<HeldProcess, UniqueFd>> held;
        EventLoop::Handle watch;
    };
    DebuggerDoor(EventLoop &loop, Log &log, UniqueFd listener, std::function<bool(pid_t)> is_paused, std::size_t most);
    void watch_listener();
    void accept();
    void hear(std::uint64_t id);
    void hold(Debugger &one, const HeldProcess &process);
    bool has_room();
    void is_gone(std::uint64_t id);

    EventLoop &loop_;
    Log &log_;
    UniqueFd listener_;
    std::size_t most_;
    LeftStopped left_;
    std::map<std::uint64_t, Debugger> debuggers_;
    std::uint64_t next_ = 1;
    std::optional<TimePoint> cleared_; // of those who have ended; often would be dear
    bool told_full_ = false;
    EventLoop::Handle watch_;
};

} // namespace pmixhost
