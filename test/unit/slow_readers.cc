// Whom of several readers the others do not wait for, from when on, and when it is given something again.
#include "server-glue/iof/slow_readers.h"

#include "server-glue/iof/tool_pace.h"
#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t much = ToolPace::much_unsent + 1, little = ToolPace::much_unsent;
const LibraryConnection a{7, 1}, b{8, 2};

struct World {
    TimePoint now{1h};
    SlowReaders readers;
    SlowReaders::Look look(std::size_t of_a, std::size_t of_b, bool may = true) {
        return readers.look(now, {{a, of_a, may}, {b, of_b, may}});
    }
};

void nobody_waits_longer_than_a_moment(void **) {
    World world;
    assert_int_equal(world.look(little, little).most_unsent, little);
    assert_int_equal(world.look(SIZE_MAX, 0).most_unsent, SIZE_MAX);
    world.now += SlowReaders::patience - 1ms;
    assert_int_equal(world.look(SIZE_MAX, 0).most_unsent, SIZE_MAX);
    world.look(0, 0); // it has taken something
    world.now += 1ms;
    assert_true(world.look(much, 0).passed_over.empty());
    world.now += SlowReaders::patience;
    auto look = world.look(much, 5);
    assert_true(look.passed_over == std::vector({a}) && look.most_unsent == 5);
    assert_true(world.readers.passes_over(a) && !world.readers.passes_over(b));
    assert_true(world.readers.next_time() == world.now + SlowReaders::first_look);
    look = world.look(little, 5);
    assert_true(look.back == std::vector({a}) && look.most_unsent == little && !world.readers.passes_over(a));
    assert_true(world.readers.next_time() == TimePoint::max());
    // Known as slow, it is waited for less, for some time.
    world.look(much, 5);
    world.now += SlowReaders::patience_again;
    assert_true(world.look(much, 5).passed_over == std::vector({a}));
    world.look(0, 5);
    world.now += SlowReaders::forgotten;
    world.look(much, 5);
    world.now += SlowReaders::patience_again;
    assert_true(world.look(much, 5).passed_over.empty());
}

void it_is_looked_at_ever_more_rarely(void **) {
    World world;
    world.look(much, 0);
    world.now += SlowReaders::patience;
    world.look(much, 0);
    int looks = 0;
    for (auto end = world.now + 1min; world.now < end; ++looks) {
        world.look(much, 0); // between them, as others take something
        world.now = world.readers.next_time();
        world.look(much, 0);
        assert_true(world.readers.next_time() > world.now);
    }
    assert_in_range(looks, 60, 70);
}

void where_all_are_slow_all_are_waited_for(void **) {
    World world;
    world.look(much, much);
    world.now += 1h;
    auto look = world.look(much, much);
    assert_true(look.passed_over.empty() && look.most_unsent == much);
    world.look(much, 0);
    assert_true(world.readers.passes_over(a));
    // It stays so while the other one is slow for a moment.
    assert_true(world.look(much, much).back.empty());
    // The other one goes.
    look = world.readers.look(world.now, {{a, much}});
    assert_true(look.back.empty() && look.most_unsent == much && world.readers.passes_over(a));
    // One that comes does not wait for it; and it is back when it takes something.
    assert_true(world.look(much, 0).most_unsent == 0 && world.readers.passes_over(a));
    assert_true(world.readers.look(world.now, {{a, little}}).back == std::vector({a}));
    // It goes itself.
    world.look(much, 0);
    world.now += SlowReaders::patience_again;
    world.look(much, 0);
    assert_true(world.readers.passes_over(a));
    world.readers.look(world.now, {{b, 0}});
    assert_false(world.readers.passes_over(a));
    assert_true(world.readers.next_time() == TimePoint::max());
}

void not_everybody_may_be(void **) {
    World world;
    world.look(much, 0, false);
    world.now += 1h;
    assert_int_equal(world.look(much, 0, false).most_unsent, much);
    world.look(much, 0);
    assert_true(world.readers.passes_over(a));
    // It may no longer: all wait until it has taken what is kept for it.
    auto look = world.look(much, 0, false);
    assert_true(look.back.empty() && look.most_unsent == SIZE_MAX && world.readers.passes_over(a));
    look = world.readers.look(world.now, {{a, 0, false, false, true}, {b, 0}});
    assert_true(look.takes == std::vector({a}) && look.back.empty() && look.most_unsent == SIZE_MAX);
    look = world.look(0, 0, false);
    assert_true(look.back == std::vector({a}) && look.most_unsent == 0);
}

void what_is_kept_for_one_it_gets_first(void **) {
    World world;
    auto look = [&](std::size_t of_a, bool is_behind, std::size_t of_b = 0) {
        return world.readers.look(world.now, {{a, of_a, true, false, is_behind}, {b, of_b}});
    };
    look(much, false);
    world.now += SlowReaders::patience;
    assert_true(look(much, false).passed_over == std::vector({a}));
    assert_true(look(much, true).takes.empty());
    auto seen = look(0, true);
    assert_true(seen.takes == std::vector({a}) && seen.back.empty() && world.readers.passes_over(a));
    assert_true(world.readers.next_time() == world.now + SlowReaders::next_piece);
    // The other one is waited for as long as there is none but it that has all.
    look(0, true, much);
    world.now += SlowReaders::patience;
    seen = look(0, true, much);
    assert_true(seen.passed_over.empty() && seen.takes == std::vector({a}) && seen.most_unsent == much);
    seen = look(0, false, much);
    assert_true(seen.back == std::vector({a}) && seen.passed_over == std::vector({b}));
    // When the other one goes all waits until what is left has come.
    look(much, false);
    world.now += SlowReaders::patience;
    look(much, false);
    seen = world.readers.look(world.now, {{a, 0, true, false, true}});
    assert_true(seen.back.empty() && seen.takes == std::vector({a}) && seen.most_unsent == SIZE_MAX);
    assert_true(world.readers.next_time() == world.now + SlowReaders::next_piece);
    seen = world.readers.look(world.now, {{a, 0}});
    assert_true(seen.back == std::vector({a}) && seen.takes.empty() && seen.most_unsent == 0);
}

void who_wants_something_else_does_not_wait(void **) {
    World world;
    auto look = [&](std::size_t of_a, std::size_t of_b, bool each_alone) {
        return world.readers.look(world.now, {{a, of_a}, {b, of_b}}, each_alone);
    };
    auto seen = look(much, much, true);
    assert_true(seen.passed_over.empty() && seen.most_unsent == much); // as one is for a moment that reads
    look(much, 0, true);
    world.now += SlowReaders::patience_again;
    assert_true(look(much, much, true).passed_over == std::vector({a}));
    world.now += SlowReaders::patience_again;
    seen = look(much, much, true);
    assert_true(seen.passed_over == std::vector({b}) && seen.back.empty() && seen.most_unsent == 0);
    assert_true(look(much, 0, true).back == std::vector({b}));
    look(much, much, true);
    world.now += SlowReaders::patience_again;
    look(much, much, true);
    seen = look(much, much, false); // now they want the same
    assert_true(seen.back.empty() && seen.most_unsent == much);
    seen = look(much, 0, false);
    assert_true(seen.back == std::vector({b}) && seen.most_unsent == 0);
}

void who_would_lose_what_is_kept_is_waited_for_for_a_moment(void **) {
    World world;
    auto waits = [&](std::size_t of_a, bool is_far_behind) {
        const auto look = world.readers.look(world.now, {{a, of_a, true, false, true, is_far_behind}, {b, 0}});
        assert_true(look.most_unsent == 0 || look.most_unsent == SIZE_MAX);
        return look.most_unsent > 0;
    };
    world.look(much, 0);
    world.now += SlowReaders::patience;
    world.look(much, 0);
    assert_false(waits(much, true)); // it takes nothing
    assert_true(waits(0, true));
    assert_true(waits(much, true)); // of what it has just been given
    world.now += SlowReaders::patience_again;
    assert_false(waits(much, true));
    assert_true(waits(0, true));
    world.now += SlowReaders::patience;
    assert_false(waits(0, true));
    assert_false(waits(0, false));
    // Then less, for some time.
    assert_true(waits(0, true));
    world.now += SlowReaders::patience_again;
    assert_false(waits(0, true));
    assert_false(waits(0, false));
    world.now += SlowReaders::forgotten;
    assert_true(waits(0, true));
    world.now += SlowReaders::patience_again;
    assert_true(waits(0, true));
}

void who_wants_something_else_does_not_wait_for_who_would_lose_either(void **) {
    World world;
    auto waits = [&](std::size_t of_a) {
        const auto look = world.readers.look(world.now, {{a, of_a, true, false, true, true}, {b, 0}}, true);
        return look.most_unsent == SIZE_MAX;
    };
    world.readers.look(world.now, {{a, much}, {b, 0}}, true);
    world.now += SlowReaders::patience_again;
    assert_false(waits(much));
    assert_true(world.readers.passes_over(a));
    assert_true(waits(0));
    world.now += SlowReaders::patience_again - 1ms;
    assert_true(waits(0));
    world.now += 1ms;
    assert_false(waits(0));
}

// Who pulls no more is no reason to wait, nor to pass over another one.
void who_has_left_takes_no_part(void **) {
    World world;
    auto look = [&](std::size_t of_a, std::size_t of_left) {
        return world.readers.look(world.now, {{a, of_a, true, false}, {b, of_left, true, true}});
    };
    look(much, 0);
    world.now += SlowReaders::patience;
    assert_true(look(much, 0).passed_over.empty());
    look(0, much);
    world.now += SlowReaders::patience;
    assert_true(look(0, much).passed_over == std::vector({b}));
    assert_true(look(much, much).back.empty());
    assert_true(look(0, 0).back == std::vector({b}));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(nobody_waits_longer_than_a_moment),
        cmocka_unit_test(it_is_looked_at_ever_more_rarely),
        cmocka_unit_test(where_all_are_slow_all_are_waited_for),
        cmocka_unit_test(not_everybody_may_be),
        cmocka_unit_test(what_is_kept_for_one_it_gets_first),
        cmocka_unit_test(who_wants_something_else_does_not_wait),
        cmocka_unit_test(who_would_lose_what_is_kept_is_waited_for_for_a_moment),
        cmocka_unit_test(who_wants_something_else_does_not_wait_for_who_would_lose_either),
        cmocka_unit_test(who_has_left_takes_no_part),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
