// What the processes of a job write and read, for tools: PMIx_IOF_pull and PMIx_IOF_push, where the daemon has
// taken the tasks' standard streams (io.capture); else PMIx_IOF_pull of the copy that the RM gives (io.copy). From
// each host to those of the tools (output_flow.h, input_flow.h), and there to libpmix.
//
// What the tools of this host pull, and what they are given of it, tool_pulls.h decides; what the parent of a spawned
// job has of its streams, parent_forwarding.h. Here these are wired with the tasks' streams, the flows between hosts
// and the library, and here are the messages.
#pragma once

#include "server-glue/events/step_events.h"
#include "server-glue/iof/children_io.h"
#include "server-glue/iof/input_flow.h"
#include "server-glue/iof/iof_ask.h"
#include "server-glue/iof/output_flow.h"
#include "server-glue/iof/parent_forwarding.h"
#include "server-glue/iof/readable_streams.h"
#include "server-glue/iof/rm_output_copy.h"
#include "server-glue/iof/task_streams.h"
#include "server-glue/iof/tool_pace.h"
#include "server-glue/iof/tool_pulls.h"
#include "server-glue/step/step_context.h"
#include "server-glue/tool_access/step_tools.h"

namespace pmixhost {

class StepIof final : public StepService,
                      private OutputPort,
                      private InputPort,
                      private ToolPullsPort,
                      private ParentForwardingPort {
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
        return std::min(
            {pulls_.next_time(), pace_.next_time(), copy_.next_time(), output_.next_time(), parent_.next_time()});
    }
    void on_time(TimePoint now) override;
    void on_process_gone(Rank rank, std::optional<int>) override {
        streams_.task_gone(rank);
        copy_.process_gone(rank);
    }
    void on_host_gone(HostIndex host, bool) override;
    void on_bad_ends(const wire::HostReport &report) override;
    void on_session_gone() override { parent_.on_session_gone(context_.now()); }

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

    // ToolPullsPort
    Tools tools() override;
    bool is_here(const LibraryConnection &connection) override { return connection.is_here(); }
    void log_decisions(bool changed) override { tools_.log_output_decisions(changed); }
    void want(const OutputWish &wish) override;
    std::vector<wire::OutputPiece> forwarded_before(const OutputWish &wish) override;
    bool may_be_undated(Duration since) override {
        return !captures(context_) && copy_.streams().may_be_older(context_.now() - since);
    }
    std::size_t most_unsent() override { return tools_.most_unsent(); }
    std::size_t unsent(const LibraryConnection &connection) override { return connection.unsent(); }
    bool can_pass_over() const override;
    void pass_over(const LibraryConnection &connection) override;
    void take_up(const LibraryConnection &connection) override;
    void give_one(const LibraryConnection &connection, std::optional<int> pull, std::vector<ToolOutput> words) override;
    void give_tools(ToolOutput output, std::uint32_t cost) override;
    void nobody_takes(std::uint32_t cost) override { queue_taken(cost); }
    void give_nobody() override;
    void tell_failure(const std::vector<Rank> &ranks, std::uint8_t channels, const Bytes &nspace) override;
    // ParentForwardingPort
    void forward(wire::ForwardedOutput message) override;
    void answer_input(const wire::ForwardedInputTaken &answer) override { context_.send_to_session(answer); }
    void post(std::function<void()> what) override { context_.loop.post(std::move(what)); }
    void parent_has(std::uint32_t cost) override { output_.taken(cost); }
    void parent_takes_no_more(std::uint64_t lost) override;
    void push_from_parent(std::vector<Rank> ranks, Bytes bytes, bool end, StatusReply reply) override;

    void note_streams(Rank rank, std::uint8_t channels);
    bool tools_have_all();
    bool parent_has_all();
    void read_copy_if_wanted();
    bool copy_is_wanted() const;
    void push(PushAsk ask);
    void queue_taken(std::uint32_t cost);
    void go_on();

    StepContext &context_;
    StepTools &tools_;
    StepEvents &events_;
    ChildrenIo &children_;
    ToolPulls pulls_;
    ParentForwarding parent_;
    TaskStreams streams_;
    RmOutputCopy copy_; // read where streams_ has none
    ReadableStreams readable_;
    OutputFlow output_;
    InputFlow input_;
    std::uint32_t queued_ = 0; // of what was delivered, in cost: libpmix has queued it, and it is not yet told
    bool goes_on_ = false;     // that is looked at soon
    ToolPace pace_;
};

} // namespace pmixhost
