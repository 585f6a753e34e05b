// The tasks of this host, from their first knock to their end.
//
// The namespace is registered when every task has asked for its environment, because only then are all CPU bindings
// known, but a task that is late by `straggler_patience` is not waited for. A client is registered with the gid that
// the kernel told of its process. Order for each task: knock, watch, (all there) register namespace, register client,
// environment out.
//
// Where the library is started late (daemon/library_holder.h) a task has its environment as soon as it knocks, and
// goes. When the library is there, the namespace and the clients are registered as above, with the bindings that they
// had behind the door.
//
// A task that ends without ever having connected would leave the others of this host waiting in
// libpmix for ever, as libpmix cannot know of its end. A proxy client (proxy_client.h) connects in its name
// and goes, which libpmix understands.
#pragma once

#include "common/base/log.h"
#include "common/config/settings.h"
#include "common/job/debug_stops.h"
#include "common/start/exec_words.h"
#include "common/start/task_spec.h"
#include "server-glue/library/info_list.h"
#include "server-glue/rm/rm_backend.h"
#include "server-glue/tasks/task_door.h"
#include "server-glue/tasks/task_table.h"
#include "server-glue/tasks/task_watch.h"

#include <map>
#include <set>

namespace pmixhost {

class CpuSet;
class PmixLibrary;

class LocalTasks {
  public:
    static constexpr Duration straggler_patience = std::chrono::seconds(3);

    // What a task of this host needs to find the library that is not yet started, NAME=VALUE each.
    using EarlyEnvironment = std::function<std::vector<std::string>(Rank)>;
    struct Callbacks {
        // A task has ended; with its wait status, if that is known.
        std::function<void(Rank, std::optional<int>)> on_gone;
        std::function<void()> on_all_ended;    // every task of this host has started and ended
        std::function<void()> on_serving;      // the namespace is registered, and who was let go before that
        std::function<void()> on_let_go;       // a task has its environment before the library is started
        std::function<void(Error)> on_failure; // the daemon cannot serve
        // Only in a step whose launch is told (a spawned one; StepInfo::tells_launch): a task of this host executes its
        // program, and others do not yet.
        std::function<void()> on_first_runs;
        // Likewise: every task does.
        std::function<void()> on_launched;
        // A task's program will stop at its first instruction, as was asked (common/process/exec_stop.h). `stands` is
        // called once, with whether it has.
        std::function<void(Rank, UniqueFd armed, std::function<void(bool)> stands)> await_exec_stop;
        // Likewise: a task could not execute its program. It waits until `task` is dropped.
        std::function<void(const TaskStartFailure &, UniqueFd task)> on_launch_failed;
        // Only in a spawned step: what the task writes is to be copied from now on (common/process/output_file.h).
        std::function<Result<void>(Rank, OutputCopy)> copy_output;
        // Empty: tasks keep their standard streams.
        TaskDoor::TakeStreams take_streams;
        // Which of a task's streams the RM does not read (TaskDoor::Knock), before it has its environment. Or empty.
        std::function<void(Rank, std::uint8_t channels)> on_unread_streams;
    };
    // `stops`: where tasks stop for a debugger; outlives this object.
    LocalTasks(EventLoop &loop, Log &log, const StepInfo &step, const DebugStops &stops, std::string directory,
               TaskTable *table, Callbacks callbacks);

    // What each task gets beside what the library gives it (server-glue/tasks/remedies.h).
    void set_remedies(std::vector<std::string> entries) { remedies_ = std::move(entries); }
    // Jobs of at most so many processes are described process by process (job_info.h).
    void set_details_up_to(Rank processes) { details_up_to_ = processes; }
    // The library is started late: from now on tasks are answered with this.
    void set_early_environment(EarlyEnvironment environment);
    // The library is up; from now on tasks are answered by it. `library` outlives this object.
    void set_library(PmixLibrary &library);
    // Opens the door, for backends whose RM starts the tasks.
    void open_door(UniqueFd fd);
    // For backends that start the tasks themselves.
    void want_environment(Rank rank, TaskDoor::Answer answer);
    void started(Rank rank, pid_t pid);
    void ended(Rank rank, std::optional<int> wait_status);
    // What a spawned task said until its program was executed.
    void exec_report(Rank rank, ExecWords words);

    // Has a task that has its environment yet to execute its program? Its end may be heard before that.
    bool awaits_exec_report() const { return door_ && door_->awaits_exec_report(); }

    void client_connected(Rank rank);
    // A client is in PMIx_Finalize. True when it is the last of this host that had not been.
    bool client_finalized(Rank rank);
    bool any_started() const { return !started_.empty(); }
    // Has the task ended, in whatever way?
    bool gone(Rank rank) const { return gone_.contains(rank); }
    bool connected(Rank rank) const { return connected_.contains(rank); }
    bool any_finalized() const { return !finalized_.empty(); }
    bool finalized(Rank rank) const { return finalized_.contains(rank); }
    // Has a task that used PMIx ended without having finalized it? One that SIGPIPE ended does not count: it wrote to
    // a process that was gone, as those of Open MPI 4.1 do in MPI_Finalize.
    bool any_ended_badly() const;
    TaskWatch &watch() { return watch_; }

  private:
    void knock(TaskDoor::Knock knock);
    void let_go(Rank rank, gid_t gid, TaskDoor::Answer answer);
    void task_runs(Rank rank);
    void register_when_complete();
    void register_nspace();
    void register_early();
    void check_early(Rank rank);
    void serve();
    void answer_all();
    void answer(Rank rank, gid_t gid, TaskDoor::Answer reply);
    void task_gone(Rank rank, std::optional<int> wait_status);
    void send_proxy_clients();

    struct Waiting {
        Rank rank;
        gid_t gid;
        TaskDoor::Answer answer;
    };
    struct LetGo { // before the library was there
        gid_t gid;
        std::shared_ptr<const CpuSet> binding; // behind the door; null: not known
    };
    EventLoop &loop_;
    Log &log_;
    const StepInfo &step_;
    const DebugStops &stops_;
    std::string directory_;
    TaskTable *table_;
    Callbacks callbacks_;
    PmixLibrary *library_ = nullptr;
    std::unique_ptr<TaskDoor> door_;
    TaskWatch watch_;
    EventLoop::Handle patience_;
    std::vector<Waiting> waiting_;
    EarlyEnvironment early_environment_; // empty: the library is not late
    std::map<Rank, LetGo> let_go_;
    std::size_t unregistered_ = 0; // of let_go_
    std::vector<std::string> remedies_;
    Rank details_up_to_ = UINT32_MAX;
    std::set<Rank> started_, connected_, finalized_, gone_, cut_off_, has_proxy_, running_;
    bool patience_over_ = false;
    bool registering_ = false;
    bool registered_ = false;
};

} // namespace pmixhost
