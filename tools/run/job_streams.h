// The standard streams of a run: what its tasks write comes to ours, with what we say to the user between it, and what
// we are given to read goes to the task that gets it. All in the loop's thread; nothing blocks (output.h, input.h).
#pragma once

#include "tools/run/daemon_process.h"
#include "tools/run/input.h"
#include "tools/run/output.h"
#include "tools/run/run_options.h"

#include <memory>
#include <vector>

namespace pmixhost {

class JobStreams {
  public:
    // `options` outlives this.
    JobStreams(EventLoop &loop, const RunOptions &options);
    JobStreams(const JobStreams &) = delete;

    // A line for the user, without its line break.
    void say(std::string_view line);
    // From now on these tasks' streams are carried.
    void carry(std::vector<TaskStreams> tasks);
    // If it is the task that gets our input, nobody reads it any more.
    void task_ended(Rank rank);
    // We are in the foreground of the terminal again.
    void resume_input();

    // Does the user take less than is written? Then more may be to come from who waits for us.
    bool user_is_slow() const { return stdout_.waits_for_room() || stderr_.waits_for_room(); }
    // Something could not be written, though somebody is there to read it.
    bool output_is_lost() const { return output_is_lost_; }
    // No task is left: what their pipes hold is all there will be. Calls `done` from the loop, once, when that is
    // written or nobody reads it.
    void finish(std::function<void()> done);

  private:
    struct Stream {
        OutputSink *sink;
        std::unique_ptr<OutputStream> stream;
    };
    void add(UniqueFd pipe, OutputSink &sink, Rank rank);
    void resume(OutputSink &sink);
    void on_stdout_broken(int why);

    EventLoop &loop_;
    const RunOptions &options_;
    OutputSink stdout_, stderr_;
    std::vector<Stream> streams_;
    std::unique_ptr<InputForwarder> input_;
    bool output_is_lost_ = false;
};

} // namespace pmixhost
