// The collective: an all-gather that is always a barrier, over the hosts that have a participant.
// Pure: messages and time in, messages and completions out.
//
// The participating hosts, ascending, form a tree of the given radix by their position in that list; hosts that do
// not take part are not asked for anything. Each host waits for its own processes (enter) and its children
// (CollectiveUp), then sends what it has up; the root sends everything down (CollectiveDown), and each host hands it
// to its processes and on to its children. It is 2*log(N) messages deep, and each host gets each byte once on the way
// down. A host that has no data adds no bytes: a barrier is as small on ten thousand hosts as on two.
//
// A result of many bytes goes down in pieces, so that the root does not send all of it to each of its children: a host
// tells its children that the collective is complete (CollectiveComplete), gives the pieces (CollectivePiece) to the
// first one, and each hands them on to the next and to its own first one as they come. So nobody sends much more than
// twice the result. Who has all of them says so to its parent (CollectiveTaken), which keeps them until all children
// have said so; a child that goes, or fails, is skipped: its parent gives the pieces to the next one itself. So it does
// for one to which no piece has come for `piece_patience`, and which says so (CollectiveProbe): two children cannot
// reach each other, say. Who knows that it is complete does not fail any more because somebody goes.
//
// Two hosts of a fence need no root: each tells the other what it has (CollectiveUp), and is complete with what it
// hears, one message deep instead of two. Both must come to the same verdict, so who has told cannot fail alone: it
// says that it wants to, and hears of the other's failure or of what the other had told before, which makes it a
// success.
//
// The n-th collective of a signature on one host meets the n-th on every other, so signatures may be
// used again and again, and several of different signatures may be under way in any order.
//
// It fails for all when a participant's deadline passes, or when a participating process or host goes before it is
// complete, whether or not that one had entered. Whoever notices completes its own processes with the error and tells
// its parent and its children, who do the same; a host that has not yet entered remembers the failure, and its
// processes get it as they enter. (A timeout is not remembered: libpmix itself gives up a fence in which not all
// local processes came in time, without a word to the host, and the next entry there is for what the others do next.
// It is where an earlier one, which may be under way elsewhere or have failed, still waits for the entry of this host's
// processes: they hear of both in turn.)
// Nobody waits for the dead: a host that waits longer than `probe_after` asks the children that are missing
// (CollectiveProbe), because the host of a dead process may not know that anyone waits.
//
// A tolerant collective does without the dead: a host whose members have all gone enters in their stead, and a host
// that has gone without children in the tree is not waited for. It still fails with a host that others need on their
// way to the root.
//
// A signature may span namespaces. The tree is then that of this namespace's participants; once all
// of them are there, its root hands their part out (join_cross_job), and what comes back from the other
// namespaces (cross_job_done) completes it. Their parts travel down as contributions of no_host.
#pragma once

#include "common/loop/event_loop.h"
#include "common/transport/tree.h"
#include "common/wire/collective_messages.h"
#include "common/wire/rank_set.h"
#include "server-glue/collective/result_pieces.h"
#include "server-glue/core/host_port.h"
#include "server-glue/core/one_shot.h"
#include "server-glue/core/signature.h"

#include <map>
#include <optional>
#include <pmix_common.h>
#include <set>
#include <unordered_map>

namespace pmixhost {

using Contributions = std::shared_ptr<const std::vector<wire::Contribution>>;
// 0 or a PMIx status; without the contributions unless it is 0. Who has contributed nothing is not among them.
using CollectiveReply = OneShot<std::int32_t, Contributions>;

// What a collective needs from its surroundings, beside the other hosts.
class CollectivePort {
  public:
    virtual ~CollectivePort() = default;
    // The hosts of the members, ascending. Fails where a namespace or rank is unknown.
    virtual Result<std::vector<HostIndex>> hosts_of(const Signature &signature) = 0;
    // Is a local process of this signature gone (so that it can never enter)?
    virtual bool local_member_gone(const Signature &signature) = 0;
    // Does it do without participants that have gone? Of a group's destruction its construction has said it, which not
    // every host knows: where they differ, it fails for all.
    virtual bool is_tolerant(const Signature &signature) { return signature.tolerant != 0; }
    // The contribution of this host to a tolerant collective, when none of its members is left to
    // enter; nullopt when there are.
    virtual std::optional<Bytes> part_of_the_dead(const Signature &) { return std::nullopt; }

    // Has the signature members in other namespaces?
    virtual bool spans_jobs(const Signature &) { return false; }
    // This namespace's part is complete; cross_job_done() is the answer, perhaps from within.
    virtual void join_cross_job(const Bytes &, std::uint64_t, const std::vector<wire::Contribution> &) {}
    // This namespace's part has failed, whether or not it had joined.
    virtual void leave_cross_job(const Bytes &, std::uint64_t, std::int32_t) {}
};

class Collectives {
  public:
    static constexpr Duration probe_after = std::chrono::milliseconds(250);
    // Who wants to fail waits so long for its partner's word; a partner that is gone is noticed earlier.
    static constexpr Duration verdict_patience = std::chrono::seconds(5);
    static constexpr Duration piece_patience = std::chrono::seconds(2);
    // Signatures that are remembered (their counters must be), and what is kept of all of them together; beyond either
    // enter() refuses, and other hosts that wait for this one are told so.
    static constexpr std::size_t max_signatures = 100'000;
    static constexpr std::size_t max_bytes = 256u << 20;

    // So many children hand a large result on to one another; to fewer it is sent as often.
    static constexpr std::uint32_t least_chain = 3;
    // A result goes down in pieces of `each` bytes where it has `from` of them, and the root would send `sent` to all
    // of its children; smaller ones wait less in one message.
    struct PieceSizes {
        std::size_t from = 64u << 10, each = 64u << 10, sent = 512u << 10;
        bool cut(std::size_t bytes, std::size_t children) const { return bytes >= from && bytes * children >= sent; }
    };
    Collectives(HostPort &hosts, CollectivePort &port, HostIndex self, std::uint32_t radix)
        : Collectives(hosts, port, self, radix, PieceSizes()) {}
    Collectives(HostPort &hosts, CollectivePort &port, HostIndex self, std::uint32_t radix, PieceSizes pieces,
                std::size_t most_bytes = max_bytes)
        : hosts_(hosts), port_(port), self_(self), radix_(radix), most_bytes_(most_bytes), piece_sizes_(pieces) {}
    ~Collectives() { drop_all(); }
    Collectives(const Collectives &) = delete;
    Collectives &operator=(const Collectives &) = delete;

    // All local participants have entered. `local_status`: 0, or why the local part is incomplete.
    // `deadline` may be TimePoint::max(). The answer comes exactly once, perhaps from within.
    void enter(TimePoint now, const Signature &signature, Bytes data, std::int32_t local_status, TimePoint deadline,
               CollectiveReply reply);
    // At the end: forgets what is under way and tells no other host. Whoever waits here gets the default of its
    // reply.
    void drop_all();

    // Messages; the sender is authenticated as host `from`. A wrong sender, an unknown host or a repetition is
    // dropped (and counted).
    void on_up(TimePoint now, HostIndex from, wire::CollectiveUp message);
    void on_down(HostIndex from, wire::CollectiveDown message, SharedBytes payload);
    void on_probe(TimePoint now, HostIndex from, const wire::CollectiveProbe &message);
    void on_complete(TimePoint now, HostIndex from, const wire::CollectiveComplete &message);
    void on_piece(TimePoint now, HostIndex from, const wire::CollectivePiece &message, SharedBytes payload);
    void on_taken(HostIndex from, const wire::CollectiveTaken &message);

    // The other namespaces' part of what join_cross_job() was called for, or why there is none.
    void cross_job_done(const Bytes &key, std::uint64_t sequence, std::int32_t status,
                        std::vector<wire::Contribution> parts);
    // Nothing that waits for other jobs will be answered any more.
    void on_cross_job_gone();
    void on_host_gone(TimePoint now, HostIndex host);
    // A local process ended; asks the port which signatures that breaks.
    void on_local_process_gone(TimePoint now);

    // When on_time() must be called next; TimePoint::max() for never.
    TimePoint next_time() const;
    void on_time(TimePoint now);

    std::size_t active() const; // collectives that are under way here
    // Of the signatures that are remembered, without what is under way.
    std::size_t bytes() const { return bytes_; }
    // Signatures of which children have yet to take a result.
    std::size_t handing_down() const { return handing_down_.size(); }
    // Is one of them with that namespace?
    bool waits_for(const Bytes &nspace) const;
    std::uint64_t dropped_messages() const { return dropped_; }

  private:
    struct Instance {
        bool entered = false;
        CollectiveReply reply; // none where this host has entered for its dead
        TimePoint deadline = TimePoint::max();
        TimePoint probe_at = TimePoint::max();
        bool probed_by_parent = false;
        bool up_sent = false;
        bool cross_job = false;                    // joined with the other namespaces
        std::optional<std::int32_t> wants_to_fail; // and why; the partner has not answered yet
        TimePoint pieces_by = TimePoint::max();    // the parent has gone, and somebody must hand the next piece on
        std::shared_ptr<ResultPieces> pieces;      // of its result: it is complete
        std::set<HostIndex> arrived;               // children
        std::vector<wire::Contribution> contributions;
    };
    // A result that children take in pieces.
    struct HandedDown {
        std::shared_ptr<ResultPieces> pieces;
        std::set<HostIndex> awaited; // have not taken all of it
        std::set<HostIndex> fed;     // get the pieces from here, and not from a sibling
        TimePoint heeds_probes_at{}; // who gets them next hands them on to others who wait
    };
    // Of one signature. It is kept for the life of the step: nothing in it grows with the hosts but by a bit for each.
    struct Record {
        std::uint64_t order = 0; // of creation: work goes in this order, so that runs replay
        Signature signature;
        const Bytes *key = nullptr; // the one of records_
        HostIndex parent = no_host;
        std::vector<HostIndex> children; // ascending, as all of these
        HostIndex partner = no_host;     // the one child, where two hosts tell each other
        std::vector<HostIndex> leaves;   // children that have none
        std::vector<HostIndex> siblings; // the parent's children behind this host, if they hand pieces on
        std::vector<HostIndex> elders;   // those before it
        wire::RankSet hosts;
        std::uint64_t next_sequence = 0; // of the next enter()
        std::map<std::uint64_t, Instance> instances;
        std::map<std::uint64_t, std::int32_t> failed_early; // not yet entered here
        std::map<std::uint64_t, HandedDown> handed_down;    // by sequence
    };

    // nullptr when the signature is malformed, or this host has no part in it or no room for it.
    Record *record_for(const Bytes &key, const Signature *known);
    // Its key is that one.
    std::optional<Record> make_record(const Bytes &key, const Signature *known);
    static std::size_t bytes_of(const Record &record);
    bool is_full() const { return records_.size() >= max_signatures || bytes_ >= most_bytes_; }
    // `has_part`: the message brings a part, and is no question for one.
    bool refuse_for_want_of_room(HostIndex from, const Bytes &key, std::uint64_t sequence, bool has_part);
    bool finished(const Record &record, std::uint64_t sequence) const;
    Instance &instance_for(TimePoint now, Record &record, std::uint64_t sequence);
    void advance(TimePoint now, Record &record, std::uint64_t sequence);
    void advance_without_the_lost(TimePoint now, Record &record, std::uint64_t sequence);
    void fail(TimePoint now, Record &record, std::uint64_t sequence, std::int32_t status);
    void send_up(HostIndex to, const Record &record, std::uint64_t sequence, std::int32_t status,
                 std::vector<wire::Contribution> contributions = {});
    static bool fits(const Record &record, const std::vector<wire::Contribution> &contributions);
    void advance_with_partner(TimePoint now, Record &record, std::uint64_t sequence);
    void fail_with_partner(TimePoint now, Record &record, std::uint64_t sequence, std::int32_t status);
    void on_partner_failed(Record &record, const wire::CollectiveUp &message);
    void contribute(Instance &instance, Bytes data);
    void finish(Record &record, std::uint64_t sequence, std::int32_t status,
                std::vector<wire::Contribution> contributions = {});
    // Deals with local members that have gone; true when the instance is no longer as it was.
    bool ends_with_the_dead(TimePoint now, Record &record, std::uint64_t sequence);
    HostIndex next_sibling(const Record &record);
    void forget_handed_down(Record &record, std::uint64_t sequence);
    // The instance that a message of a result is for; null, and counted, where it is for none.
    Instance *waiting_for_result(Record *record, std::uint64_t sequence);
    bool begin_pieces(TimePoint now, Record &record, std::uint64_t sequence, Instance &instance, std::uint32_t count,
                      std::uint32_t total);
    void hand_down(Record &record, std::uint64_t sequence, std::shared_ptr<ResultPieces> pieces);
    void feed(HandedDown &handed, HostIndex child);
    void feed_who_waits(TimePoint now, Record &record, std::uint64_t sequence);
    void skip(Record &record, std::uint64_t sequence, HostIndex child);
    void taken_by(Record &record, std::uint64_t sequence, HostIndex child);
    void complete_with_pieces(Record &record, std::uint64_t sequence);
    // May a tolerant collective go on without this host, which has gone?
    bool dispensable(const Record &record, HostIndex host);
    // Has a host gone without which nothing comes to the root, or back from it?
    bool cut_off(const Record &record);

    HostPort &hosts_;
    CollectivePort &port_;
    HostIndex self_;
    std::uint32_t radix_;
    std::unordered_map<Bytes, Record> records_;
    std::size_t bytes_ = 0; // of these
    const std::size_t most_bytes_;
    // Records with an instance under way, so that time and losses cost nothing when idle.
    std::map<std::uint64_t, Record *> busy_;
    std::map<std::uint64_t, Record *> handing_down_; // likewise, with a result that children take in pieces
    PieceSizes piece_sizes_;
    std::uint64_t dropped_ = 0;
};

} // namespace pmixhost
