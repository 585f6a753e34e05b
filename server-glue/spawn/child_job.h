// A job that the launcher has started: the command that runs it, and what becomes known of it. In the
// loop's thread.
#pragma once

#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"
#include "common/start/spawn_channel.h"
#include "server-glue/rm/job_starter.h"

namespace pmixhost {

class ChildJob {
  public:
    struct Callbacks {
        std::function<void(SpawnEvent)> on_event;
        // A line of its standard error until `created`, with its newline, for the user. One that is longer than
        // max_line comes in pieces.
        std::function<void(std::string line)> on_words;
        // Once, the last: the command has been waited for. `said`: its standard error until `created`.
        std::function<void(int wait_status, std::string said)> on_end;
    };
    static constexpr std::size_t max_line = 8192;
    // The command's standard input.
    enum class Input {
        ours,  // this process'
        ended, // /dev/null
        // Has nothing, and does not end before the job. For a command may tell the end to every host, and lose the
        // output of one whose tasks have ended by then (contrib/doc/semantics.md).
        silent,
    };
    // Fails (limit) where the command is longer than the system takes.
    static Result<std::unique_ptr<ChildJob>> start(EventLoop &loop, const JobCommand &command, Input input,
                                                   Callbacks callbacks);
    ChildJob(const ChildJob &) = delete;
    void signal(int number);

  private:
    explicit ChildJob(Callbacks callbacks) : callbacks_(std::move(callbacks)) {}
    void on_channel();
    void on_words();
    void say_words(bool all);
    void on_exit();

    Callbacks callbacks_;
    pid_t pid_ = -1;
    UniqueFd channel_, words_, pidfd_, silence_; // silence_: what the end of its standard input waits for
    std::string lines_, said_, begun_;
    EventLoop::Handle channel_watch_, words_watch_, end_watch_;
};

} // namespace pmixhost
