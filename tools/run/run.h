// The run: `pmixhost run` once its command line is understood. Starts the daemons of the
// virtual hosts, carries contacts, output, input and signals, and sees to it that nothing is left
// when it ends.
//
// A job goes through these phases, forward only:
//
//   running    tasks are running. A task's end, an error of a daemon, a signal, --wait, --timeout
//              or a report of a daemon (MPI_Abort) may order the end: `end_job`.
//   closing    every task has ended; the daemons take their leave, or are told to (Terminate).
//   over       every daemon was waited for, or nobody waits any longer; what is left of our
//              descendants is killed, the output that is still in pipes is written, and the loop stops.
//              A signal to us does not keep the first from being done, but ends the wait for who takes
//              the output.
//
// What the tasks' ends mean is in job_ends.h, where their streams lead in job_streams.h, what runs beside the hosts'
// daemons in central_processes.h, and what whoever spawned this run hears in spawner_news.h.
#pragma once

#include "common/local/local_control.h"
#include "common/loop/event_loop.h"
#include "common/process/child_sweep.h"
#include "tools/run/central_processes.h"
#include "tools/run/daemon_process.h"
#include "tools/run/interrupts.h"
#include "tools/run/job_ends.h"
#include "tools/run/job_streams.h"
#include "tools/run/run_options.h"
#include "tools/run/spawner_news.h"

#include <memory>
#include <vector>

namespace pmixhost {

class Run {
  public:
    // `options` outlives this.
    Run(EventLoop &loop, const RunOptions &options);
    Run(const Run &) = delete;
    // The loop has ended, or was never run: kills what is left, and waits for that.
    ~Run();

    // Starts all; after a failure nothing is left running.
    Result<void> start(char *const *environment);
    // The exit code for the shell, once the loop has stopped.
    int exit_code() const;

  private:
    enum class Phase { running, closing, over };
    struct Host {
        pid_t pid = -1; // of its daemon
        std::shared_ptr<StatusPage> page;
        std::unique_ptr<local::ControlChannel> channel;
        bool reaped = false;
        bool lost = false; // it has gone before its tasks had ended
        int wait_status = 0;
        std::string failure; // what it said of itself
    };

    Result<void> start_host(HostIndex host, const std::string &program);
    void start_time_limit();

    // --- what the daemons say ---
    void on_message(HostIndex host, local::ControlMessage message);
    void on_contact(HostIndex host, local::Contact contact);
    void on_channel_closed(HostIndex host, const std::string &why);
    void on_task_ended(Rank rank, int status);
    void on_first_end();
    void report_ends();
    void on_lost(HostIndex host);

    // --- signals to us ---
    void catch_signals();
    void on_interrupt();
    void on_termination(int number);
    void leave_soon();
    void on_stop_request();
    void on_children();

    // --- the end ---
    void pass_on(int signal) { signal_tasks(signal, false); }
    void signal_tasks(int number, bool ends);
    // Orders the end: a signal now, SIGKILL after --kill-wait. Later orders may only be harder.
    void end_job(int number);
    void all_tasks_ended();
    void terminate_daemons();
    void finish_when_reaped();
    // Outside `running`: the jobs that the tasks have spawned are ended, and waited for as long as for a daemon.
    void end_spawned();
    // Likewise, unless there are none, or they were told before: then what is left is killed.
    void end_what_is_left();
    void finish();
    void on_swept(const std::vector<pid_t> &left);

    template <typename... Args> void say(fmt::format_string<Args...> format, Args &&...args) {
        streams_.say(fmt::format(format, std::forward<Args>(args)...));
    }

    EventLoop &loop_;
    const RunOptions &options_;
    RunIdentity identity_;
    JobStreams streams_;
    JobEnds ends_;
    CentralProcesses central_;
    SpawnerNews spawner_;
    std::vector<Host> hosts_;
    ChildSweep sweep_;

    Phase phase_ = Phase::running;
    bool ending_ = false;            // we ended the job: ends of tasks are no news
    bool killed_ = false;            // with SIGKILL
    bool report_posted_ = false;     // of the tasks' ends
    bool waits_for_spawned_ = false; // the launcher was told that no more jobs come
    bool ends_spawned_ = false;      // and, after the last task, to end those that there are
    bool leaves_when_swept_ = false; // a signal came during the sweep
    Interrupts interrupts_;
    std::vector<EventLoop::Handle> signals_;
    EventLoop::Handle kill_timer_, wait_timer_, time_limit_, patience_;
};

} // namespace pmixhost
