// The tasks of this host, from their first knock to their end.
//
// Order for each task: knock, watch, (all there) register namespace, register client, environment out; from the knock
// on this is task_registration.h. How far each has come is in task_lives.h.
//
// A task that ends without ever having connected would leave the others of this host waiting in
// libpmix for ever, as libpmix cannot know of its end. A proxy client (proxy_client.h) connects in its name
// and goes, which libpmix understands.
#pragma once

#include "common/base/log.h"
#include "common/job/debug_stops.h"
#include "common/start/exec_words.h"
#include "common/start/task_spec.h"
#include "server-glue/rm/rm_backend.h"
#include "server-glue/tasks/agent_descriptions.h"
#include "server-glue/tasks/task_door.h"
#include "server-glue/tasks/task_lives.h"
#include "server-glue/tasks/task_registration.h"
#include "server-glue/tasks/task_table.h"
#include "server-glue/tasks/task_watch.h"

namespace pmixhost {

class PmixLibrary;

class LocalTasks {
  public:
    using EarlyEnvironment = TaskRegistration::EarlyEnvironment;
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

    // As in TaskRegistration.
    void set_remedies(std::vector<std::string> entries) { registration_.set_remedies(std::move(entries)); }
    void set_details_up_to(Rank processes) { registration_.set_details_up_to(processes); }
    void set_early_environment(EarlyEnvironment environment) {
        registration_.set_early_environment(std::move(environment));
    }
    void set_library(PmixLibrary &library) { registration_.set_library(library); }
    // Opens the door, for backends whose RM starts the tasks.
    void open_door(UniqueFd fd);
    // For backends that start the tasks themselves.
    void want_environment(Rank rank, TaskDoor::Answer answer) {
        registration_.want_environment(rank, std::move(answer));
    }
    void started(Rank rank, pid_t pid);
    void ended(Rank rank, std::optional<int> wait_status);
    // What a spawned task said until its program was executed.
    void exec_report(Rank rank, ExecWords words);

    // Has a task that has its environment yet to execute its program? Its end may be heard before that.
    bool awaits_exec_report() const { return door_ && door_->awaits_exec_report(); }

    void client_connected(Rank rank);
    // A client is in PMIx_Finalize. True when it is the last of this host that had not been.
    bool client_finalized(Rank rank);
    // As in TaskLives.
    bool any_started() const { return lives_.any_started(); }
    bool gone(Rank rank) const { return lives_.gone(rank); }
    bool connected(Rank rank) const { return lives_.connected(rank); }
    bool any_finalized() const { return lives_.any_finalized(); }
    bool finalized(Rank rank) const { return lives_.finalized(rank); }
    bool any_ended_badly() const { return lives_.any_ended_badly(); }
    TaskWatch &watch() { return watch_; }
    // As AgentDescriptions::tell().
    Result<AgentDescription> described_to(pid_t agent) { return descriptions_.tell(agent); }

  private:
    void knock(TaskDoor::Knock knock);
    void task_runs(Rank rank);
    void task_gone(Rank rank, std::optional<int> wait_status);
    void send_proxy_clients();

    EventLoop &loop_;
    Log &log_;
    const StepInfo &step_;
    const DebugStops &stops_;
    TaskTable *table_;
    Callbacks callbacks_;
    std::unique_ptr<TaskDoor> door_;
    TaskWatch watch_;
    TaskLives lives_;
    AgentDescriptions descriptions_;
    TaskRegistration registration_;
};

} // namespace pmixhost
