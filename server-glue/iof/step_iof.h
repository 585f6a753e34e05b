// What the processes of a job write and read, for tools: PMIx_IOF_pull and PMIx_IOF_push, where the daemon has taken
// the tasks' standard streams (io.capture). From each host to those of the tools (output_flow.h, input_flow.h), and
// there to libpmix.
//
// What libpmix does not let a host know decides much of this (contrib/doc/decisions/io.md): who pulls, which pull has
// ended, what a tool has taken. So all that the tools of a daemon want is one wish; it ends when the last pull or the
// last tool has; and the next piece is delivered when the connections of all tools have taken the last ones.
#pragma once

#include "server-glue/iof/input_flow.h"
#include "server-glue/iof/iof_ask.h"
#include "server-glue/iof/output_flow.h"
#include "server-glue/iof/task_streams.h"
#include "server-glue/step/step_context.h"
#include "server-glue/tool_access/step_tools.h"

namespace pmixhost {

class StepIof final : public StepService, private OutputPort, private InputPort {
  public:
    StepIof(StepContext &context, StepTools &tools);

    // Does the daemon want the streams of its tasks?
    bool captures() const { return context_.settings.io_capture == "on"; }
    void take_streams(Rank rank, TaskDescriptors descriptors);
    // All tasks of this host have ended at that time: is there something of theirs that must go out first?
    bool holds_end(TimePoint ended);

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    TimePoint next_time() const override { return std::min(look_at_tools_, deliver_on_); }
    void on_time(TimePoint now) override;
    void on_process_gone(Rank rank, std::optional<int>) override { streams_.task_gone(rank); }
    void on_host_gone(HostIndex host, bool) override;

  private:
    // OutputPort
    std::vector<wire::OutputPiece> kept_output(const OutputWish &wish) override;
    void deliver(std::vector<wire::OutputPiece> pieces) override;
    // InputPort
    void give(Rank rank, const SharedBytes &bytes, bool end, StatusReply reply) override {
        streams_.give(rank, bytes, end, std::move(reply));
    }

    bool tools_have_all();
    void judge();
    void restore();
    void pull(PullAsk ask);
    void end_pulls(const char *why);
    void push(PushAsk ask);
    void go_on();

    StepContext &context_;
    StepTools &tools_;
    std::shared_ptr<PullGate> gate_;
    TaskStreams streams_;
    OutputFlow output_;
    InputFlow input_;
    OutputWish wish_;          // of this host's tools
    std::size_t pulls_ = 0;    // that have not ended
    std::size_t gone_ = 0;     // tools, when last looked at
    std::uint32_t queued_ = 0; // of what was delivered, in cost: libpmix has queued it, and it is not yet told
    std::uint64_t missed_ = 0; // bytes, by this host's tools
    TimePoint look_at_tools_ = TimePoint::max(), deliver_on_ = TimePoint::max();
    Duration pause_{};
    std::set<std::pair<Rank, std::uint8_t>> ended_here_; // streams, as this host's tools were told
    RateLimit missed_lines_;
};

} // namespace pmixhost
