// Stands in for the job that the launcher starts (bench_launch): a step of the simulation's
// (SimulatedHosts::start_child).
#pragma once

#include "common/loop/event_loop.h"
#include "common/start/spawn_channel.h"
#include "server-glue/rm/job_starter.h"

namespace pmixhost {

class ChildJob {
  public:
    struct Callbacks {
        std::function<void(SpawnEvent)> on_event;
        std::function<void(std::string line)> on_words;
        std::function<void(int wait_status, std::string said)> on_end;
    };
    enum class Input { ours, ended, silent };
    static Result<std::unique_ptr<ChildJob>> start(EventLoop &loop, const JobCommand &command, Input input,
                                                   Callbacks callbacks);
    // Ends it.
    void signal(int number);

  private:
    ChildJob(EventLoop &loop, Callbacks callbacks) : loop_(loop), callbacks_(std::move(callbacks)) {}
    EventLoop &loop_;
    Callbacks callbacks_;
};

} // namespace pmixhost
