// The standard streams of a spawned job between its processes and the one that spawned it, where PMIx_Spawn was told to
// forward them (StepInfo::Parent::forwards): what they write comes together at the lowest host, from the first byte on,
// as if a tool there had taken it over, and goes from there to the parent's host (output_forward.h); what comes from
// there is input. Then nothing is dropped: a process waits as it would at a pipe. When nobody takes it any more it is
// the RM's again, and the input ends.
//
// Pure: messages in, messages out; the caller has the clock. All in the loop's thread.
#pragma once

#include "server-glue/iof/output_flow.h"
#include "server-glue/iof/output_forward.h"
#include "server-glue/library/replies.h"
#include "server-glue/rm/rm_backend.h"

#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace pmixhost {

// Nothing here calls ParentForwarding but what post() is given.
class ParentForwardingPort {
  public:
    virtual ~ParentForwardingPort() = default;
    // To the session. Where it cannot be reached, on_session_gone() follows, later.
    virtual void forward(wire::ForwardedOutput message) = 0;
    virtual void answer_input(const wire::ForwardedInputTaken &answer) = 0;
    // Later, in the loop's thread.
    virtual void post(std::function<void()> what) = 0;
    // The parent has got that much of what add() was given, in its cost.
    virtual void parent_has(std::uint32_t cost) = 0;
    // The output is no longer forwarded, since nobody takes it: so many bytes that had been given are lost.
    virtual void parent_takes_no_more(std::uint64_t lost) = 0;
    // For the standard input of these processes, or of all where none is named; each is one of the step, once.
    virtual void push_from_parent(std::vector<Rank> ranks, Bytes bytes, bool end, StatusReply reply) = 0;
};

class ParentForwarding {
  public:
    // Where the output comes together.
    static constexpr HostIndex host = 0;
    static constexpr std::uint8_t output_channels = wire::stdout_channel | wire::stderr_channel;

    // `step` outlives this; `cache`: bytes that a host holds back before a process waits (io.cache).
    ParentForwarding(ParentForwardingPort &port, const StepInfo &step, std::uint64_t cache);

    // Streams that are forwarded to and from the job's parent.
    std::uint8_t channels() const { return channels_; }
    bool has_input() const { return channels_ & wire::stdin_channel; }
    bool has_output() const { return channels_ & output_channels; }
    // Does the output come together on this host? That channel?
    bool gathers() const { return forward_.has_value(); }
    bool gathers(std::uint8_t channel) const { return forward_ && (channels_ & channel); }
    // Precondition: the job has a parent. What the lowest host wants for it.
    OutputWish wish() const;

    // Preconditions: gathers(channel) of it. `cost`: as parent_has() is told.
    void add(wire::OutputPiece piece, std::uint32_t cost);
    // Streams of which the end, or that no more can be had, has gone that way.
    const std::set<std::pair<Rank, std::uint8_t>> &ended() const { return ended_; }
    // Precondition: gathers(). Has all been taken, to the end of each stream? Those of other hosts may still run, and
    // what they write comes through here; `alone`: none of them does.
    bool has_gone(bool alone) const;

    // The session can be reached from now on.
    void open();
    void on_session_gone(TimePoint now);
    void on_reply(TimePoint now, const wire::ForwardedOutputTaken &reply);
    void on_input(wire::ForwardedInput message);
    TimePoint next_time() const { return forward_ ? forward_->next_time() : TimePoint::max(); }
    void on_time(TimePoint now);

  private:
    void end(std::uint64_t lost);

    ParentForwardingPort &port_;
    const StepInfo &step_;
    const std::uint64_t cache_;
    std::uint8_t channels_;
    std::optional<OutputForward> forward_; // at that host
    std::set<std::pair<Rank, std::uint8_t>> ended_;
};

} // namespace pmixhost
