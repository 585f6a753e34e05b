// The daemon's end of what slurmstepd's shim offers: a copy of the tasks' output (plugins/slurm/shim/output_offer.h).
//
// All in the loop's thread.
#pragma once

#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"
#include "plugins/slurm/backend/output_frames.h"
#include "server-glue/rm/step_output.h"

#include <map>
#include <string_view>
#include <utility>

namespace pmixhost::slurm {

class StepOutput final : public RmStepOutput {
  public:
    // `channel` leads to the shim; empty: there is no offer.
    StepOutput(EventLoop &loop, UniqueFd channel) : loop_(loop), channel_(std::move(channel)), offered_(channel_) {}

    bool can_be_read() const override { return offered_; }
    void read_output(Reader reader) override;
    // Nothing is called any more.
    void stop();

  private:
    void on_answer();
    void await_stream();
    void read_stream();
    void pass_on();
    bool say(std::string_view word);
    void end(Result<void> why);

    EventLoop &loop_;
    UniqueFd channel_, stream_;
    const bool offered_;
    EventLoop::Handle watch_, later_;
    OutputFrames frames_;
    std::map<std::pair<std::uint16_t, bool>, std::pair<Bytes, bool>> read_; // by task and channel; has it ended?
    Reader reader_;
};

} // namespace pmixhost::slurm
