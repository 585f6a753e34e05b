// Where the namespaces of a collective that spans several meet: in the session. Pure: joins in,
// answers out.
//
// Each namespace joins when its own participants are all there. Namespaces may name the participants
// in different words (all ranks by number, or the wildcard), so a join is matched only when the size
// of every namespace it names is known, that is, when each has joined something. The n-th join of a
// namespace to a set of participants meets the n-th of the others.
//
// It fails for all when one joins with an error, or when a process or namespace that is waited for ends, or had ended
// before anyone waited. A join that nobody else has met is withdrawn by its timeout, as if it had never been: the
// next one takes its place.
#pragma once

#include "common/job/rank_ranges.h"
#include "common/wire/cross_job_messages.h"
#include "common/wire/names.h"
#include "server-glue/core/signature.h"

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <set>

namespace pmixhost {

class SessionCollectives {
  public:
    using StepId = std::uint64_t;
    struct Member { // the host that speaks for its namespace
        StepId step;
        std::uint32_t host;
        bool operator==(const Member &) const = default;
    };
    // Called exactly once for each join that was taken, unless it joined with an error.
    using Answer = std::function<void(const Member &member, wire::SessionCollectiveDone done)>;
    static constexpr std::size_t max_waiting = 100'000;
    static constexpr std::size_t max_gone = 100'000; // namespaces whose end is remembered
    // Sets of participants with a join that not all have met, failed ones among them; more are refused.
    static constexpr std::size_t max_places = 100'000;
    // Signatures whose last answer is remembered, the newest ones: no failure crosses with an older one.
    static constexpr std::size_t max_answered = 100'000;
    static constexpr std::size_t max_bytes = 256u << 20; // of the signatures of either

    explicit SessionCollectives(Answer answer) : answer_(std::move(answer)) {}

    // Fails (invalid, limit) on a join that cannot be taken; the caller answers it.
    Result<void> join(const Member &member, wire::SessionCollectiveJoin message);
    void on_processes_ended(const Bytes &nspace, const std::vector<wire::RankRange> &ranks);
    // The host has gone: what it has joined cannot come to an end any more.
    void on_member_gone(const Member &member);
    // The last of its members has gone (`step` 0: it never had any). Whoever names that namespace from now on is not
    // left waiting, unless it comes again.
    void on_step_gone(StepId step, const Bytes &nspace);
    void here_again(const Bytes &nspace);

    std::size_t waiting() const { return unmatched_.size() + matched_; }
    std::size_t places() const { return places_.size(); }
    std::size_t answered() const { return answered_.size(); }

  private:
    struct Join {
        Member member;
        Signature signature;
        wire::SessionCollectiveJoin message;
    };
    struct Meeting {
        std::map<Bytes, Join> joined; // by namespace
        std::int32_t failed = 0;
        std::set<Bytes> heard; // of the failure
    };
    // Of one set of participants, as long as there is a meeting: without one all have joined equally often, and
    // count from anew.
    struct Place {
        Signature signature;
        std::map<Bytes, std::uint64_t> next; // join number of each namespace
        std::map<std::uint64_t, Meeting> meetings;
    };
    bool known(const Signature &signature) const;
    // Has one of those that have not joined ended?
    bool hopeless(const Signature &signature, const Meeting &meeting) const;
    Bytes normal(const Signature &signature) const;
    bool replaces(const Member &member, const wire::SessionCollectiveJoin &message, const Bytes &nspace);
    bool awaited(const Signature &signature, const Bytes &nspace) const;
    bool has_place_for(const Signature &signature) const;
    using Places = std::map<Bytes, Place>;
    void forget_idle(Places::iterator place);
    using JoinedAs = std::pair<StepId, Bytes>;
    struct Answered {
        std::uint64_t sequence = 0, order = 0;
    };
    using Answers = std::map<JoinedAs, Answered>;
    void note_answer(const Join &join);
    void forget(Answers::iterator answer);
    void match();
    void enter(Join join);
    void settle(const Bytes &key, std::uint64_t number);
    void reply(const Join &join, std::int32_t status, std::vector<wire::NamespacePart> parts);
    template <typename Condition> void fail_where(Condition condition, std::int32_t status);

    Answer answer_;
    std::map<Bytes, Rank> sizes_;
    std::map<Bytes, RankRanges> ended_; // processes, as far as their hosts told
    std::set<Bytes> gone_;              // namespaces
    std::deque<Bytes> gone_order_;      // the oldest end first
    // The last join of each signature that was answered, as its namespace numbers them: a failure that
    // crossed with the answer is no new join.
    Answers answered_;
    std::map<std::uint64_t, const JoinedAs *> answered_order_; // the oldest first
    std::size_t answered_bytes_ = 0;
    std::uint64_t answers_ = 0;
    std::list<Join> unmatched_;
    Places places_; // by signature in normal form
    std::size_t place_bytes_ = 0;
    std::size_t matched_ = 0;
};

} // namespace pmixhost
