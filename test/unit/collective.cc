// Signatures, and the collective's rules that need no network: canonical participants, one host
// alone, failures remembered, messages that do not fit.
#include "server-glue/collective/collective.h"

#include <pmix_common.h>

#include "test/unit/counted_memory.h"
#include "test/unit/fake_hosts.h"

using namespace pmixhost;

static Rank size_of(const Bytes &nspace) {
    return nspace == "job" ? 4 : 0;
}
static Signature wildcard() {
    return *canonical(CollectiveKind::fence, {{"job", 0, true}}, size_of);
}

static void order_and_doubles_do_not_matter(void **) {
    auto a = canonical(CollectiveKind::fence, {{"job", 3, false}, {"job", 1, false}, {"job", 3, false}}, size_of);
    auto b = canonical(CollectiveKind::fence, {{"job", 1, false}, {"job", 3, false}}, size_of);
    assert_true(a.ok() && b.ok());
    assert_true(wire::encode(*a) == wire::encode(*b));
    assert_true(a->contains("job", 1) && !a->contains("job", 2) && !a->contains("other", 1));
}

static void all_ranks_are_the_wildcard(void **) {
    auto list = canonical(CollectiveKind::fence,
                          {{"job", 0, false}, {"job", 2, false}, {"job", 1, false}, {"job", 3, false}}, size_of);
    auto wildcard = canonical(CollectiveKind::fence, {{"job", 0, true}}, size_of);
    assert_true(wire::encode(*list) == wire::encode(*wildcard));
}

// Of a job of 1.28 million ranks; it was 2.5 MB, one rank after the other.
static void a_list_of_half_of_the_ranks_is_small(void **) {
    static constexpr Rank ranks = 1'280'000;
    auto key_of = [](auto is_in) {
        std::vector<Process> list;
        for (Rank rank = ranks; rank-- > 0;) {
            if (is_in(rank))
                list.push_back({"job", rank, false});
        }
        return wire::encode(*canonical(CollectiveKind::fence, list, [](const Bytes &) { return ranks; }));
    };
    std::size_t of_all = wire::encode(wildcard()).size();
    assert_int_equal(key_of([](Rank rank) { return rank < ranks / 2; }).size(), of_all + 16);
    Bytes odd = key_of([](Rank rank) { return rank % 2 == 1; });
    assert_int_equal(odd.size(), of_all + 16);
    assert_true(key_of([](Rank rank) { return rank % 3 != 2; }).size() < of_all + ranks / 8 + 100);
    auto back = read_signature(odd);
    assert_true(back && back->contains("job", 1) && back->contains("job", ranks - 1));
    assert_false(back->contains("job", 0) || back->contains("job", ranks) || back->contains("jo", 1));
}

// All that other hosts send; each set of participants has one key.
static void signatures_that_nobody_makes_are_refused(void **) {
    auto is_read = [](const Signature &signature) { return read_signature(wire::encode(signature)).ok(); };
    Signature good = *canonical(CollectiveKind::fence, {{"a", 0, true}, {"job", 3, false}, {"job", 1, false}},
                                [](const Bytes &) { return Rank{4}; });
    assert_true(is_read(good) && is_read(wildcard()));
    assert_false(read_signature(wire::encode(good) + "x").ok());
    assert_false(read_signature("").ok());
    assert_false(is_read(Signature()));
    std::swap(good.members[0], good.members[1]);
    assert_false(is_read(good));
    good.members[1] = good.members[0];
    assert_false(is_read(good));
    good.members.pop_back();
    assert_true(is_read(good));
    good.members[0].all = 1; // and these
    assert_false(is_read(good));
    good.members[0].ranks = {};
    good.members[0].all = 2;
    assert_false(is_read(good));
    good.members[0].all = 0; // nobody
    assert_false(is_read(good));
    good.members[0].ranks = {highest_rank};
    assert_true(is_read(good));
    good.members[0].ranks = {highest_rank + 1};
    assert_false(is_read(good));
    for (int kind : {0, 6}) {
        Signature other = wildcard();
        other.kind = static_cast<CollectiveKind>(kind);
        assert_false(is_read(other));
    }
    // The ranks 0 and 1 in two runs: another key, and the same processes.
    Bytes key = wire::encode(*canonical(CollectiveKind::fence, {{"job", 0, false}, {"job", 1, false}}, size_of));
    Bytes words, others;
    wire::Writer(words).put(std::vector<std::uint32_t>{0, 0, 3});
    wire::Writer(others).put(std::vector<std::uint32_t>{1, 0, 1, 0, 1, 1, 0});
    auto place = key.find(words);
    assert_true(place != Bytes::npos);
    assert_false(read_signature(key.replace(place, words.size(), others)).ok());
}

static void unknown_participants_are_refused(void **) {
    assert_false(canonical(CollectiveKind::fence, {{"nojob", 0, false}}, size_of).ok());
    assert_false(canonical(CollectiveKind::fence, {{"job", 4, false}}, size_of).ok());
    assert_false(canonical(CollectiveKind::fence, {}, size_of).ok());
}

namespace {
// One host's surroundings.
struct Port final : FakeHosts, CollectivePort {
    std::vector<HostIndex> hosts{0, 1, 2};
    std::map<std::uint64_t, std::int32_t> completed;
    bool member_gone = false;
    std::optional<Bytes> part_of_dead;
    std::vector<HostIndex> contributors; // to what completed last
    CollectiveReply reply(std::uint64_t id) {
        return {[this, id](std::int32_t status, Contributions contributions) {
                    assert_false(completed.contains(id)); // exactly once
                    completed[id] = status;
                    contributors.clear();
                    if (contributions)
                        for (const auto &each : *contributions)
                            contributors.push_back(each.host);
                },
                PMIX_ERROR, nullptr};
    }
    Result<std::vector<HostIndex>> hosts_of(const Signature &) override { return hosts; }
    bool local_member_gone(const Signature &) override { return member_gone; }
    std::optional<bool> tolerant; // whatever the signature says
    bool is_tolerant(const Signature &signature) override {
        return tolerant ? *tolerant : CollectivePort::is_tolerant(signature);
    }
    std::optional<Bytes> part_of_the_dead(const Signature &) override { return part_of_dead; }
};
} // namespace

static const TimePoint start{};

static wire::CollectiveUp up_of(HostIndex host, const Signature &signature) {
    wire::CollectiveUp up;
    up.signature = wire::encode(signature);
    up.contributions = {{host, "part"}};
    return up;
}

static void one_host_completes_alone(void **) {
    Port port;
    port.hosts = {0};
    Collectives c(port, port, 0, 2);
    c.enter(start, wildcard(), "x", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    assert_int_equal(port.completed.at(1), PMIX_SUCCESS);
    assert_int_equal(c.active(), 0);
}

static void a_failure_waits_for_who_enters_late(void **) {
    Port port;
    Collectives c(port, port, 1, 2);
    wire::CollectiveDown down;
    down.signature = wire::encode(wildcard());
    down.status = PMIX_ERR_LOST_CONNECTION;
    c.on_down(0, down, share(wire::encode(down)));
    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    assert_int_equal(port.completed.at(1), PMIX_ERR_LOST_CONNECTION);
    // The next one of the same signature is a fresh one.
    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(2));
    assert_false(port.completed.contains(2));
    assert_int_equal(c.active(), 1);
}

static void a_timeout_is_not_for_who_has_not_entered(void **) {
    Port port;
    Collectives c(port, port, 1, 2);
    wire::CollectiveDown down;
    down.signature = wire::encode(wildcard());
    down.status = PMIX_ERR_TIMEOUT;
    c.on_down(0, down, share(wire::encode(down)));
    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    auto probe = wire::CollectiveProbe{wire::encode(wildcard()), 1};
    c.on_probe(start, 0, probe); // the others' next one is what we are in
    assert_false(port.completed.contains(1));
    assert_int_equal(c.active(), 1);
    assert_int_equal(c.dropped_messages(), 0);
}

static void a_timeout_steps_over_no_earlier_failure(void **) {
    Port port;
    Collectives c(port, port, 1, 2);
    wire::CollectiveDown down;
    down.signature = wire::encode(wildcard());
    down.status = PMIX_ERR_PROC_TERM_WO_SYNC;
    c.on_down(0, down, share(wire::encode(down)));
    down.sequence = 1; // the others have gone on, and waited in vain
    down.status = PMIX_ERR_TIMEOUT;
    c.on_down(0, down, share(wire::encode(down)));
    for (std::uint64_t id = 0; id < 3; ++id)
        c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(id));
    assert_int_equal(port.completed.at(0), PMIX_ERR_PROC_TERM_WO_SYNC); // as on all other hosts
    assert_int_equal(port.completed.at(1), PMIX_ERR_TIMEOUT);
    assert_false(port.completed.contains(2));
    c.on_probe(start, 0, {wire::encode(wildcard()), 2}); // that is the others' next one
    assert_int_equal(c.active(), 1);
    assert_int_equal(c.dropped_messages(), 0);
}

// Of two that others are in at once, the second may have the shorter time.
static void a_timeout_steps_over_no_earlier_one(void **) {
    Port port;
    Collectives c(port, port, 1, 2);
    wire::CollectiveDown down;
    down.signature = wire::encode(wildcard());
    down.sequence = 1;
    down.status = PMIX_ERR_TIMEOUT;
    c.on_down(0, down, share(wire::encode(down)));
    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(0));
    assert_false(port.completed.contains(0));
    assert_int_equal(port.sent_as<wire::CollectiveUp>(0).sequence, 0);
    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    assert_int_equal(port.completed.at(1), PMIX_ERR_TIMEOUT);
    // Where the earlier one ends in the same way, libpmix has given up both.
    down.sequence = 3;
    c.on_down(0, down, share(wire::encode(down)));
    down.sequence = 2;
    c.on_down(0, down, share(wire::encode(down)));
    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(2));
    assert_false(port.completed.contains(2));
    assert_int_equal(port.sent_as<wire::CollectiveUp>(1).sequence, 4);
}

// Its own processes are refused, and others that wait for it hear so, whatever number theirs has.
static void a_full_table_is_told(void **) {
    Port port;
    port.hosts = {0};
    Collectives c(port, port, 0, 2);
    Signature many = wildcard();
    std::uint64_t id = 0;
    for (; id < Collectives::max_signatures; ++id) {
        many.group = std::to_string(id);
        c.enter(start, many, "", PMIX_SUCCESS, TimePoint::max(), port.reply(id));
    }
    assert_int_equal(port.completed.at(id - 1), PMIX_SUCCESS);
    port.hosts = {0, 1, 2};
    many.group = "one more";
    c.enter(start, many, "", PMIX_SUCCESS, TimePoint::max(), port.reply(id));
    assert_int_equal(port.completed.at(id), PMIX_ERR_OUT_OF_RESOURCE);
    wire::CollectiveUp up;
    up.signature = wire::encode(many);
    up.sequence = 7;
    port.sent.clear();
    c.on_up(start, 2, up);
    assert_int_equal(port.sent.size(), 1);
    assert_int_equal(port.sent[0].to, 2);
    auto down = port.sent_as<wire::CollectiveDown>(0);
    assert_true(down.sequence == 7 && down.status == PMIX_ERR_OUT_OF_RESOURCE && down.signature == up.signature);
    c.on_probe(start, 1, {up.signature, 7}); // who is no parent asks in vain
    up.status = PMIX_ERR_TIMEOUT;
    c.on_up(start, 2, up); // who has failed does not wait
    assert_int_equal(port.sent.size(), 1);
    port.hosts = {0, 1};
    up.status = PMIX_SUCCESS;
    c.on_up(start, 1, up);
    assert_int_equal(port.sent.size(), 2);
    auto back = port.sent_as<wire::CollectiveUp>(1);
    assert_true(back.sequence == 7 && back.status == PMIX_ERR_OUT_OF_RESOURCE);
    // What was there before goes on.
    port.hosts = {0};
    many.group = "0";
    c.enter(start, many, "", PMIX_SUCCESS, TimePoint::max(), port.reply(id + 1));
    assert_int_equal(port.completed.at(id + 1), PMIX_SUCCESS);
}

// Long keys fill the table before it has many of them.
static void a_table_is_full_of_bytes(void **) {
    constexpr std::size_t most = 64u << 10;
    Port port;
    port.hosts = {0};
    Collectives c(port, port, 0, 2, {}, most);
    Signature many = wildcard();
    std::uint64_t id = 0;
    for (; c.bytes() < most; ++id) {
        many.group = std::to_string(id) + Bytes(4000, 'x');
        c.enter(start, many, "", PMIX_SUCCESS, TimePoint::max(), port.reply(id));
        assert_int_equal(port.completed.at(id), PMIX_SUCCESS);
    }
    assert_true(id >= 4 && id <= most / 8000);
    many.group = "one more";
    c.enter(start, many, "", PMIX_SUCCESS, TimePoint::max(), port.reply(id));
    assert_int_equal(port.completed.at(id), PMIX_ERR_OUT_OF_RESOURCE);
    port.hosts = {0, 1, 2};
    wire::CollectiveUp up;
    up.signature = wire::encode(many);
    c.on_up(start, 2, up);
    assert_int_equal(port.last_to<wire::CollectiveDown>(2).status, PMIX_ERR_OUT_OF_RESOURCE);
    many.group = "0" + Bytes(4000, 'x'); // was there before
    c.enter(start, many, "", PMIX_SUCCESS, TimePoint::max(), port.reply(id + 1));
    assert_int_equal(port.completed.at(id + 1), PMIX_SUCCESS);
}

// What is kept of a signature for the life of the step does not grow with its hosts, but for a bit of each.
static void a_record_of_many_hosts_is_small(void **) {
    auto bytes_with = [](HostIndex hosts, HostIndex distance) {
        Port port;
        port.hosts.clear();
        for (HostIndex h = 0; h < hosts; ++h)
            port.hosts.push_back(h * distance);
        Collectives c(port, port, 0, 32);
        auto up = up_of(port.hosts.back(), wildcard()); // behind that one
        c.on_up(start, distance, up);
        assert_int_equal(c.dropped_messages(), 0);
        up.contributions = {{port.hosts.back() + 1, "a host that does not take part"}};
        c.on_up(start, 2 * distance, up);
        assert_int_equal(c.dropped_messages(), 1);
        return c.bytes();
    };
    assert_int_equal(bytes_with(2'000, 1), bytes_with(10'000, 1));
    assert_int_equal(bytes_with(10'000, 1), bytes_with(10'000, 3));
    assert_true(bytes_with(10'000, 1) < 2'000);
}

static void lies_are_dropped(void **) {
    Port port;
    Collectives c(port, port, 1, 2);
    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    wire::CollectiveDown down;
    down.signature = wire::encode(wildcard());
    c.on_down(2, down, share(wire::encode(down))); // not my parent
    down.sequence = 5;
    c.on_down(0, down, share(wire::encode(down))); // complete without me
    down.sequence = 1u << 30;
    c.on_down(0, down, share(wire::encode(down))); // absurd
    down.signature = "garbage";
    c.on_down(0, down, share(wire::encode(down)));
    wire::CollectiveUp up;
    up.signature = wire::encode(wildcard());
    c.on_up(start, 2, up); // not my child
    assert_int_equal(c.dropped_messages(), 5);
    assert_true(port.completed.empty());
}

static void a_dead_participant_answers_a_probe(void **) {
    Port port;
    port.member_gone = true;
    Collectives c(port, port, 1, 2);
    c.on_probe(start, 0, {wire::encode(wildcard()), 0});
    assert_int_equal(port.sent.size(), 1);
    assert_int_equal(port.sent_as<wire::CollectiveUp>(0).status, PMIX_ERR_PROC_TERM_WO_SYNC);
}

static void the_deadline_is_for_all(void **) {
    Port port;
    Collectives c(port, port, 0, 2);
    c.enter(start, wildcard(), "", PMIX_SUCCESS, start + std::chrono::seconds(2), port.reply(1));
    assert_true(c.next_time() == start + Collectives::probe_after);
    c.on_time(start + Collectives::probe_after);
    assert_int_equal(port.sent.size(), 2); // both children are asked
    assert_true(c.next_time() == start + std::chrono::seconds(2));
    c.on_time(start + std::chrono::seconds(2));
    assert_int_equal(port.completed.at(1), PMIX_ERR_TIMEOUT);
    assert_int_equal(port.sent.size(), 4); // both are told
    assert_true(c.next_time() == TimePoint::max());
}

static Signature group(std::uint8_t tolerant) {
    Signature signature = wildcard();
    signature.kind = CollectiveKind::group_construct;
    signature.group = "g";
    signature.tolerant = tolerant;
    return signature;
}

static void groups_of_other_names_are_others(void **) {
    Signature a = group(0), b = group(0);
    b.group = "h";
    assert_true(wire::encode(a) != wire::encode(b));
    assert_true(wire::encode(a) != wire::encode(wildcard()));
    Port port;
    Collectives c(port, port, 1, 2);
    wire::CollectiveDown down; // of a, which fails
    down.signature = wire::encode(a);
    down.status = PMIX_ERR_TIMEOUT;
    c.on_down(0, down, share(wire::encode(down)));
    c.enter(start, b, "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    assert_false(port.completed.contains(1));
    c.enter(start, a, "", PMIX_SUCCESS, TimePoint::max(), port.reply(2)); // too late, and told so
    assert_int_equal(port.completed.at(2), PMIX_ERR_TIMEOUT);
}

// A barrier is as small on many hosts as on few.
static void who_has_no_data_adds_no_bytes(void **) {
    auto bytes_down = [](HostIndex hosts, const Bytes &data) {
        Port port;
        port.hosts.clear();
        for (HostIndex h = 0; h < hosts; ++h)
            port.hosts.push_back(h);
        Collectives c(port, port, 0, hosts);
        c.enter(start, wildcard(), data, PMIX_SUCCESS, TimePoint::max(), port.reply(1));
        for (HostIndex h = 1; h < hosts; ++h) {
            auto up = up_of(h, wildcard());
            if (data.empty())
                up.contributions.clear();
            c.on_up(start, h, up);
        }
        assert_int_equal(port.completed.at(1), PMIX_SUCCESS);
        assert_int_equal(port.contributors.size(), data.empty() ? 0 : hosts);
        return port.sent.back().bytes.size();
    };
    assert_int_equal(bytes_down(3, ""), bytes_down(300, ""));
    assert_true(bytes_down(300, "part") > 297 * 4);
    Port port;
    Collectives leaf(port, port, 2, 2);
    leaf.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    assert_true(port.sent_as<wire::CollectiveUp>(0).contributions.empty());
}

// To be sent, or to be handed to the processes here.
static void what_all_have_brought_is_not_copied(void **) {
    constexpr HostIndex hosts = 1000;
    Port port;
    port.hosts.clear();
    wire::CollectiveUp ups[2]; // of the children, with what is behind them
    for (HostIndex h = 0; h < hosts; ++h) {
        port.hosts.push_back(h);
        if (h > 0)
            ups[h % 2].contributions.push_back({h, Bytes(100, 'x')});
    }
    Collectives c(port, port, 0, 2);
    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    for (auto &up : ups)
        up.signature = wire::encode(wildcard());
    c.on_up(start, 1, std::move(ups[1]));
    std::size_t before = allocations;
    c.on_up(start, 2, std::move(ups[0]));
    assert_true(allocations - before < 100);
    assert_int_equal(port.completed.at(1), PMIX_SUCCESS);
    assert_int_equal(port.contributors.size(), hosts - 1);
    assert_int_equal(port.last_to<wire::CollectiveDown>(2).contributions.size(), hosts - 1);
}

static wire::CollectiveUp failed_up(std::uint64_t sequence, std::int32_t status) {
    wire::CollectiveUp up;
    up.signature = wire::encode(wildcard());
    up.sequence = sequence;
    up.status = status;
    return up;
}

static void two_hosts_tell_each_other(void **) {
    Port port;
    port.hosts = {3, 5};
    Collectives c(port, port, 5, 32);
    c.enter(start, wildcard(), "own", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    auto up = port.sent_as<wire::CollectiveUp>(0);
    assert_int_equal(port.sent.at(0).to, 3);
    assert_int_equal(up.contributions.size(), 1);
    c.on_up(start, 3, up_of(3, wildcard()));
    assert_int_equal(port.completed.at(1), PMIX_SUCCESS);
    assert_true(port.contributors == (std::vector<HostIndex>{3, 5})); // as on the other one
    auto early = up_of(3, wildcard());
    early.sequence = 1;
    c.on_up(start, 3, early);
    c.enter(start, wildcard(), "own", PMIX_SUCCESS, TimePoint::max(), port.reply(2));
    assert_int_equal(port.completed.at(2), PMIX_SUCCESS);
    assert_int_equal(port.sent.size(), 2); // one for each fence
    c.on_up(start, 3, early);              // twice
    auto forged = up_of(5, wildcard());    // in this host's name
    forged.sequence = 2;
    c.on_up(start, 3, forged);
    c.enter(start, wildcard(), "own", PMIX_SUCCESS, TimePoint::max(), port.reply(3));
    assert_true(port.contributors == std::vector<HostIndex>{5});
    c.on_up(start, 5, early); // from itself
    assert_int_equal(c.dropped_messages(), 3);
}

static void of_two_nobody_fails_alone(void **) {
    Port port;
    port.hosts = {0, 1};
    Collectives c(port, port, 0, 32);
    c.enter(start, wildcard(), "", PMIX_SUCCESS, start + std::chrono::seconds(2), port.reply(1));
    port.member_gone = true;
    c.on_local_process_gone(start);
    assert_int_equal(port.sent_as<wire::CollectiveUp>(1).status, PMIX_ERR_PROC_TERM_WO_SYNC);
    assert_true(port.completed.empty());
    c.on_up(start, 1, up_of(1, wildcard())); // was complete before it heard
    assert_int_equal(port.completed.at(1), PMIX_SUCCESS);

    port.member_gone = false;
    c.enter(start, wildcard(), "", PMIX_SUCCESS, start + std::chrono::seconds(2), port.reply(2));
    c.on_time(start + std::chrono::seconds(2));
    assert_int_equal(port.sent_as<wire::CollectiveUp>(3).status, PMIX_ERR_TIMEOUT);
    assert_false(port.completed.contains(2));
    c.on_up(start, 1, failed_up(1, PMIX_ERR_PROC_TERM_WO_SYNC)); // had not entered, and cannot any more
    assert_int_equal(port.completed.at(2), PMIX_ERR_PROC_TERM_WO_SYNC);
    assert_int_equal(port.sent.size(), 4); // it need not be answered

    c.enter(start, wildcard(), "", PMIX_SUCCESS, start + std::chrono::seconds(2), port.reply(3));
    c.on_time(start + std::chrono::seconds(2));
    c.on_time(start + std::chrono::seconds(2) + Collectives::verdict_patience); // not a word
    assert_int_equal(port.completed.at(3), PMIX_ERR_TIMEOUT);
    assert_int_equal(c.active(), 0);

    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(4));
    c.on_host_gone(start, 1);
    assert_int_equal(port.completed.at(4), PMIX_ERR_LOST_CONNECTION);
}

static void of_two_who_has_not_entered_answers(void **) {
    Port port;
    port.hosts = {0, 1};
    Collectives c(port, port, 1, 32);
    c.on_up(start, 0, up_of(0, wildcard()));
    c.on_up(start, 0, failed_up(0, PMIX_ERR_PROC_TERM_WO_SYNC));
    assert_int_equal(port.sent_as<wire::CollectiveUp>(0).status, PMIX_ERR_PROC_TERM_WO_SYNC);
    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    assert_int_equal(port.completed.at(1), PMIX_ERR_PROC_TERM_WO_SYNC);
    // Who could not enter in the first place waits for no answer.
    c.on_up(start, 0, failed_up(1, PMIX_ERR_PROC_TERM_WO_SYNC));
    assert_int_equal(port.sent.size(), 1);
    // The dead answer a probe.
    port.member_gone = true;
    c.on_probe(start, 0, {wire::encode(wildcard()), 2});
    assert_int_equal(port.sent_as<wire::CollectiveUp>(1).status, PMIX_ERR_PROC_TERM_WO_SYNC);
}

static void a_tolerant_one_does_without_a_lost_leaf(void **) {
    Port port;
    Collectives c(port, port, 0, 2);
    c.enter(start, group(1), "own", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    c.on_up(start, 1, up_of(1, group(1)));
    assert_true(port.completed.empty());
    c.on_host_gone(start, 2);
    assert_int_equal(port.completed.at(1), PMIX_SUCCESS);
    assert_true(port.contributors == (std::vector<HostIndex>{0, 1}));
    port.gone = {2}; // known before
    c.enter(start, group(1), "", PMIX_SUCCESS, TimePoint::max(), port.reply(2));
    auto up = up_of(1, group(1));
    up.sequence = 1;
    c.on_up(start, 1, up);
    assert_int_equal(port.completed.at(2), PMIX_SUCCESS);
    c.enter(start, group(0), "", PMIX_SUCCESS, TimePoint::max(), port.reply(3));
    assert_int_equal(port.completed.at(3), PMIX_ERR_LOST_CONNECTION);
}

static void a_tolerant_one_fails_with_a_host_in_between(void **) {
    Port port;
    port.hosts = {0, 1, 2, 3}; // 3 is behind 1
    Collectives c(port, port, 0, 2);
    c.enter(start, group(1), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    c.on_host_gone(start, 1);
    assert_int_equal(port.completed.at(1), PMIX_ERR_LOST_CONNECTION);
    Collectives below(port, port, 3, 2);
    below.enter(start, group(1), "", PMIX_SUCCESS, TimePoint::max(), port.reply(2));
    below.on_host_gone(start, 1); // its way to the root
    assert_int_equal(port.completed.at(2), PMIX_ERR_LOST_CONNECTION);
}

static void a_host_enters_for_its_dead(void **) {
    Port port;
    port.member_gone = true;
    Collectives c(port, port, 1, 2);
    c.on_probe(start, 0, {wire::encode(group(1)), 0}); // some of its members are left: they will enter
    assert_true(port.sent.empty());
    port.part_of_dead = "all gone";
    c.on_local_process_gone(start);
    assert_int_equal(port.sent.size(), 1);
    auto up = port.sent_as<wire::CollectiveUp>(0);
    assert_int_equal(up.status, PMIX_SUCCESS);
    assert_string_equal(up.contributions.at(0).data.c_str(), "all gone");
    c.on_probe(start, 0, {wire::encode(group(1)), 0}); // once is enough
    c.on_local_process_gone(start);
    assert_int_equal(port.sent.size(), 1);
}

// Who bears the end of others is not in each signature, and hosts may differ: it fails for all then.
static void hosts_that_differ_in_what_they_bear_wait_for_nobody(void **) {
    Port port;
    port.tolerant = true;
    Collectives bears(port, port, 0, 2);
    bears.enter(start, group(0), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    bears.on_host_gone(start, 2);
    assert_true(port.completed.empty());
    port.tolerant = false;
    port.member_gone = true;
    port.part_of_dead = "all gone";
    Collectives does_not(port, port, 1, 2);
    does_not.on_probe(start, 0, {wire::encode(group(0)), 0});
    auto up = port.last_to<wire::CollectiveUp>(0);
    assert_int_equal(up.status, PMIX_ERR_PROC_TERM_WO_SYNC);
    bears.on_up(start, 1, up);
    assert_int_equal(port.completed.at(1), PMIX_ERR_PROC_TERM_WO_SYNC);
    // Who bears it enters for its dead.
    port.tolerant = true;
    does_not.on_probe(start, 0, {wire::encode(group(0)), 1});
    assert_int_equal(port.last_to<wire::CollectiveUp>(0).status, PMIX_SUCCESS);
}

// Who goes on without hosts that have gone can still be cut off by them, whoever entered for it.
static void a_host_that_enters_for_its_dead_may_be_cut_off(void **) {
    Port port;
    port.hosts = {0, 1, 2, 3, 4, 5, 6, 7, 8}; // 3 and 4 are behind 1, 7 and 8 behind 3
    port.member_gone = true;
    port.part_of_dead = "all gone";
    port.gone = {0}; // its way to the root
    Collectives c(port, port, 1, 2);
    c.on_up(start, 3, up_of(3, group(1)));
    assert_int_equal(c.active(), 0);
    for (HostIndex child : {3, 4})
        assert_int_equal(port.last_to<wire::CollectiveDown>(child).status, PMIX_ERR_LOST_CONNECTION);

    port.gone = {3}; // others behind it
    auto up = up_of(4, group(1));
    up.sequence = 1;
    c.on_up(start, 4, up);
    assert_int_equal(c.active(), 0);
    assert_int_equal(port.last_to<wire::CollectiveUp>(0).status, PMIX_ERR_LOST_CONNECTION);
    assert_int_equal(port.last_to<wire::CollectiveDown>(4).status, PMIX_ERR_LOST_CONNECTION);
}

// Others do not wait until its own processes enter: they may never do.
static void a_host_that_is_cut_off_says_so(void **) {
    Port port;
    port.hosts = {0, 1, 2, 3, 4, 5, 6, 7, 8}; // 3 and 4 are behind 1, 7 and 8 behind 3
    port.gone = {0};
    Collectives c(port, port, 1, 2);
    c.on_up(start, 3, up_of(3, wildcard()));
    assert_int_equal(port.last_to<wire::CollectiveDown>(3).status, PMIX_ERR_LOST_CONNECTION);
    c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
    assert_int_equal(port.completed.at(1), PMIX_ERR_LOST_CONNECTION);

    port.gone = {4};
    c.on_probe(start, 0, {wire::encode(wildcard()), 1}); // nobody has sent anything yet
    assert_int_equal(port.last_to<wire::CollectiveUp>(0).status, PMIX_ERR_LOST_CONNECTION);
    c.on_probe(start, 0, {wire::encode(group(1)), 0}); // without a leaf it goes on
    assert_int_equal(c.active(), 1);
}

static void who_waits_at_the_end_is_answered(void **) {
    Port port;
    {
        Collectives c(port, port, 0, 2);
        c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(1));
        c.enter(start, group(0), "", PMIX_SUCCESS, TimePoint::max(), port.reply(2));
        c.drop_all();
        assert_int_equal(port.completed.at(1), PMIX_ERROR);
        assert_int_equal(port.completed.at(2), PMIX_ERROR);
        assert_int_equal(c.active(), 0);
        assert_true(c.next_time() == TimePoint::max());
        // What still comes for it is too late, and its answer makes no trouble.
        c.on_up(start, 1, up_of(1, wildcard()));
        assert_int_equal(c.dropped_messages(), 1);
        c.enter(start, wildcard(), "", PMIX_SUCCESS, TimePoint::max(), port.reply(3));
        assert_false(port.completed.contains(3));
    }
    assert_int_equal(port.completed.at(3), PMIX_ERROR);
    assert_true(port.sent.empty()); // nobody else is told
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(order_and_doubles_do_not_matter),
        cmocka_unit_test(all_ranks_are_the_wildcard),
        cmocka_unit_test(a_list_of_half_of_the_ranks_is_small),
        cmocka_unit_test(signatures_that_nobody_makes_are_refused),
        cmocka_unit_test(unknown_participants_are_refused),
        cmocka_unit_test(one_host_completes_alone),
        cmocka_unit_test(a_failure_waits_for_who_enters_late),
        cmocka_unit_test(a_timeout_is_not_for_who_has_not_entered),
        cmocka_unit_test(a_timeout_steps_over_no_earlier_failure),
        cmocka_unit_test(a_timeout_steps_over_no_earlier_one),
        cmocka_unit_test(a_full_table_is_told),
        cmocka_unit_test(a_table_is_full_of_bytes),
        cmocka_unit_test(a_record_of_many_hosts_is_small),
        cmocka_unit_test(lies_are_dropped),
        cmocka_unit_test(a_dead_participant_answers_a_probe),
        cmocka_unit_test(the_deadline_is_for_all),
        cmocka_unit_test(groups_of_other_names_are_others),
        cmocka_unit_test(who_has_no_data_adds_no_bytes),
        cmocka_unit_test(what_all_have_brought_is_not_copied),
        cmocka_unit_test(two_hosts_tell_each_other),
        cmocka_unit_test(of_two_nobody_fails_alone),
        cmocka_unit_test(of_two_who_has_not_entered_answers),
        cmocka_unit_test(a_tolerant_one_does_without_a_lost_leaf),
        cmocka_unit_test(a_tolerant_one_fails_with_a_host_in_between),
        cmocka_unit_test(a_host_enters_for_its_dead),
        cmocka_unit_test(hosts_that_differ_in_what_they_bear_wait_for_nobody),
        cmocka_unit_test(a_host_that_enters_for_its_dead_may_be_cut_off),
        cmocka_unit_test(a_host_that_is_cut_off_says_so),
        cmocka_unit_test(who_waits_at_the_end_is_answered),
    };
    return cmocka_run_group_tests_name("collective", tests, nullptr, nullptr);
}
