// Starts the tasks of one virtual host, watches them and signals them. Event-loop thread only.
//
// The daemon has threads (libpmix), so between fork and exec there are only calls that are
// async-signal-safe; everything else is prepared before. A task leads a process group of its own,
// has default signal handling and no descriptors but 0, 1 and 2, and gets SIGKILL when the thread
// that forked it, the event loop's, is gone.
#pragma once

#include "common/loop/event_loop.h"
#include "common/start/exec_words.h"
#include "plugins/local/start.h"

#include <functional>
#include <map>
#include <optional>
#include <span>

namespace pmixhost::local {

class Tasks {
  public:
    struct Events {
        std::function<void(Rank, pid_t)> on_started;
        // The program could not be executed: errno as exit code, and a line for the user. on_ended
        // follows.
        std::function<void(Rank, int exit_code, std::string why)> on_exec_failed;
        std::function<void(Rank, int wait_status)> on_ended;
        // If this is set, each task gets a descriptor, PMIXHOST_TASK_FD (common/start/task_spec.h). Called with what
        // the task said there until it closed.
        std::function<void(Rank, ExecWords)> on_exec_report;
    };
    Tasks(EventLoop &loop, Events events) : loop_(loop), events_(std::move(events)) {}
    Tasks(const Tasks &) = delete;
    // As stop().
    ~Tasks();

    // Forks a task. `environment` is complete. `open_files`: its soft limit (RLIMIT_NOFILE); nothing: this process's.
    // Fails only when there can be no process, or none that can be watched, which is killed and not waited for; then no
    // event is called.
    Result<void> start(TaskSpec task, std::vector<std::string> environment, const std::string &cwd,
                       std::optional<std::uint64_t> open_files = std::nullopt);

    // Signals the process groups of the tasks in `ranks` (empty: of all) that are running.
    void signal(int signal, std::span<const Rank> ranks);

    std::vector<pid_t> pids() const;

    // Calls the events of the tasks that have ended, although the loop has not come to them yet.
    void settle();
    // Kills all, without any event. Waiting for them is for who sweeps all children (common/process/sweep.h).
    void stop();

  private:
    struct Running {
        pid_t pid = -1;
        UniqueFd pidfd, exec_errno;
        ExecWords words;
        std::string program;
        EventLoop::Handle end_watch, exec_watch, words_watch;
    };
    void on_exec_result(Rank rank);
    void on_end(Rank rank);
    void on_words(Rank rank);

    EventLoop &loop_;
    Events events_;
    std::map<Rank, Running> running_;
};

} // namespace pmixhost::local
