// Signatures, and the collective's rules that need no network: canonical participants, one host
// alone, failures remembered, messages that do not fit.
#include "server-glue/collective.h"

#include <pmix_common.h>

#include "test/unit/check.h"

using namespace pmixhost;

static Rank size_of(const Bytes &nspace) { return nspace == "job" ? 4 : 0; }

static void order_and_doubles_do_not_matter(void **) {
    auto a = canonical(CollectiveKind::fence, {{"job", 3, false}, {"job", 1, false}, {"job", 3, false}},
                       size_of);
    auto b = canonical(CollectiveKind::fence, {{"job", 1, false}, {"job", 3, false}}, size_of);
    assert_true(a.ok() && b.ok());
    assert_true(wire::encode(*a) == wire::encode(*b));
    assert_true(a->contains("job", 1) && !a->contains("job", 2) && !a->contains("other", 1));
}

static void all_ranks_are_the_wildcard(void **) {
    auto list = canonical(CollectiveKind::fence,
                          {{"job", 0, false}, {"job", 2, false}, {"job", 1, false}, {"job", 3, false}},
                          size_of);
    auto wildcard = canonical(CollectiveKind::fence, {{"job", 0, true}}, size_of);
    assert_true(wire::encode(*list) == wire::encode(*wildcard));
}

static void unknown_participants_are_refused(void **) {
    assert_false(canonical(CollectiveKind::fence, {{"nojob", 0, false}}, size_of).ok());
    assert_false(canonical(CollectiveKind::fence, {{"job", 4, false}}, size_of).ok());
    assert_false(canonical(CollectiveKind::fence, {}, size_of).ok());
}

namespace {
// One host's surroundings: records what goes out.
struct Port final : CollectivePort {
    std::vector<HostIndex> hosts{0, 1, 2};
    std::vector<std::tuple<HostIndex, std::uint8_t, Bytes>> sent;
    std::map<std::uint64_t, std::int32_t> completed;
    bool member_gone = false;
    bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override {
        sent.emplace_back(to, type, *payload);
        return true;
    }
    void complete(std::uint64_t id, std::int32_t status, Contributions) override {
        assert_false(completed.contains(id)); // exactly once
        completed[id] = status;
    }
    Result<std::vector<HostIndex>> hosts_of(const Signature &) override { return hosts; }
    bool local_member_gone(const Signature &) override { return member_gone; }
    bool host_gone(HostIndex) override { return false; }
};
} // namespace

static Signature wildcard() { return *canonical(CollectiveKind::fence, {{"job", 0, true}}, size_of); }
static const TimePoint start{};

static void one_host_completes_alone(void **) {
    Port port;
    port.hosts = {0};
    Collectives c(port, 0, 2);
    c.enter(start, 1, wildcard(), "x", PMIX_SUCCESS, TimePoint::max());
    assert_int_equal(port.completed.at(1), PMIX_SUCCESS);
    assert_int_equal(c.active(), 0);
}

static void a_failure_waits_for_who_enters_late(void **) {
    Port port;
    Collectives c(port, 1, 2);
    wire::CollectiveDown down;
    down.signature = wire::encode(wildcard());
    down.status = PMIX_ERR_LOST_CONNECTION;
    c.on_down(0, down, share(wire::encode(down)));
    c.enter(start, 1, wildcard(), "", PMIX_SUCCESS, TimePoint::max());
    assert_int_equal(port.completed.at(1), PMIX_ERR_LOST_CONNECTION);
    // The next one of the same signature is a fresh one.
    c.enter(start, 2, wildcard(), "", PMIX_SUCCESS, TimePoint::max());
    assert_false(port.completed.contains(2));
    assert_int_equal(c.active(), 1);
}

static void a_timeout_is_not_for_who_has_not_entered(void **) {
    Port port;
    Collectives c(port, 1, 2);
    wire::CollectiveDown down;
    down.signature = wire::encode(wildcard());
    down.status = PMIX_ERR_TIMEOUT;
    c.on_down(0, down, share(wire::encode(down)));
    c.enter(start, 1, wildcard(), "", PMIX_SUCCESS, TimePoint::max());
    auto probe = wire::CollectiveProbe{wire::encode(wildcard()), 1};
    c.on_probe(start, 0, probe); // the others' next one is what we are in
    assert_false(port.completed.contains(1));
    assert_int_equal(c.active(), 1);
    assert_int_equal(c.dropped_messages(), 0);
}

static void lies_are_dropped(void **) {
    Port port;
    Collectives c(port, 1, 2);
    c.enter(start, 1, wildcard(), "", PMIX_SUCCESS, TimePoint::max());
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
    Collectives c(port, 1, 2);
    c.on_probe(start, 0, {wire::encode(wildcard()), 0});
    assert_int_equal(port.sent.size(), 1);
    auto up = wire::decode<wire::CollectiveUp>(std::get<2>(port.sent[0]));
    assert_true(up.ok());
    assert_int_equal(up->status, PMIX_ERR_PROC_TERM_WO_SYNC);
}

static void the_deadline_is_for_all(void **) {
    Port port;
    Collectives c(port, 0, 2);
    c.enter(start, 1, wildcard(), "", PMIX_SUCCESS, start + std::chrono::seconds(2));
    assert_true(c.next_time() == start + Collectives::probe_after);
    c.on_time(start + Collectives::probe_after);
    assert_int_equal(port.sent.size(), 2); // both children are asked
    assert_true(c.next_time() == start + std::chrono::seconds(2));
    c.on_time(start + std::chrono::seconds(2));
    assert_int_equal(port.completed.at(1), PMIX_ERR_TIMEOUT);
    assert_int_equal(port.sent.size(), 4); // both are told
    assert_true(c.next_time() == TimePoint::max());
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(order_and_doubles_do_not_matter),
        cmocka_unit_test(all_ranks_are_the_wildcard),
        cmocka_unit_test(unknown_participants_are_refused),
        cmocka_unit_test(one_host_completes_alone),
        cmocka_unit_test(a_failure_waits_for_who_enters_late),
        cmocka_unit_test(a_timeout_is_not_for_who_has_not_entered),
        cmocka_unit_test(lies_are_dropped),
        cmocka_unit_test(a_dead_participant_answers_a_probe),
        cmocka_unit_test(the_deadline_is_for_all),
    };
    return cmocka_run_group_tests_name("collective", tests, nullptr, nullptr);
}
