// Who failed first in a spawned job, and how long its end waits for that.
#include "server-glue/events/first_failures.h"

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

struct Asked {
    int times = 0;
    std::optional<FirstFailure> got;
    FirstFailures::Then then() {
        return [this](std::optional<FirstFailure> first) {
            ++times;
            got = first;
        };
    }
};

void the_earliest_of_all_hosts_counts(void **) {
    FirstFailures failures;
    Asked one, again;
    TimePoint now;
    failures.note(now, "a", 20, {7, 1});
    failures.note(now, "b", 1, {0, 2});
    failures.take(now, "a", one.then());
    assert_true(failures.waits("a") && failures.next_time() == now + FirstFailures::others);
    // Of hosts that are slower, too.
    failures.note(now, "a", 10, {3, 5});
    failures.note(now, "a", 30, {1, 9});
    assert_int_equal(one.times, 0);
    failures.on_time(now + FirstFailures::others);
    assert_int_equal(one.times, 1);
    assert_true(one.got && one.got->rank == 3 && one.got->exit_code == 5);
    // It is forgotten then.
    failures.take(now, "a", again.then());
    failures.on_time(now + FirstFailures::others);
    assert_int_equal(again.times, 0);
    failures.forget("b");
    failures.finish();
    assert_true(again.times == 1 && !again.got);
}

void an_end_waits_a_moment(void **) {
    FirstFailures failures;
    Asked told, untold;
    TimePoint now, later = now + std::chrono::milliseconds(100);
    failures.take(now, "a", told.then());
    failures.take(later, "b", untold.then());
    assert_true(failures.next_time() == now + FirstFailures::patience);
    failures.note(later, "a", 10, {4, 137});
    assert_true(failures.next_time() == later + FirstFailures::others);
    failures.on_time(later + FirstFailures::others);
    assert_true(told.times == 1 && told.got && told.got->exit_code == 137);
    failures.on_time(now + FirstFailures::patience);
    assert_int_equal(untold.times, 0);
    failures.on_time(later + FirstFailures::patience);
    assert_true(untold.times == 1 && !untold.got);
    assert_true(failures.next_time() == TimePoint::max());
}

// Of jobs that somebody only pretends to have been spawned no more than so much is kept.
void what_is_kept_is_bounded(void **) {
    FirstFailures failures;
    TimePoint now;
    for (std::size_t i = 0; i < FirstFailures::most + 10; ++i)
        failures.note(now, std::to_string(i), 1, {0, 1});
    Asked first, last;
    failures.take(now, "0", first.then());
    failures.take(now, std::to_string(FirstFailures::most + 5), last.then());
    failures.finish();
    assert_true(first.got && !last.got);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_earliest_of_all_hosts_counts),
        cmocka_unit_test(an_end_waits_a_moment),
        cmocka_unit_test(what_is_kept_is_bounded),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
