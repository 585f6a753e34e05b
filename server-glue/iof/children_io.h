// Output and input of the jobs that processes and tools of this host have spawned, where PMIx_Spawn was told to keep
// them for that (PMIX_FWD_STDIN, PMIX_FWD_STDOUT, PMIX_FWD_STDERR): what comes from such a job is given to libpmix,
// which has noted who asked (pull or not, the one that spawned gets it), and what is pushed goes to the job. Between
// the two jobs all goes through the session.
#pragma once

#include "common/wire/iof_messages.h"
#include "server-glue/iof/iof_ask.h"
#include "server-glue/iof/pull_gate.h"
#include "server-glue/iof/tool_pace.h"
#include "server-glue/step/session_link.h"
#include "server-glue/tool_access/step_tools.h"

#include <deque>

namespace pmixhost {

class ChildrenIo final : public StepService {
  public:
    // For what a job has written to come when it has ended, as long as its daemons hold it (StepIof::holds_end), and
    // for who spawned it to pull it.
    static constexpr Duration output_patience = std::chrono::seconds(25);

    ChildrenIo(StepContext &context, StepTools &tools, SessionLink &session);

    // A job of such kind is asked for; it runs, if it does; and libpmix has been told, or that it does not.
    void begins();
    void runs(const Bytes &nspace, const Process &spawner, std::uint8_t channels);
    void answered();
    // Before runs(): how many processes it has, for is_drained().
    void has_size(const Bytes &nspace, std::uint32_t processes) { sizes_[nspace] = processes; }
    // Has all that is forwarded of its output come, to the end of each stream? Where the size is not known: not.
    bool is_drained(const Bytes &nspace) const;
    // A job runs of which nothing is forwarded.
    void runs_unforwarded(const Bytes &nspace) {
        sizes_.erase(nspace);
        gate_->note_unforwarded_child(nspace);
    }
    // It has ended, or had before it was known to run: it is forgotten after that time.
    void ended(const Bytes &nspace);
    // Of streams that do not come to their end, because their host was lost, say: to be told to who has asked for
    // such events.
    using Failure = std::function<void(const Bytes &nspace, const std::map<Rank, std::uint8_t> &channels)>;
    void when_output_fails(Failure tell) { tell_failure_ = std::move(tell); }
    // It is one of them, and this is what is forwarded of it; 0: it is none.
    std::uint8_t channels_of(const Bytes &nspace) const;
    void push(PushAsk ask);

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    TimePoint next_time() const override;
    void on_time(TimePoint now) override;
    void on_process_gone(Rank rank, std::optional<int> wait_status) override;
    void on_session_here() override;
    void on_session_gone() override;
    bool has_unsent() override;

  private:
    static constexpr std::size_t most_early = 64; // jobs
    static constexpr Duration told_again_in = std::chrono::seconds(1), spawners_look = std::chrono::seconds(1);
    struct Child {
        Process spawner;
        ToolOrigins::IsHere spawner_is_here; // of a tool; null: nobody knows which connection it has
        std::uint8_t channels = 0;
        bool spawner_gone = false;  // of a tool: and its end of the input has been told
        std::uint64_t open = 1;     // streams that have not ended
        std::uint64_t given = 0;    // pieces of output
        std::deque<PushAsk> pushes; // the first is under way, so that their order is kept; bounded as a pusher's
        bool input_ends = false;    // nobody writes any more, and the job has not heard it yet
        TimePoint tell_end{};       // it is told (again) then; max(): the session is asked to
        std::uint64_t push_id = 0;
        TimePoint until = TimePoint::max(); // it is forgotten then
    };
    using Children = std::map<Bytes, Child>;
    void on_output(wire::ForwardedOutput message);
    bool spawner_is_gone(const Child &child) const;
    void look_at_spawners(TimePoint now);
    bool may_be_written_to_by_tool(const Child &child) const;
    void deliver(Children::iterator entry, wire::ForwardedOutput message);
    void forget(Children::iterator child);
    void answer(std::uint64_t id, pmix_status_t status);
    void end_input(const Bytes &nspace, Child &child);
    void tell_end_of_input(const Bytes &nspace, Child &child);
    void push_next(const Bytes &nspace, Child &child);
    void on_pushed(const wire::ForwardedInputTaken &reply);
    std::size_t unsent_to(const std::optional<Rank> &reader) const;
    void go_on();

    StepContext &context_;
    StepTools &tools_;
    SessionLink &session_;
    std::shared_ptr<PullGate> gate_;
    Failure tell_failure_;
    ToolPace pace_;
    Children children_;
    std::size_t beginning_ = 0;               // jobs whose names are not known yet
    std::deque<wire::ForwardedOutput> early_; // perhaps theirs
    std::map<Bytes, std::uint32_t> sizes_;    // of those that begin
    std::set<Rank> ended_;                    // of this host, since then
    std::uint64_t sessions_ = 0;              // that have gone
    TimePoint look_at_spawners_ = TimePoint::max();
    struct Queued {
        std::uint64_t id;
        std::optional<Rank> reader; // a process of this host; else a tool
    };
    std::vector<Queued> queued_; // libpmix has queued them, and the job is not yet told
    std::uint64_t next_push_ = 1;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true); // the last, for pushes that are dropped with children_
};

} // namespace pmixhost
