// How far the tasks of a host have come: what is counted once, what comes in another order than one thinks, and for
// whom a proxy client is sent.
#include "server-glue/tasks/task_lives.h"

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

void nothing_is_known_at_first(void **) {
    TaskLives lives(2);
    assert_false(lives.any_started() || lives.all_started() || lives.all_running());
    assert_false(lives.any_finalized() || lives.all_finalized() || lives.any_ended_badly());
    assert_false(lives.gone(0) || lives.connected(0) || lives.finalized(0));
    assert_true(lives.take_absent().empty());
}

void each_is_counted_once(void **) {
    TaskLives lives(2);
    lives.has_started(3);
    lives.has_started(3);
    assert_true(lives.any_started());
    assert_false(lives.all_started());
    lives.has_started(8);
    assert_true(lives.all_started());
    lives.runs_program(3);
    lives.runs_program(3);
    assert_int_equal(lives.running(), 1);
    lives.runs_program(8);
    assert_true(lives.all_running());
}

// It was there too shortly to be seen; and what it said of its program is read later.
void an_end_may_be_all_that_is_heard_first(void **) {
    TaskLives lives(1);
    lives.has_ended(5, false);
    assert_true(lives.all_started() && lives.gone(5));
    lives.has_started(5);
    assert_true(lives.gone(5));
    lives.has_ended(5, false);
    lives.runs_program(5);
    assert_true(lives.all_running());
    assert_false(lives.any_ended_badly()); // it was no client
}

void a_client_may_finalize_and_come_again(void **) {
    TaskLives lives(2);
    lives.has_connected(0);
    lives.has_connected(1);
    lives.has_finalized(0);
    lives.has_finalized(0);
    assert_true(lives.any_finalized() && lives.connected(0) && lives.finalized(0));
    assert_false(lives.all_finalized());
    lives.has_connected(0);
    assert_false(lives.any_finalized() || lives.finalized(0));
    lives.has_finalized(0);
    lives.has_finalized(1);
    assert_true(lives.all_finalized());
}

void who_ends_without_finalizing_ends_badly(void **) {
    TaskLives lives(3);
    for (Rank rank : {0u, 1u, 2u})
        lives.has_connected(rank);
    lives.has_finalized(0);
    lives.has_ended(0, false);
    lives.has_ended(1, true); // by SIGPIPE
    assert_false(lives.any_ended_badly());
    lives.has_ended(2, false);
    assert_true(lives.any_ended_badly());
}

void who_never_connected_is_stood_for_once(void **) {
    TaskLives lives(3);
    lives.has_ended(1, false);
    assert_true(lives.take_absent().empty()); // nobody waits
    lives.has_connected(0);
    assert_true((lives.take_absent() == std::vector<Rank>{1}));
    lives.has_connected(1); // the proxy client
    assert_true(lives.take_absent().empty());
    lives.has_ended(2, false);
    lives.has_finalized(0);
    lives.has_ended(0, false);
    assert_true(lives.take_absent().empty()); // nobody waits any more
}

void who_has_gone_with_a_connection_needs_no_proxy(void **) {
    TaskLives lives(2);
    lives.has_connected(0);
    lives.has_connected(1);
    lives.has_ended(1, false);
    assert_true(lives.take_absent().empty());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_known_at_first),
        cmocka_unit_test(each_is_counted_once),
        cmocka_unit_test(an_end_may_be_all_that_is_heard_first),
        cmocka_unit_test(a_client_may_finalize_and_come_again),
        cmocka_unit_test(who_ends_without_finalizing_ends_badly),
        cmocka_unit_test(who_never_connected_is_stood_for_once),
        cmocka_unit_test(who_has_gone_with_a_connection_needs_no_proxy),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
