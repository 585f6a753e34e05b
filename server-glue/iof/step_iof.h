// What the processes of a job write and read, for tools: PMIx_IOF_pull and PMIx_IOF_push, where the daemon has
// taken the tasks' standard streams (io.capture); else PMIx_IOF_pull of the copy that the RM gives (io.copy). From
// each host to those of the tools (output_flow.h, input_flow.h), and there to libpmix.
//
// What libpmix does not let a host know decides much of this (contrib/doc/decisions/io.md): who pulls, which pull has
// ended, what a tool has taken. So all that the tools of a daemon want is one wish; it ends when the last pull or the
// last tool has; and the next piece is delivered when the connections of all tools have taken the last ones.
//
// A job that was spawned with its streams forwarded (StepInfo::Parent::forwards) sends what it writes to the lowest
// host, from the first byte on, as if a tool there had taken it over; that host passes it on (output_forward.h). Then
// nothing is dropped: a process waits as it would at a pipe.
#pragma once

#include "server-glue/events/step_events.h"
#include "server-glue/iof/children_io.h"
#include "server-glue/iof/input_flow.h"
#include "server-glue/iof/iof_ask.h"
#include "server-glue/iof/output_flow.h"
#include "server-glue/iof/output_forward.h"
#include "server-glue/iof/readable_streams.h"
#include "server-glue/iof/rm_output_copy.h"
#include "server-glue/iof/task_streams.h"
#include "server-glue/iof/tool_pace.h"
#include "server-glue/step/step_context.h"

namespace pmixhost {

class StepIof final : public StepService, private OutputPort, private InputPort {
  public:
    StepIof(StepContext &context, StepTools &tools, StepEvents &events, ChildrenIo &children);

    // Does the daemon want the streams of its tasks? Of a spawned job it does if that was asked for.
    static bool captures(const StepContext &context) {
        const auto &parent = context.step.parent;
        return parent ? parent->forwards != 0 : context.settings.io_capture == "on";
    }
    // Can tools have what its tasks write?
    static bool can_be_read(const StepContext &context) { return captures(context) || RmOutputCopy::offered(context); }
    void take_streams(Rank rank, TaskDescriptors descriptors);
    // The RM reads those channels of the task not, so that there is no copy.
    void note_unread(Rank rank, std::uint8_t channels);
    // All tasks of this host have ended at that time: is there something of theirs that must go out first?
    bool holds_end(TimePoint ended) override;

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    void on_library() override;
    TimePoint next_time() const override {
        return std::min({look_at_tools_, pace_.next_time(), copy_.next_time(), output_.next_time(),
                         forward_ ? forward_->next_time() : TimePoint::max()});
    }
    void on_time(TimePoint now) override;
    void on_process_gone(Rank rank, std::optional<int>) override {
        streams_.task_gone(rank);
        copy_.process_gone(rank);
    }
    void on_host_gone(HostIndex host, bool) override;
    void on_bad_ends(const wire::HostReport &report) override;
    void on_session_gone() override {
        if (forward_)
            forward_->on_session_gone(context_.now());
    }

  private:
    // OutputPort
    std::vector<wire::OutputPiece> kept_output(const OutputWish &wish) override;
    void deliver(std::vector<wire::OutputPiece> pieces) override;
    void on_room() override { streams_.look_for_room(); }
    void give_back(std::vector<wire::OutputPiece> pieces) override {
        for (const auto &piece : pieces)
            streams_.give_back(piece.rank, piece.channel, piece.bytes);
    }
    // InputPort
    void give(Rank rank, const SharedBytes &bytes, bool end, StatusReply reply) override {
        streams_.give(rank, bytes, end, std::move(reply));
    }

    bool tools_have_all();
    void judge();
    void note_streams(Rank rank, std::uint8_t channels);
    void restore();
    void pull(PullAsk ask);
    void give_what_was_forwarded();
    void tell_what_is_undated(Duration since);
    void tell_failures(const std::map<Rank, std::uint8_t> &channels, const Bytes &nspace);
    void tell_failure(const std::vector<Rank> &ranks, std::uint8_t channels, const Bytes &nspace);
    void tell_failure(const OutputSelection &of);
    void end_pulls(const char *why);
    void push(PushAsk ask);
    void queue_taken(std::uint32_t cost);
    void go_on();
    bool forwards_output() const { return forwards_ & (wire::stdout_channel | wire::stderr_channel); }
    bool forwarded_all();
    void begin_forwarding();
    void end_forwarding(std::uint64_t lost);
    void want();
    void read_copy_if_wanted();
    bool copy_is_wanted() const;
    void on_forwarded_input(wire::ForwardedInput message);

    StepContext &context_;
    StepTools &tools_;
    StepEvents &events_;
    ChildrenIo &children_;
    std::uint8_t forwards_; // to and from the job's parent
    std::shared_ptr<PullGate> gate_;
    TaskStreams streams_;
    RmOutputCopy copy_; // read where streams_ has none
    ReadableStreams readable_;
    OutputFlow output_;
    InputFlow input_;
    OutputWish wish_;                // of this host's tools
    std::size_t pulls_ = 0;          // that have not ended
    std::uint64_t last_to_pull_ = 0; // of the tools, one of those that were here at the last pull (StepTools::newest)
    std::size_t child_pulls_ = 0;    // the same, of jobs that are forwarded here
    std::size_t gone_ = 0;           // tools, when last looked at
    std::uint32_t queued_ = 0;       // of what was delivered, in cost: libpmix has queued it, and it is not yet told
    std::uint64_t missed_ = 0;       // bytes, by this host's tools
    std::map<std::pair<Rank, std::uint8_t>, std::uint64_t>
        untold_; // of these, that they have not been told of, by stream
    TimePoint look_at_tools_ = TimePoint::max();
    bool goes_on_ = false; // that is looked at soon
    ToolPace pace_;
    std::optional<OutputForward> forward_; // at the lowest host of a job whose output is forwarded
    // Streams: as this host's tools were told, and as was forwarded.
    std::set<std::pair<Rank, std::uint8_t>> ended_here_, forward_ended_;
    RateLimit missed_lines_;
};

} // namespace pmixhost
