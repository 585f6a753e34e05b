// The output of this host's tasks as the RM gives a copy of it (server-glue/rm/step_output.h), where the daemon does
// not stand in between: read from the first wish to the step's end, since the RM would begin a second copy with what
// the first one had already.
//
// All in the loop's thread.
#pragma once

#include "server-glue/iof/copied_streams.h"
#include "server-glue/step/step_context.h"

namespace pmixhost {

class RmOutputCopy {
  public:
    // `on_failure`: of these streams more would come, and cannot be had.
    using OnFailure = std::function<void(const std::vector<std::pair<Rank, std::uint8_t>> &)>;
    RmOutputCopy(StepContext &context, CopiedStreams::OnOutput on_output, OnFailure on_failure)
        : context_(context), streams_(context.ranks_here(), context.settings.io_kept, std::move(on_output)),
          on_failure_(std::move(on_failure)) {}

    // Is there such a copy of the step's output (io.copy)? A spawned job has none: what its parent did not ask for
    // nobody gets.
    static bool offered(const StepContext &context);
    // It is wanted from now on. Calls nothing from within.
    void read();
    const CopiedStreams &streams() const { return streams_; }
    void process_gone(Rank rank) { streams_.process_gone(context_.now(), rank); }
    TimePoint next_time() const { return asked_ ? streams_.next_time() : TimePoint::max(); }
    void on_time(TimePoint now) {
        if (asked_)
            streams_.on_time(now);
    }
    // Is it read, with more to come?
    bool any_open() const { return reads_ && !streams_.all_ended(); }

  private:
    void take(std::size_t task, std::uint8_t channel, std::string_view bytes, bool end);
    void on_end(const Result<void> &why);

    StepContext &context_;
    CopiedStreams streams_;
    OnFailure on_failure_;
    bool asked_ = false, reads_ = false;
    RateLimit strange_lines_, lost_lines_;
};

} // namespace pmixhost
