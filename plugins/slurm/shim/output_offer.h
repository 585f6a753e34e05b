// Lets pmixhostd have a copy of what its tasks write, when a tool wants it: the daemon, which is the user's, asks on a
// channel, and a thread in slurmstepd, which alone may (attach_output.h), hands it the stream. A step that no tool asks
// of pays a thread that sleeps.
//
// The daemon gets one stream and keeps it to the step's end; then the thread has ended. It takes nothing from the
// daemon but the wish, and that it has the stream: one that nobody reads would stop the job.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <chrono>
#include <memory>

#include <pthread.h>

namespace pmixhost::slurm {

class OutputSource {
  public:
    virtual ~OutputSource() = default;
    // A stream that slurmstepd writes to (plugins/slurm/backend/output_frames.h). May block for a moment; in the
    // offer's thread. After `unsupported` and `limit` it is not tried again.
    virtual Result<UniqueFd> attach() = 0;
    // Ends the attach() that is under way, and any later one. Any thread.
    virtual void cancel() = 0;
};

class OutputOffer {
  public:
    // Between two tries, since tasks may not run yet: twice as long each time, up to `longest`. And how long the
    // daemon has to say that it has the stream.
    struct Patience {
        std::chrono::milliseconds pause{200}, longest{2000}, taking{5000};
    };
    // `daemons_end` becomes the daemon's end of the channel (output_channel.h). Null where there is no thread or
    // channel.
    static std::unique_ptr<OutputOffer> make(std::unique_ptr<OutputSource> source, UniqueFd &daemons_end,
                                             Patience patience);
    static std::unique_ptr<OutputOffer> make(std::unique_ptr<OutputSource> source, UniqueFd &daemons_end) {
        return make(std::move(source), daemons_end, Patience{});
    }
    // Waits for the thread, which hears of it wherever it waits. In a fork of its process, where there is none, it does
    // nothing.
    ~OutputOffer();
    OutputOffer(const OutputOffer &) = delete;

  private:
    OutputOffer(std::unique_ptr<OutputSource> source, UniqueFd channel, Patience patience)
        : source_(std::move(source)), channel_(std::move(channel)), patience_(patience) {}
    static void *thread_main(void *self) noexcept;
    void serve();
    void grant(UniqueFd stream);
    bool await_message(std::chrono::milliseconds limit);

    const std::unique_ptr<OutputSource> source_;
    const UniqueFd channel_;
    const Patience patience_;
    pthread_t thread_{};
    pid_t thread_of_ = 0; // the process that has it
};

} // namespace pmixhost::slurm
