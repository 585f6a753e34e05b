// Collectives over several namespaces: who meets whom, in whatever words, and who hears of a failure.
#include "server-glue/collective/session_collective.h"

#include <pmix_common.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

struct Session {
    std::map<std::pair<std::uint64_t, std::uint64_t>, wire::SessionCollectiveDone> got; // step, sequence
    SessionCollectives collectives{[this](const SessionCollectives::Member &member, wire::SessionCollectiveDone done) {
        auto key = std::pair(member.step, done.sequence);
        bool first = got.emplace(key, std::move(done)).second;
        assert_true(first);
    }};
    // Step 1 is namespace a with 2 ranks, step 2 is b with 3, step 3 is c with 1.
    static wire::NamespaceInfo info(std::uint64_t step) {
        wire::NamespaceInfo out;
        out.nspace = std::string(1, static_cast<char>('a' + step - 1));
        out.hosts = {{"n1", {{0, step == 2 ? 3u : step == 1 ? 2u : 1u, 1}}}};
        return out;
    }
    bool join(std::uint64_t step, std::uint64_t sequence, const Signature &signature, std::int32_t status = 0) {
        wire::SessionCollectiveJoin message;
        message.signature = wire::encode(signature);
        message.sequence = sequence;
        message.status = status;
        message.part.info = info(step);
        message.part.data = message.part.info.nspace;
        return collectives.join({step, 0}, message).ok();
    }
    std::int32_t status(std::uint64_t step, std::uint64_t sequence) { // 1: none yet
        auto found = got.find({step, sequence});
        return found == got.end() ? 1 : found->second.status;
    }
};

Signature all_of(std::vector<Bytes> nspaces) {
    Signature signature;
    signature.kind = CollectiveKind::connect;
    for (auto &nspace : nspaces)
        signature.members.push_back({nspace, 1, {}});
    return signature;
}

void different_words(void **) {
    Session s;
    Signature words = all_of({"a", "b"});
    words.members[0] = {"a", 0, {0, 1}};
    words.members[1] = {"b", 0, {0, 1, 2}};
    assert_true(s.join(1, 0, words));
    assert_int_equal(s.status(1, 0), 1);
    assert_true(s.join(2, 7, all_of({"a", "b"})));
    assert_int_equal(s.status(1, 0), PMIX_SUCCESS);
    assert_int_equal(s.status(2, 7), PMIX_SUCCESS);
    assert_int_equal((s.got[{1, 0}].parts.size()), 1);
    assert_string_equal((s.got[{1, 0}].parts.front().data.c_str()), "b");
    assert_int_equal(s.collectives.waiting(), 0);
}

void the_nth_meets_the_nth(void **) {
    Session s;
    Signature abc = all_of({"a", "b", "c"}), ab = all_of({"a", "b"});
    s.join(1, 0, abc);
    s.join(1, 1, abc);
    s.join(2, 0, ab);
    s.join(3, 0, abc);
    s.join(2, 1, abc);
    assert_int_equal(s.status(1, 0), PMIX_SUCCESS);
    assert_int_equal(s.status(1, 1), 1);
    assert_int_equal(s.status(2, 0), 1);
    s.join(3, 1, abc);
    s.join(2, 2, abc);
    assert_int_equal(s.status(1, 1), PMIX_SUCCESS);
    Signature other = ab;
    other.kind = CollectiveKind::disconnect;
    s.join(1, 2, other);
    assert_int_equal(s.status(2, 0), 1); // of another kind
    s.join(1, 3, ab);
    assert_int_equal(s.status(2, 0), PMIX_SUCCESS);
}

void failures_reach_all(void **) {
    Session s;
    Signature abc = all_of({"a", "b", "c"});
    s.join(1, 0, abc);
    s.join(2, 0, abc);
    s.join(3, 0, abc, PMIX_ERR_TIMEOUT);
    assert_int_equal(s.status(1, 0), PMIX_ERR_TIMEOUT);
    assert_int_equal(s.status(2, 0), PMIX_ERR_TIMEOUT);
    assert_int_equal(s.status(3, 0), 1); // it knows
    // Whoever comes later to a failed one hears of it too.
    s.join(1, 1, abc, PMIX_ERR_PROC_TERM_WO_SYNC);
    s.join(2, 1, abc);
    assert_int_equal(s.status(2, 1), PMIX_ERR_PROC_TERM_WO_SYNC);
    s.join(3, 1, abc);
    assert_int_equal(s.status(3, 1), PMIX_ERR_PROC_TERM_WO_SYNC);
    // One that had joined gives up.
    s.join(1, 2, abc);
    s.join(1, 2, abc, PMIX_ERR_PROC_TERM_WO_SYNC);
    s.join(2, 2, abc);
    assert_int_equal(s.status(2, 2), PMIX_ERR_PROC_TERM_WO_SYNC);
    s.join(3, 2, abc);
    // The next one is as if nothing had been.
    for (std::uint64_t step : {1, 2, 3})
        s.join(step, 3, abc);
    for (std::uint64_t step : {1, 2, 3})
        assert_int_equal(s.status(step, 3), PMIX_SUCCESS);
    assert_int_equal(s.collectives.waiting(), 0);
}

void the_dead_are_not_waited_for(void **) {
    Session s;
    Signature ab = all_of({"a", "b"}), bc = all_of({"b", "c"});
    s.join(1, 0, ab);
    s.collectives.on_processes_ended("b", {{1, 1}});
    assert_int_equal(s.status(1, 0), PMIX_ERR_PROC_TERM_WO_SYNC);
    s.join(3, 0, bc);
    assert_int_equal(s.status(3, 0), PMIX_ERR_PROC_TERM_WO_SYNC);
    s.join(3, 4, all_of({"c", "e"}));
    s.collectives.on_step_gone(0, "e");
    assert_int_equal(s.status(3, 4), PMIX_ERR_LOST_CONNECTION);
    s.collectives.on_step_gone(2, "b");
    s.join(1, 1, all_of({"a", "c"}));
    s.collectives.on_member_gone({1, 0});
    s.join(3, 2, all_of({"a", "c"}));
    assert_int_equal(s.status(3, 2), PMIX_ERR_LOST_CONNECTION);
    assert_int_equal(s.collectives.waiting(), 0);
}

void the_end_of_a_process_is_remembered(void **) {
    Session s;
    Signature ab = all_of({"a", "b"}), bc = all_of({"b", "c"});
    s.join(2, 0, bc);
    s.join(3, 0, bc);
    assert_int_equal(s.status(3, 0), PMIX_SUCCESS);
    s.join(2, 1, ab);
    s.collectives.on_processes_ended("b", {{1, 1}});
    s.join(3, 1, bc); // b cannot come again
    assert_int_equal(s.status(3, 1), PMIX_ERR_PROC_TERM_WO_SYNC);
    s.join(1, 0, ab); // b was there already
    assert_int_equal(s.status(1, 0), PMIX_SUCCESS);
    assert_int_equal(s.status(2, 1), PMIX_SUCCESS);
    Signature one = bc;
    one.members[0] = {"b", 0, {0}};
    s.join(3, 2, one); // without the one that ended
    assert_int_equal(s.status(3, 2), 1);
    // Of one that has not been here, too.
    s.collectives.on_processes_ended("d", {{1, 1}});
    s.join(3, 3, all_of({"c", "d"}));
    assert_int_equal(s.status(3, 3), PMIX_ERR_PROC_TERM_WO_SYNC);
}

// Before its namespace has joined anything, and before anyone waits for it.
void an_early_end_is_remembered(void **) {
    Session s;
    Signature ab = all_of({"a", "b"}), one = ab;
    s.collectives.on_processes_ended("b", {{1, 1}});
    s.join(1, 0, ab);
    assert_int_equal(s.status(1, 0), PMIX_ERR_PROC_TERM_WO_SYNC);
    one.members[1] = {"b", 0, {1}};
    s.join(1, 1, one);
    assert_int_equal(s.status(1, 1), PMIX_ERR_PROC_TERM_WO_SYNC);
    one.members[1] = {"b", 0, {0}};
    s.join(1, 2, one); // which lives
    assert_int_equal(s.status(1, 2), 1);
}

void the_end_of_a_namespace_is_remembered(void **) {
    Session s;
    Signature ab = all_of({"a", "b"});
    s.join(1, 0, ab, PMIX_ERR_PROC_TERM_WO_SYNC); // one of its processes has ended, and the rest goes
    s.collectives.on_step_gone(1, "a");
    s.join(2, 0, ab);
    assert_int_equal(s.status(2, 0), PMIX_ERR_LOST_CONNECTION);
    s.join(2, 1, ab, PMIX_ERR_TIMEOUT);
    assert_int_equal(s.status(2, 1), 1); // it knows
    s.join(1, 1, ab);                    // it is there again
    s.join(2, 2, ab);
    assert_int_equal(s.status(2, 2), PMIX_SUCCESS);
    assert_int_equal(s.collectives.waiting(), 0);
}

void a_timeout_alone_is_no_join(void **) {
    Session s;
    Signature ab = all_of({"a", "b"});
    // Before the other namespace is known, and when it is.
    s.join(1, 0, ab);
    s.join(1, 0, ab, PMIX_ERR_TIMEOUT);
    assert_int_equal(s.collectives.waiting(), 0);
    s.join(1, 1, ab);
    s.join(2, 0, ab);
    assert_int_equal(s.status(1, 1), PMIX_SUCCESS);
    assert_int_equal(s.status(2, 0), PMIX_SUCCESS);
    s.join(1, 2, ab);
    s.join(1, 2, ab, PMIX_ERR_TIMEOUT);
    s.join(1, 3, ab);
    s.join(2, 1, ab);
    assert_int_equal(s.status(1, 3), PMIX_SUCCESS);
    assert_int_equal(s.status(2, 1), PMIX_SUCCESS);
    // One that crossed with the answer.
    s.join(1, 3, ab, PMIX_ERR_PROC_TERM_WO_SYNC);
    s.join(2, 2, ab);
    s.join(1, 4, ab);
    assert_int_equal(s.status(2, 2), PMIX_SUCCESS);
    assert_int_equal(s.collectives.waiting(), 0);
}

// Who tries until the other job is there has not joined before, and nothing of it is kept.
void what_nobody_knew_is_no_join(void **) {
    Session s;
    Signature ab = all_of({"a", "b"});
    for (std::uint64_t number : {0, 1, 2}) {
        s.join(1, number, ab, PMIX_ERR_NOT_FOUND);
        assert_int_equal(s.collectives.waiting(), 0);
    }
    s.join(1, 3, ab);
    s.join(2, 0, ab);
    assert_int_equal(s.status(1, 3), PMIX_SUCCESS);
    assert_int_equal(s.status(2, 0), PMIX_SUCCESS);
    // Now it is one: the other job hears of it.
    s.join(1, 4, ab, PMIX_ERR_NOT_FOUND);
    s.join(2, 1, ab);
    assert_int_equal(s.status(2, 1), PMIX_ERR_NOT_FOUND);
}

void a_timeout_of_who_missed_a_failure_is_one(void **) {
    Session s;
    Signature abc = all_of({"a", "b", "c"});
    for (std::uint64_t step : {1, 2, 3})
        s.join(step, 0, abc);
    s.join(1, 1, abc);
    s.join(2, 1, abc);
    s.join(1, 1, abc, PMIX_ERR_TIMEOUT);
    assert_int_equal(s.status(2, 1), PMIX_ERR_TIMEOUT);
    s.join(3, 1, abc, PMIX_ERR_TIMEOUT);
    for (std::uint64_t step : {1, 2, 3})
        s.join(step, 2, abc);
    for (std::uint64_t step : {1, 2, 3})
        assert_int_equal(s.status(step, 2), PMIX_SUCCESS);
}

void a_namespace_may_come_again(void **) {
    Session s;
    Signature ab = all_of({"a", "b"});
    s.collectives.on_step_gone(2, "b");
    s.collectives.here_again("b");
    s.join(1, 0, ab);
    assert_int_equal(s.status(1, 0), 1); // it is waited for
    s.join(2, 0, ab);
    assert_int_equal(s.status(1, 0), PMIX_SUCCESS);
    assert_int_equal(s.status(2, 0), PMIX_SUCCESS);
}

// A job that runs for long may have a collective with ever new processes.
void what_is_done_is_forgotten(void **) {
    Session s;
    Signature ab = all_of({"a", "b"});
    for (std::uint64_t n = 0; n < 1000; ++n) {
        ab.group = std::to_string(n);
        s.join(1, n, ab);
        s.join(2, n, ab);
        assert_int_equal(s.status(1, n), PMIX_SUCCESS);
    }
    assert_int_equal(s.collectives.places(), 0);
    s.join(1, 1000, ab);
    s.join(1, 1000, ab, PMIX_ERR_TIMEOUT); // as if it had never been
    assert_int_equal(s.collectives.places(), 0);
    // The same participants meet again, and a failure that crosses with an answer is none of the next one.
    s.join(1, 1001, ab);
    s.join(2, 1000, ab);
    s.join(1, 1001, ab, PMIX_ERR_PROC_TERM_WO_SYNC);
    s.join(2, 1001, ab);
    s.join(1, 1002, ab);
    assert_int_equal(s.status(2, 1001), PMIX_SUCCESS);
    assert_int_equal(s.collectives.answered(), 2 * 1000);
    s.collectives.on_step_gone(1, "a");
    assert_int_equal(s.collectives.answered(), 1000);
}

void failures_that_some_have_not_met_are_so_many(void **) {
    Session s;
    Signature ab = all_of({"a", "b"});
    s.join(2, 0, ab);
    s.join(1, 0, ab);
    for (std::uint64_t n = 1; n <= SessionCollectives::max_places; ++n) {
        ab.group = std::to_string(n);
        assert_true(s.join(1, n, ab, PMIX_ERR_PROC_TERM_WO_SYNC));
    }
    assert_int_equal(s.collectives.waiting(), 0);
    assert_int_equal(s.collectives.places(), SessionCollectives::max_places);
    ab.group = "one more";
    assert_false(s.join(1, 1'000'000, ab));
    assert_int_equal(s.collectives.answered(), SessionCollectives::max_answered);
    ab.group = "7"; // whoever meets a failure makes room
    assert_true(s.join(2, 1, ab));
    assert_int_equal(s.status(2, 1), PMIX_ERR_PROC_TERM_WO_SYNC);
    ab.group = "one more";
    assert_true(s.join(1, 1'000'000, ab));
}

void the_oldest_end_is_forgotten(void **) {
    Session s;
    s.collectives.on_step_gone(0, "a namespace that is the first in the alphabet");
    s.collectives.on_step_gone(0, "e");
    for (std::size_t n = 0; n < SessionCollectives::max_gone - 1; ++n)
        s.collectives.on_step_gone(0, "x" + std::to_string(n));
    s.collectives.on_step_gone(0, "aa");
    s.collectives.on_step_gone(0, "ab");
    s.join(3, 0, all_of({"aa", "c"}));
    assert_int_equal(s.status(3, 0), PMIX_ERR_LOST_CONNECTION);
    s.join(3, 1, all_of({"c", "e"}));
    assert_int_equal(s.status(3, 1), 1); // it may come
    s.join(3, 2, all_of({"c", "x1"}));
    assert_int_equal(s.status(3, 2), PMIX_ERR_LOST_CONNECTION);
}

// A namespace may name four billion ranks of another one; they are not gone through.
void ranks_that_cannot_be_cost_nothing(void **) {
    Session s;
    Bytes words;
    wire::Writer(words).put(std::vector<std::uint32_t>{1, 0, UINT32_MAX / 2 - 100, 2}); // each second one
    Signature ab = all_of({"a", "b"});
    ab.members[1] = {"b", 0, *wire::decode<wire::RankSet>(words)};
    s.join(2, 0, all_of({"b", "c"}));
    s.collectives.on_processes_ended("b", {{1, 1}});
    assert_true(s.join(1, 0, ab));
    assert_int_equal(s.status(1, 0), 1); // that one is not among them
    s.collectives.on_processes_ended("b", {{1, 2}});
    assert_int_equal(s.status(1, 0), PMIX_ERR_PROC_TERM_WO_SYNC);
}

void nonsense_is_refused(void **) {
    Session s;
    assert_false(s.join(1, 0, all_of({"a"})));
    assert_false(s.join(1, 0, all_of({"b", "c"}))); // not its own
    wire::SessionCollectiveJoin broken;
    broken.signature = "x";
    broken.part.info = Session::info(1);
    assert_false(s.collectives.join({1, 0}, broken).ok());
    Signature twice = all_of({"a", "a"}); // one that no daemon makes
    assert_false(s.join(1, 0, twice));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(different_words),
        cmocka_unit_test(the_nth_meets_the_nth),
        cmocka_unit_test(failures_reach_all),
        cmocka_unit_test(the_dead_are_not_waited_for),
        cmocka_unit_test(the_end_of_a_process_is_remembered),
        cmocka_unit_test(the_end_of_a_namespace_is_remembered),
        cmocka_unit_test(an_early_end_is_remembered),
        cmocka_unit_test(a_timeout_alone_is_no_join),
        cmocka_unit_test(what_nobody_knew_is_no_join),
        cmocka_unit_test(a_timeout_of_who_missed_a_failure_is_one),
        cmocka_unit_test(a_namespace_may_come_again),
        cmocka_unit_test(what_is_done_is_forgotten),
        cmocka_unit_test(failures_that_some_have_not_met_are_so_many),
        cmocka_unit_test(the_oldest_end_is_forgotten),
        cmocka_unit_test(ranks_that_cannot_be_cost_nothing),
        cmocka_unit_test(nonsense_is_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
