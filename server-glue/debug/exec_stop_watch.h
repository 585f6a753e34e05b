// Waits until processes of this host stand at their program's first instruction. In the loop's thread.
#pragma once

#include "common/base/unique_fd.h"
#include "common/job/job_map.h"
#include "common/loop/event_loop.h"

#include <functional>
#include <map>
#include <memory>
#include <sys/types.h>

namespace pmixhost {

class ExecStopWatch {
  public:
    // After the hang-up a process stands at once, unless the file system of its program takes its time.
    static constexpr Duration patience = std::chrono::minutes(5);

    // `pid_of`: 0 when the rank's process has ended.
    ExecStopWatch(EventLoop &loop, std::function<pid_t(Rank)> pid_of) : loop_(loop), pid_of_(std::move(pid_of)) {}
    // `armed`: what arm_exec_stop() gave the process (common/process/exec_stop.h). `done` is called once, with whether
    // it stands; or never, when this object goes before. What is no pipe is refused: false at once.
    void await(Rank rank, UniqueFd armed, std::function<void(bool stands)> done);

  private:
    struct One {
        UniqueFd armed;
        std::function<void(bool)> done;
        TimePoint until;
        Duration pause;
        EventLoop::Handle watch;
    };
    void look(Rank rank);

    EventLoop &loop_;
    std::function<pid_t(Rank)> pid_of_;
    std::map<Rank, One> waiting_;
};

} // namespace pmixhost
