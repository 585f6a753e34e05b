// When the RM is asked whether an allocation that was asked for has ended, and who is told.
#include "server-glue/allocation/session_watch.h"

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct World final : SessionWatchPort {
    TimePoint now{};
    std::map<std::string, std::function<void(Result<bool>)>> asked;
    std::string told;
    SessionWatch watch{*this};
    void ask_whether_over(const std::string &allocation, std::function<void(Result<bool>)> done) override {
        assert_true(asked.emplace(allocation, std::move(done)).second);
    }
    void session_ended(const std::string &allocation, const std::string &request_id) override {
        told += allocation + " " + request_id + ";";
    }
    TimePoint time_now() const override { return now; }
    // The next question comes after this time, and is answered so.
    void pass(Duration time, Result<bool> over, const std::string &allocation = "7") {
        assert_true(watch.next_time() == now + time);
        watch.on_time(watch.next_time() - 1ms);
        assert_true(asked.empty());
        now = watch.next_time();
        watch.on_time(now);
        auto answer = std::move(asked.at(allocation));
        asked.erase(allocation);
        answer(std::move(over));
    }
};

void it_is_asked_for_ever_more_seldom(void **) {
    World world;
    assert_true(world.watch.next_time() == TimePoint::max());
    world.watch.begin("7", "mine", UINT32_MAX);
    for (auto pause : {2s, 4s, 8s, 16s, 32s, 60s, 60s})
        world.pass(pause, false);
    world.pass(60s, error(ErrorKind::unreachable, "slurmctld does not answer"));
    assert_string_equal(world.told.c_str(), "");
    world.pass(60s, true);
    assert_string_equal(world.told.c_str(), "7 mine;");
    assert_true(world.watch.next_time() == TimePoint::max());
    assert_false(world.watch.ended("7"));
}

void it_is_asked_for_when_its_time_is_up(void **) {
    World world;
    world.watch.begin("7", "", 20);
    world.pass(2s, false);
    world.pass(4s, false);
    world.pass(8s, false);
    world.pass(7s, false); // what ends allocations may take its time
    world.pass(32s, error(ErrorKind::not_found, "it is forgotten"));
    assert_string_equal(world.told.c_str(), "7 ;");
}

void what_is_given_back_is_told_once(void **) {
    World world;
    world.watch.begin("7", "mine", 60);
    world.now = world.watch.next_time();
    world.watch.on_time(world.now);
    assert_true(world.watch.ended("7")); // while the RM is asked
    world.asked.at("7")(true);
    assert_string_equal(world.told.c_str(), "");
    assert_true(world.watch.next_time() == TimePoint::max());
    assert_true(world.watch.ended("8")); // one that somebody else has asked for
    assert_false(world.watch.ended("8"));
}

void where_nobody_tells_nobody_is_asked_again(void **) {
    World world;
    world.watch.begin("7", "mine", 60);
    world.pass(2s, error(ErrorKind::unsupported, "there is no RM"));
    assert_true(world.watch.next_time() == TimePoint::max());
    assert_string_equal(world.told.c_str(), "");
}

void they_have_a_bound(void **) {
    World world;
    for (std::size_t i = 0; i <= SessionWatch::max_watched; ++i)
        world.watch.begin(std::to_string(i), "", 60);
    world.now = world.watch.next_time();
    std::size_t answered = 0;
    for (; world.watch.next_time() == world.now || !world.asked.empty(); ++answered) {
        world.watch.on_time(world.now);
        assert_true(world.asked.size() <= SessionWatch::max_asked);
        assert_true(world.watch.next_time() > world.now); // no turn in which nothing can be asked
        auto answer = world.asked.extract(world.asked.begin());
        answer.mapped()(false);
    }
    assert_int_equal(answered, SessionWatch::max_watched);
}

void who_has_gone_is_not_called(void **) {
    std::function<void(Result<bool>)> answer;
    {
        World world;
        world.watch.begin("7", "mine", 60);
        world.watch.on_time(world.watch.next_time());
        answer = std::move(world.asked.at("7"));
    }
    answer(true);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(it_is_asked_for_ever_more_seldom),
        cmocka_unit_test(it_is_asked_for_when_its_time_is_up),
        cmocka_unit_test(what_is_given_back_is_told_once),
        cmocka_unit_test(where_nobody_tells_nobody_is_asked_again),
        cmocka_unit_test(they_have_a_bound),
        cmocka_unit_test(who_has_gone_is_not_called),
    };
    return cmocka_run_group_tests_name("session_watch", tests, nullptr, nullptr);
}
