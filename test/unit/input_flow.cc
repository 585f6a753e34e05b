// Input on its way to the processes it is for: along the tree, answered when it is in their pipes.
#include "test/unit/iof_world.h"

using namespace pmixhost;

namespace {

void input_comes_to_whom_it_is_for(void **) {
    for (HostIndex count : {1u, 3u, 12u}) {
        for (HostIndex from = 0; from < count; ++from) {
            IofWorld world(count);
            world.push(from, {}, "all ");
            assert_int_equal(*world.status, PMIX_SUCCESS);
            world.push(from, {1}, "one", true);
            assert_int_equal(*world.status, PMIX_SUCCESS);
            for (Rank rank = 0; rank < count * IofWorld::per_host; ++rank)
                assert_string_equal(world.got[rank].c_str(), rank == 1 ? "all one." : "all ");
        }
    }
}

void each_byte_crosses_a_link_once(void **) {
    IofWorld world(100, 32);
    world.push(7, {}, "to all");
    assert_int_equal(world.delivered, 2 * 99);
    world.delivered = 0;
    world.push(7, {0, 199}, "to two"); // by 0, and from there by 3
    assert_int_equal(world.delivered, 2 * 3);
}

void a_closed_input_is_said_if_nobody_takes_it(void **) {
    IofWorld world(3);
    world.closed = {0, 1, 2};
    world.push(0, {1, 2}, "x");
    assert_int_equal(*world.status, PMIX_ERR_IOF_COMPLETE);
    world.push(0, {1, 2, 3}, "x");
    assert_int_equal(*world.status, PMIX_SUCCESS);
    world.push(0, {}, "y");
    assert_int_equal(*world.status, PMIX_SUCCESS);
    assert_string_equal(world.got[3].c_str(), "xy");
}

void who_does_not_read_is_waited_for(void **) {
    IofWorld world(3);
    world.slow = {4};
    world.push(0, {}, "x");
    assert_false(world.status.has_value());
    assert_string_equal(world.got[5].c_str(), "x");
    world.waiting.back()(PMIX_SUCCESS);
    world.run();
    assert_int_equal(*world.status, PMIX_SUCCESS);
}

void input_goes_around_hosts_that_go(void **) {
    IofWorld world(12);
    world.slow = {22};
    world.push(0, {}, "x");
    assert_false(world.status.has_value());
    world.leave(2);
    world.run();
    assert_int_equal(world.waiting.size(), 1); // it came another way too, and is not given twice
    for (Rank rank = 0; rank < 24; ++rank)
        assert_string_equal(world.got[rank].c_str(), rank == 22 ? "" : "x");
    assert_false(world.status.has_value());
    for (auto &reply : world.waiting)
        reply(PMIX_SUCCESS);
    world.run();
    assert_int_equal(*world.status, PMIX_SUCCESS);
    world.push(0, {4}, "to one that is gone");
    assert_int_equal(*world.status, PMIX_ERR_LOST_CONNECTION);
    world.leave(7, true);
    world.push(0, {14}, "to one that has ended");
    assert_int_equal(*world.status, PMIX_ERR_IOF_COMPLETE);
}

// It has gone, and who sends there has not heard it.
void a_push_does_not_overtake_one_that_went_to_a_host_that_goes(void **) {
    IofWorld world(12);
    world.hosts[0]->input.push({"tool", 0}, {22}, "first ", false, StatusReply([](pmix_status_t) {}, PMIX_ERROR));
    world.gone.insert(2);
    world.push(0, {22}, "second");
    assert_false(world.status.has_value());
    world.tell_gone(2);
    world.run();
    assert_string_equal(world.got[22].c_str(), "first second");
    assert_true(world.status == PMIX_SUCCESS);
}

void pushes_without_an_answer_are_bounded(void **) {
    IofWorld world(1);
    world.slow = {0};
    for (std::size_t i = 0; i < InputFlow::max_pending; ++i) {
        world.push(0, {0}, "x");
        assert_false(world.status.has_value());
    }
    world.push(0, {0}, "x");
    assert_int_equal(*world.status, PMIX_ERR_OUT_OF_RESOURCE);
    for (auto &reply : std::exchange(world.waiting, {}))
        reply(PMIX_SUCCESS);
    world.push(0, {}, std::string(InputFlow::max_bytes, 'x'));
    assert_false(world.status.has_value());
    world.push(0, {1}, "y");
    assert_int_equal(*world.status, PMIX_ERR_OUT_OF_RESOURCE);
}

// Not where they are others'; but all together have a bound, too.
void each_pusher_has_an_account(void **) {
    IofWorld world(1);
    world.slow = {0};
    const std::string most(InputFlow::max_bytes, 'x');
    for (Rank pusher = 0; pusher < InputFlow::max_accounts; ++pusher) {
        world.push(0, {1}, "of one", false, pusher);
        assert_true(world.status == PMIX_SUCCESS);
        world.push(0, {0}, most, false, pusher);
        assert_false(world.status.has_value());
        world.push(0, {1}, "too much", false, pusher);
        assert_true(world.status == PMIX_ERR_OUT_OF_RESOURCE);
    }
    world.push(0, {1}, "of one too many", false, InputFlow::max_accounts);
    assert_true(world.status == PMIX_ERR_OUT_OF_RESOURCE);
    auto first = std::move(world.waiting.front());
    world.waiting.erase(world.waiting.begin());
    first(PMIX_SUCCESS);
    for (Rank pusher : {0u, 7u}) { // one that is empty again, and one that is full
        world.push(0, {1}, "y", false, pusher);
        assert_true(world.status == (pusher == 0 ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE));
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(input_comes_to_whom_it_is_for),
        cmocka_unit_test(each_byte_crosses_a_link_once),
        cmocka_unit_test(a_closed_input_is_said_if_nobody_takes_it),
        cmocka_unit_test(who_does_not_read_is_waited_for),
        cmocka_unit_test(input_goes_around_hosts_that_go),
        cmocka_unit_test(a_push_does_not_overtake_one_that_went_to_a_host_that_goes),
        cmocka_unit_test(pushes_without_an_answer_are_bounded),
        cmocka_unit_test(each_pusher_has_an_account),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
