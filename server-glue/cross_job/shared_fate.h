// Jobs that live and die together: those that an MPI library spawned (PMIX_PERSONALITY) and the job that
// spawned them, as long as they are connected. MPI lets no process of such jobs go on without the others,
// and Open MPI leaves it to the host to see to that (contrib/doc/semantics.md). What a job that asked to
// live on spawns, and one whose parent wants to be told of its end, shares nothing.
//
// Pure: what becomes known of the ends goes in, and once a verdict comes out: that this job is to be
// ended, with which exit code and which words for the user. One in each daemon of a step; any that knows
// enough may be the first.
//
// A process that was killed may only be the last to feel what happened elsewhere: the verdict then waits
// `patience` for the exit code of the whole job, which the spawning process' host is told.
//
// A process that SIGPIPE ended wrote to one that had gone, which Open MPI 4.1 does now and then when connected jobs
// finalize each in its own time: it is no reason to end anybody.
//
// Connected: from PMIx_Connect on, until PMIx_Disconnect, or a fence over just these processes. That is
// what MPI_Comm_disconnect of Open MPI 4.1 and 5.0 does, and no MPI has another use for it.
//
// Of kin that are not connected any more, whether they run or not, the last 1024 are known: a master may have any
// number of children, one after the other. A connect is told of kin anew before it counts, and they are of no use
// otherwise; so many are kept for a connect that is under way when the one before it is undone. Kin that end while they
// are connected stay so: processes that are left over would otherwise not be ended for each other any more.
#pragma once

#include "common/job/rank_ranges.h"
#include "common/loop/event_loop.h"
#include "server-glue/core/signature.h"

#include <optional>
#include <set>

namespace pmixhost {

class SharedFate {
  public:
    static constexpr Duration patience = std::chrono::seconds(2);
    // Where the code of the whole job is not told.
    static constexpr Duration longer_patience = std::chrono::seconds(4);

    struct Verdict {
        int exit_status; // 1..255
        std::string text;
    };
    using SizeOf = std::function<Rank(const Bytes &nspace)>; // 0: not known

    explicit SharedFate(const Bytes &nspace) : nspace_(nspace) {}

    // This job and that one, `job_id` to its users, are parent and child of that kind.
    // Before each connected() with it.
    void add_kin(const Bytes &nspace, const Bytes &job_id);
    bool is_kin(const Bytes &nspace) const { return kin_.contains(nspace); }
    static constexpr std::size_t most_apart = 1024;
    std::size_t kin_count() const { return kin_.size(); }
    void connected(const Signature &signature, const SizeOf &size_of);
    // A disconnect or a fence has succeeded; of others than those that are connected: nothing.
    void disconnected(const Signature &signature, const SizeOf &size_of);
    bool connected_with(const Bytes &nspace) const;

    // A process of this job, or of any other, ended without having finalized PMIx. `exit_code`: as in a
    // shell, if known. `code_will_come`: on_job_ended() will be called for its job.
    void on_bad_end(TimePoint now, const Bytes &nspace, Rank rank, std::optional<int> exit_code, bool code_will_come);
    // Would that end this job? It is connected then, and the exit code is that of no consequence.
    bool is_end_of_all(const Bytes &nspace, Rank rank, std::optional<int> exit_code) const;
    // All of it, and its launcher's exit code.
    void on_job_ended(TimePoint now, const Bytes &nspace, int exit_code);

    TimePoint next_time() const { return verdict_ ? due_ : TimePoint::max(); }
    // The verdict when it is due; once.
    std::optional<Verdict> on_time(TimePoint now);

  private:
    using Members = std::map<Bytes, std::map<Rank, Rank>>; // ranges of ranks, by namespace
    static Members members_of(const Signature &signature, const SizeOf &size_of);
    void condemn(TimePoint due, int exit_status, std::string text);
    // The first connection with this process in it; `kin`: a job of the others in it.
    bool is_member(const Bytes &nspace, Rank rank, Bytes &kin) const;
    void part(const Members &members);

    const Bytes nspace_;
    struct Kin {
        Bytes job_id;
        std::size_t connections = 0;
        std::uint64_t apart = 0; // its place in apart_; 0: it has none
    };
    std::map<Bytes, Kin> kin_;
    std::map<std::uint64_t, Bytes> apart_; // kin that were connected; who was so last is last
    std::uint64_t last_apart_ = 0;
    std::vector<Members> connections_;
    std::optional<Verdict> verdict_;
    TimePoint due_;
    bool given_ = false;
};

} // namespace pmixhost
