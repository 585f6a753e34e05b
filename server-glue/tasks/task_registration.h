// The tasks' way to their environment: the namespace and each client are registered with libpmix, and each task that
// has asked is answered.
//
// The namespace is registered when every task has asked, because only then are all CPU bindings known, but a task that
// is late by `straggler_patience` is not waited for. A client is registered with the gid that the kernel told of its
// process. Where the library is started late (daemon/library_holder.h) a task has its environment as soon as it asks,
// and goes: when the library is there, the namespace and the clients are registered as above, with the bindings that
// they had behind the door, and what it gives is compared with what they were given.
//
// In the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/job/debug_stops.h"
#include "common/loop/event_loop.h"
#include "server-glue/rm/rm_backend.h"
#include "server-glue/tasks/task_door.h"
#include "server-glue/tasks/task_lives.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pmixhost {

class CpuSet;
class PmixLibrary;

class TaskRegistration {
  public:
    static constexpr Duration straggler_patience = std::chrono::seconds(3);

    // What a task of this host needs to find the library that is not yet started, NAME=VALUE each.
    using EarlyEnvironment = std::function<std::vector<std::string>(Rank)>;
    struct Callbacks {
        // The process whose CPU binding a task has; 0: there is none any more.
        std::function<pid_t(Rank)> process_of;
        std::function<void()> on_serving;      // the namespace is registered, and who was let go before that
        std::function<void()> on_let_go;       // a task has its environment before the library is started
        std::function<void(Error)> on_failure; // the daemon cannot serve
    };
    // `directory`: of the namespace. `step`, `stops` and `lives` outlive this object and what it asks of the library;
    // the first does not change.
    TaskRegistration(EventLoop &loop, Log &log, const StepInfo &step, const DebugStops &stops, std::string directory,
                     const TaskLives &lives, Callbacks callbacks);

    // What each task gets beside what the library gives it (server-glue/tasks/remedies.h).
    void set_remedies(std::vector<std::string> entries) { remedies_ = std::move(entries); }
    // Jobs of at most so many processes are described process by process (job_info.h).
    void set_details_up_to(Rank processes) { details_up_to_ = processes; }
    // The library is started late: from now on tasks are answered with this.
    void set_early_environment(EarlyEnvironment environment);
    // The library is up; from now on tasks are answered by it. `library` outlives this object.
    void set_library(PmixLibrary &library);

    // A task of this host that has started asks at the door.
    void knock(Rank rank, gid_t gid, TaskDoor::Answer answer);
    // For a task that is started with it, as this user: nobody knocks.
    void want_environment(Rank rank, TaskDoor::Answer answer);

    bool is_registered() const { return registered_; }
    // What a process that stands for the task needs, with the remedies; once the namespace is registered.
    void environment_of_proxy(Rank rank, std::function<void(Result<std::vector<std::string>>)> done);

  private:
    struct Waiting {
        Rank rank;
        gid_t gid;
        TaskDoor::Answer answer;
    };
    struct LetGo { // before the library was there
        gid_t gid;
        std::shared_ptr<const CpuSet> binding; // behind the door; null: not known
    };
    void let_go(Rank rank, gid_t gid, TaskDoor::Answer answer);
    void register_when_complete();
    void register_nspace();
    void register_early();
    void check_early(Rank rank, const std::vector<std::string> &given);
    void serve();
    void answer_all();

    EventLoop &loop_;
    Log &log_;
    const StepInfo &step_;
    const DebugStops &stops_;
    std::string directory_;
    const TaskLives &lives_;
    Callbacks callbacks_;
    PmixLibrary *library_ = nullptr;
    std::vector<std::string> remedies_;
    Rank details_up_to_ = UINT32_MAX;
    EventLoop::Handle patience_;
    std::vector<Waiting> waiting_;
    EarlyEnvironment early_environment_; // empty: the library is not late
    std::map<Rank, LetGo> let_go_;
    bool patience_over_ = false;
    bool registering_ = false;
    bool registered_ = false;
};

} // namespace pmixhost
