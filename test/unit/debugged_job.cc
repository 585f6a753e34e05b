// What debugger daemons hear of the job that they debug, whoever leaves when.
#include "server-glue/debug/debugged_job.h"

#include <pmix_common.h>
#include <vector>

#include "test/unit/fake_hosts.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct World final : DebuggedJobPort {
    FakeHosts hosts;
    std::vector<std::optional<int>> ends;
    int ended = 0;
    TimePoint now{};
    DebuggedJob job;
    explicit World(const char *nspace = "job") : job(hosts, *this, nspace) {}
    std::size_t asked() const { return hosts.to_session.size(); }
    wire::JobEndRequest question() const {
        assert_int_equal(hosts.to_session.back().first, wire::JobEndRequest::type);
        return *wire::decode<wire::JobEndRequest>(hosts.to_session.back().second);
    }
    void has_ended(std::optional<int> exit_code) override { ends.push_back(exit_code); }
    void end_daemons() override { ++ended; }
    void reply(std::int32_t status, std::int32_t exit_code = 0) {
        job.on_reply(now, {question().id, status, exit_code});
    }
    void pass(Duration time) {
        now += time;
        job.on_time(now);
    }
};

void they_are_told_and_end_a_while_later(void **) {
    World world;
    world.job.begin(world.now);
    assert_string_equal(world.question().nspace.c_str(), "job");
    world.pass(1h);
    world.reply(PMIX_SUCCESS, 3);
    world.reply(PMIX_SUCCESS, 4);
    assert_true(world.ends.empty()); // who spawned it may know better
    world.pass(DebuggedJob::hearsay);
    assert_true((world.ends == std::vector<std::optional<int>>{3}));
    world.pass(DebuggedJob::grace - 1ms);
    assert_int_equal(world.ended, 0);
    world.pass(1ms);
    world.pass(1h);
    assert_int_equal(world.ended, 1);
    assert_int_equal(world.asked(), 1);
}

void who_leaves_is_followed_by_the_next(void **) {
    World world;
    world.job.begin(world.now);
    world.reply(PMIX_ERR_LOST_CONNECTION, 9);
    assert_int_equal(world.asked(), 1);
    world.pass(DebuggedJob::ask_again);
    assert_int_equal(world.asked(), 2);
    world.job.on_session_gone(world.now);
    world.pass(DebuggedJob::ask_again);
    assert_int_equal(world.asked(), 3);
    world.reply(PMIX_ERR_OUT_OF_RESOURCE);
    world.pass(DebuggedJob::ask_again);
    assert_int_equal(world.asked(), 3);
    world.pass(DebuggedJob::ask_again_later);
    assert_int_equal(world.asked(), 4);
    world.reply(PMIX_ERR_NOT_FOUND);
    assert_true(world.ends.empty());
    world.pass(DebuggedJob::hearsay);
    assert_true((world.ends == std::vector<std::optional<int>>{9}));
}

void nobody_may_know_how(void **) {
    World world;
    world.job.begin(world.now);
    world.reply(PMIX_ERR_NOT_FOUND);
    world.pass(DebuggedJob::hearsay);
    assert_int_equal(world.ends.size(), 1);
    assert_false(world.ends[0].has_value());
}

void a_bad_end_is_not_forgotten(void **) {
    World world;
    world.job.begin(world.now);
    world.reply(PMIX_ERR_LOST_CONNECTION, 7);
    world.pass(DebuggedJob::ask_again);
    world.reply(PMIX_SUCCESS, 0);
    world.pass(DebuggedJob::hearsay);
    assert_true((world.ends == std::vector<std::optional<int>>{7}));
    World lost;
    lost.job.begin(lost.now);
    lost.reply(PMIX_SUCCESS, -1);
    lost.pass(DebuggedJob::hearsay);
    assert_false(lost.ends.at(0).has_value());
}

void a_job_out_of_reach_is_not_over(void **) {
    World world;
    world.job.begin(world.now);
    for (int i = 0; i < 100; ++i) {
        world.reply(PMIX_ERR_UNREACH);
        world.pass(DebuggedJob::ask_again_later);
    }
    assert_true(world.ends.empty());
    assert_int_equal(world.asked(), 101);
}

void who_spawned_it_may_tell_first(void **) {
    World world;
    world.job.begin(world.now);
    world.reply(PMIX_SUCCESS);
    world.job.on_end_told(world.now);
    world.pass(DebuggedJob::hearsay);
    assert_true(world.ends.empty());
    world.pass(DebuggedJob::grace);
    assert_int_equal(world.ended, 1);
    world.job.begin(world.now);
    assert_int_equal(world.asked(), 1);
}

void a_session_that_is_not_there_is_tried_again(void **) {
    World world;
    world.hosts.session_reachable = false;
    world.job.begin(world.now);
    world.hosts.session_reachable = true;
    world.pass(DebuggedJob::ask_again_later);
    world.reply(PMIX_SUCCESS);
    world.pass(DebuggedJob::hearsay);
    assert_true((world.ends == std::vector<std::optional<int>>{0}));
}

void an_old_answer_does_not_count(void **) {
    World world;
    world.job.begin(world.now);
    world.job.on_session_gone(world.now);
    world.reply(PMIX_SUCCESS);
    world.pass(DebuggedJob::ask_again);
    world.job.on_reply(world.now, {1, PMIX_SUCCESS, 0});
    assert_true(world.ends.empty());
}

void others_ask_nothing(void **) {
    World world("");
    world.job.begin(world.now);
    assert_true(world.asked() == 0);
    assert_true(world.job.next_time() == TimePoint::max());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(they_are_told_and_end_a_while_later),
        cmocka_unit_test(who_leaves_is_followed_by_the_next),
        cmocka_unit_test(nobody_may_know_how),
        cmocka_unit_test(a_bad_end_is_not_forgotten),
        cmocka_unit_test(a_job_out_of_reach_is_not_over),
        cmocka_unit_test(who_spawned_it_may_tell_first),
        cmocka_unit_test(a_session_that_is_not_there_is_tried_again),
        cmocka_unit_test(an_old_answer_does_not_count),
        cmocka_unit_test(others_ask_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
