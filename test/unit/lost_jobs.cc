// How the ends of spawned jobs are found out when their launcher has gone, whoever answers and whoever does not.
#include "server-glue/spawn/lost_jobs.h"

#include <pmix_common.h>

#include "test/unit/fake_hosts.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct World {
    FakeHosts hosts;
    LostJobs lost{hosts};
    std::set<Bytes> running{"a", "b"};
    std::vector<std::string> ended;
    TimePoint now{};

    std::size_t asked() const { return hosts.to_session.size(); }
    wire::JobEndRequest question(std::size_t number) const {
        assert_int_equal(hosts.to_session.at(number).first, wire::JobEndRequest::type);
        return *wire::decode<wire::JobEndRequest>(hosts.to_session.at(number).second);
    }
    void reply(std::size_t number, std::int32_t status, std::int32_t exit_code = 0) {
        lost.on_reply(now, {question(number).id, status, exit_code});
    }
    void pass(Duration time) {
        now += time;
        for (const auto &one : lost.on_time(now, running)) {
            ended.push_back(one.nspace + (one.exit_code ? fmt::format(" {}", *one.exit_code) : " ?"));
            running.erase(one.nspace);
        }
    }
    void lose_launcher() {
        lost.on_launcher_gone(now);
        pass(LostJobs::patience);
    }
};
using Ends = std::vector<std::string>;

void their_own_hosts_are_asked(void **) {
    World world;
    world.lost.on_launcher_gone(world.now);
    world.pass(LostJobs::patience - 1ms);
    assert_int_equal(world.asked(), 0); // this step may be ending itself
    world.pass(1ms);
    assert_int_equal(world.asked(), 2);
    assert_string_equal(world.question(0).nspace.c_str(), "a");
    assert_string_equal(world.question(1).nspace.c_str(), "b");
    world.pass(1h);
    assert_true(world.ended.empty());
    world.reply(1, PMIX_SUCCESS, 3);
    world.pass(DebuggedJob::hearsay);
    assert_true((world.ended == Ends{"b 3"}));
    world.reply(0, PMIX_ERR_NOT_FOUND); // it has gone, and nobody knows how
    world.pass(DebuggedJob::hearsay);
    assert_true((world.ended == Ends{"b 3", "a ?"}));
    assert_true(world.lost.next_time() == TimePoint::max());
}

void what_the_launcher_tells_in_the_end_is_told_once(void **) {
    World world;
    world.lose_launcher();
    world.running.erase("a"); // it has come back
    world.reply(0, PMIX_SUCCESS, 3);
    world.pass(DebuggedJob::hearsay);
    assert_true(world.ended.empty());
    world.reply(1, PMIX_SUCCESS);
    world.pass(DebuggedJob::hearsay);
    assert_true((world.ended == Ends{"b 0"}));
}

void when_it_goes_again_new_ones_are_asked_for(void **) {
    World world;
    world.lose_launcher();
    world.running.insert("c");
    world.lose_launcher();
    assert_int_equal(world.asked(), 3);
    assert_string_equal(world.question(2).nspace.c_str(), "c");
    world.reply(2, PMIX_SUCCESS, 1);
    world.pass(DebuggedJob::hearsay);
    assert_true((world.ended == Ends{"c 1"}));
}

void a_session_that_does_not_stay_is_given_up(void **) {
    World world;
    assert_true(world.lost.on_session_gone(world.now, world.running)); // which nobody has asked
    world.lose_launcher();
    for (unsigned i = 1; i < LostJobs::most_sessions; ++i) {
        assert_true(world.lost.on_session_gone(world.now, world.running));
        world.pass(DebuggedJob::ask_again);
        assert_int_equal(world.asked(), 2 + 2 * i);
    }
    assert_false(world.lost.on_session_gone(world.now, world.running));
    assert_true(world.lost.next_time() == TimePoint::max());
}

void sessions_count_only_while_somebody_is_asked(void **) {
    World world;
    for (unsigned i = 0; i < 2 * LostJobs::most_sessions; ++i) {
        world.running = {"a"};
        world.lose_launcher();
        world.running.clear(); // the launcher is there again, and has told
        assert_true(world.lost.on_session_gone(world.now, world.running));
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(their_own_hosts_are_asked),
        cmocka_unit_test(what_the_launcher_tells_in_the_end_is_told_once),
        cmocka_unit_test(when_it_goes_again_new_ones_are_asked_for),
        cmocka_unit_test(a_session_that_does_not_stay_is_given_up),
        cmocka_unit_test(sessions_count_only_while_somebody_is_asked),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
