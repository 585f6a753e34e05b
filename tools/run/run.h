// The run: `pmixhost run` once its command line is understood. Starts the daemons of the
// virtual hosts, carries contacts, output, input and signals, and sees to it that nothing is left
// when it ends.
//
// A job goes through these phases, forward only:
//
//   running    tasks are running. A task's end, an error of a daemon, a signal, --wait, --timeout
//              or a report of a daemon (MPI_Abort) may order the end: `end_job`.
//   closing    every task has ended; the daemons take their leave, or are told to (Terminate).
//   over       every daemon was waited for; what is left of our descendants is killed, the output
//              that is still in pipes is written, and the loop stops.
#pragma once

#include "common/local/local_control.h"
#include "common/loop/event_loop.h"
#include "tools/run/daemon_process.h"
#include "tools/run/input.h"
#include "tools/run/output.h"
#include "tools/run/run_options.h"
#include "tools/run/session_door.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

namespace pmixhost {

class Run {
  public:
    Run(EventLoop &loop, const RunOptions &options);
    Run(const Run &) = delete;
    ~Run();

    // Starts all; after a failure nothing is left running.
    Result<void> start(char *const *environment);
    // The exit code for the shell, once the loop has stopped.
    int exit_code() const;

  private:
    enum class Phase { running, closing, over };
    struct Task {
        HostIndex host = 0;
        pid_t pid = -1;
        bool started = false, ended = false;
        bool explained = false; // why it did not start was said already
    };
    struct Host {
        DaemonProcess process;
        std::unique_ptr<local::ControlChannel> channel;
        std::size_t tasks_total = 0, tasks_started = 0, tasks_left = 0;
        bool reaped = false;
        bool lost = false; // it has gone before its tasks had ended
        int wait_status = 0;
        std::string failure; // what it said of itself
    };

    void on_message(HostIndex host, local::ControlMessage message);
    void on_first_runs();
    void on_launched(HostIndex host, int status, const std::string &text);
    void on_invitation(HostIndex host, HostIndex role, const std::string &invitation);
    void to_session(const std::string &invitation);
    void on_channel_closed(HostIndex host, const std::string &why);
    void on_task_ended(HostIndex host, Rank rank, int status);
    void report_ends();
    void on_lost(HostIndex host);

    // --- signals to us ---
    void catch_signals();
    void on_interrupt();
    void on_termination(int number);
    void on_stop_request();
    void on_children();
    void print_status();

    void signal_tasks(int number);
    // Orders the end: a signal now, SIGKILL after --kill-wait. Later orders may only be harder.
    void end_job(int number);
    void all_tasks_ended();
    void terminate_daemons();
    void finish_when_reaped();
    void finish();

    void open_streams(HostIndex host);
    void add_stream(UniqueFd pipe, OutputSink &sink, Rank rank);
    void resume_streams(OutputSink &sink);
    template <typename... Args> void say(fmt::format_string<Args...> format, Args &&...args);

    EventLoop &loop_;
    const RunOptions &options_;
    OutputSink stdout_, stderr_;
    RunIdentity identity_;
    std::vector<Host> hosts_;
    std::optional<RoleProcess> session_; // once a daemon wanted it
    std::unique_ptr<SessionDoor> door_;  // once a job may be spawned that shares it
    std::optional<RoleProcess> jobs_;    // the launcher of what the tasks spawn, once one has
    bool jobs_wanted_over_ = false;      // it was told that no more come
    UniqueFd spawn_channel_;             // to whoever spawned this run (common/start/spawn_channel.h)
    std::set<HostIndex> launched_;
    bool told_started_ = false;
    std::vector<Task> tasks_;
    std::size_t tasks_left_ = 0;
    Phase phase_ = Phase::running;

    // Ended since the last report: (host, wait status) and the ranks, so that tasks of a host that
    // end together share a line.
    std::map<std::pair<HostIndex, int>, std::vector<Rank>> ends_;
    std::map<std::pair<HostIndex, std::string>, std::vector<Rank>> not_started_;
    bool report_posted_ = false;

    int highest_status_ = 0;          // as srun: the highest wait status
    bool output_is_lost_ = false;     // it could not be written, though somebody is there
    std::optional<int> decided_code_; // MPI_Abort, --timeout, a daemon's failure
    bool ending_ = false;             // we ended the job: ends of tasks are no news
    TimePoint last_interrupt_{};
    int interrupts_ = 0;
    bool killed_ = false;

    struct Stream {
        OutputSink *sink;
        std::unique_ptr<OutputStream> stream;
    };
    std::vector<Stream> streams_;
    std::unique_ptr<InputForwarder> input_;
    std::vector<EventLoop::Handle> signals_;
    EventLoop::Handle kill_timer_, wait_timer_, time_limit_, patience_;
};

} // namespace pmixhost
