// The end of a step, with a Slurm and an srun that do what the test says: what is tried again, how often, and what who
// asks hears.
#include "plugins/slurm/backend/slurm_calls.h"
#include "plugins/slurm/backend/step_ender.h"

#include <atomic>
#include <optional>
#include <slurm/slurm_errno.h>

#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace pmixhost::slurm;
using namespace std::chrono_literals;

namespace {

struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    Log log{-1, LogLevel::error, "test"};
    std::atomic<int> fails{0}; // the next so many kills
    std::atomic<ErrorKind> how{ErrorKind::unreachable};
    std::atomic<int> kills{0}, reports{0}, deaf{0}; // srun is, the next so many times
    std::atomic<int> reported{-1};                  // the exit status
    std::optional<StepEnder> ender;
    std::vector<std::string> heard;
    EventLoop::Handle timer;

    explicit World(Duration first_pause = 10ms, Duration longest_pause = 40ms) {
        StepEnder::Calls calls;
        calls.first_pause = first_pause;
        calls.longest_pause = longest_pause;
        calls.report = [this](const StepEnd &end) -> Result<void> {
            ++reports;
            if (deaf > 0 && deaf-- > 0)
                return error(ErrorKind::unreachable, "srun is away");
            reported = end.exit_status;
            return {};
        };
        calls.kill = [this]() -> Result<void> {
            ++kills;
            if (fails > 0 && fails-- > 0)
                return error(how, "no");
            return {};
        };
        ender.emplace(*loop, log, calls);
    }
    void end(int status) {
        ender->end({status, "because"}, [this](Result<void> ended) { heard.push_back(ended ? "ended" : "failed"); });
    }
    // Runs the loop for that long.
    void run(Duration time) {
        timer = loop->after(time, [this] { loop->stop(); });
        assert_true(loop->run().ok());
    }
    // Runs the loop until that has happened.
    void until(std::function<bool()> condition) {
        std::function<void()> look = [&] {
            if (condition())
                return loop->stop();
            timer = loop->after(1ms, look);
        };
        look();
        assert_true(loop->run().ok());
    }
    static constexpr Duration much_later = 300ms; // than what is tried again
};

void a_slurmctld_that_is_away_is_asked_until_it_is_back(void **) {
    World world;
    world.fails = 4;
    world.end(7);
    world.until([&] { return world.kills == 5; });
    world.run(World::much_later);
    assert_int_equal(world.kills.load(), 6); // as below
    assert_int_equal(world.reports.load(), 1);
    assert_true(world.heard == std::vector<std::string>{"failed"}); // at once
}

// For hosts that were just starting their tasks.
void one_that_has_killed_is_asked_once_more(void **) {
    World world;
    world.end(7);
    world.until([&] { return world.kills == 2; });
    world.run(World::much_later);
    assert_int_equal(world.kills.load(), 2);
    assert_int_equal(world.reported.load(), 7);
    assert_true(world.heard == std::vector<std::string>{"ended"});
}

// The pause before is the first one again, however long those were before Slurm was back.
void one_that_has_killed_at_last_is_asked_once_more_soon(void **) {
    World world(10ms, 10s);
    world.fails = 6; // the pauses come to 630 ms, and the next one would be 640 ms
    world.end(7);
    world.until([&] { return world.kills == 7; });
    auto killed = std::chrono::steady_clock::now();
    world.until([&] { return world.kills == 8; });
    assert_true(std::chrono::steady_clock::now() - killed < 500ms);
    world.run(World::much_later);
    assert_int_equal(world.kills.load(), 8);
}

void what_is_denied_is_not_asked_again(void **) {
    World world;
    world.fails = 1000;
    world.how = ErrorKind::denied;
    world.end(7);
    world.run(World::much_later);
    assert_int_equal(world.kills.load(), 1);
    assert_true(world.heard == std::vector<std::string>{"failed"});
}

void an_srun_that_does_not_hear_is_told_again(void **) {
    World world;
    world.deaf = 2;
    world.fails = 3;
    world.end(7);
    world.end(8); // the first counts
    world.until([&] { return world.kills == 4; });
    world.run(World::much_later);
    assert_int_equal(world.reports.load(), 3);
    assert_int_equal(world.reported.load(), 7);
    assert_true((world.heard == std::vector<std::string>{"failed", "failed"}));
}

void who_asks_while_it_is_tried_again_is_answered_at_once(void **) {
    World world;
    world.fails = 1;
    world.end(7);
    world.until([&] { return !world.heard.empty(); });
    world.end(7);
    world.until([&] { return world.heard.size() == 2; });
    assert_true((world.heard == std::vector<std::string>{"failed", "ended"}));
}

void who_leaves_tries_nothing_more(void **) {
    World world;
    world.fails = 1000;
    world.end(7);
    world.until([&] { return world.kills > 2; });
    assert_true(world.ender->finish(5s));
    int kills = world.kills;
    world.run(World::much_later);
    assert_int_equal(world.kills.load(), kills);
}

void who_leaves_waits_for_what_is_tried(void **) {
    World world;
    world.end(7);
    assert_true(world.ender->finish(5s));
    assert_int_equal(world.kills.load(), 1);
}

// Whoever is answered may end it.
void an_answer_may_be_the_last_thing(void **) {
    World world;
    int answers = 0;
    for (int i = 0; i < 2; ++i)
        world.ender->end({1, "because"}, [&](Result<void>) {
            ++answers;
            world.ender.reset();
        });
    world.until([&] { return answers == 2; });
}

Result<void> killed(std::vector<int> answers) {
    std::vector<std::uint32_t> jobs;
    for (std::uint32_t job = 0; job < answers.size(); ++job)
        jobs.push_back(job);
    std::size_t asked = 0;
    auto result = kill_steps(jobs, 0, [&](std::uint32_t job) {
        ++asked;
        return answers[job];
    });
    assert_int_equal(asked, answers.size());
    return result;
}

void it_is_over_where_it_is_over_in_all_jobs(void **) {
    assert_true(killed({0}).ok());
    assert_true(killed({ESLURM_INVALID_JOB_ID}).ok());
    assert_true(killed({0, ESLURM_ALREADY_DONE}).ok());
    for (int away : {SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT, ESLURM_TRANSITION_STATE_NO_UPDATE}) {
        assert_true(killed({away}).failure().kind == ErrorKind::unreachable);
        assert_true(killed({0, away}).failure().kind == ErrorKind::unreachable);
        assert_true(killed({away, ESLURM_ACCESS_DENIED}).failure().kind == ErrorKind::unreachable);
        assert_true(killed({ESLURM_ACCESS_DENIED, away}).failure().kind == ErrorKind::unreachable);
    }
    for (int never : {ESLURM_ACCESS_DENIED, ESLURM_USER_ID_MISSING})
        assert_true(killed({0, never}).failure().kind == ErrorKind::denied);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_slurmctld_that_is_away_is_asked_until_it_is_back),
        cmocka_unit_test(one_that_has_killed_is_asked_once_more),
        cmocka_unit_test(one_that_has_killed_at_last_is_asked_once_more_soon),
        cmocka_unit_test(what_is_denied_is_not_asked_again),
        cmocka_unit_test(an_srun_that_does_not_hear_is_told_again),
        cmocka_unit_test(who_asks_while_it_is_tried_again_is_answered_at_once),
        cmocka_unit_test(who_leaves_tries_nothing_more),
        cmocka_unit_test(who_leaves_waits_for_what_is_tried),
        cmocka_unit_test(an_answer_may_be_the_last_thing),
        cmocka_unit_test(it_is_over_where_it_is_over_in_all_jobs),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
