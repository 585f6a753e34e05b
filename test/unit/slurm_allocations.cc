// Allocations that processes ask for, with a Slurm that does what the test says: what is granted, waited
// for, taken back.
#include "plugins/slurm/backend/allocation_calls.h"
#include "plugins/slurm/backend/which_steps.h"

#include <atomic>
#include <optional>
#include <unistd.h>

#include "test/unit/check.h"
#include "test/unit/gate.h"
#include "test/unit/run_until.h"

using namespace pmixhost;
using namespace pmixhost::slurm;
using namespace std::chrono_literals;

namespace {

struct World {
    std::unique_ptr<EventLoop> loop = make_loop();
    Log log{2, LogLevel::error, "test"};
    std::string hopeless;
    std::atomic<int> looks_until_granted{0};
    std::atomic<int> cancelled{0};
    std::atomic<int> away{0}; // the next so many cancellations
    std::atomic<ErrorKind> how{ErrorKind::unreachable};
    std::atomic<bool> dead{false}; // the job waits no more, and was not granted
    std::shared_ptr<OneTimeGate> opening = std::make_shared<OneTimeGate>();
    std::atomic<bool> deaf{false}; // submit waits for `opening`
    OneTimeGate submitting;
    std::optional<Allocations> allocations;
    std::optional<Result<RmAllocated>> outcome;

    World() {
        Allocations::Slurm slurm;
        slurm.submit = [this](const RmAllocation &request) -> Result<std::uint32_t> {
            if (request.queue == "nowhere")
                return error(ErrorKind::not_found, "no queue");
            if (deaf) {
                submitting.open();
                opening->wait();
            }
            return std::uint32_t{77};
        };
        slurm.look = [this](std::uint32_t) -> Result<Allocations::Slurm::State> {
            Allocations::Slurm::State state;
            if (dead)
                return error(ErrorKind::limit, "cancelled");
            state.waits = looks_until_granted-- > 0;
            state.hopeless = state.waits ? hopeless : "";
            if (!state.waits)
                state.granted.allocation = "77";
            return state;
        };
        slurm.cancel = [this](std::uint32_t job) -> Result<void> {
            if (job == 77)
                ++cancelled;
            if (away > 0 && away-- > 0)
                return error(how, "no");
            return {};
        };
        slurm.change = [](const RmAllocation &request, std::uint32_t own) -> Result<RmAllocated> {
            RmAllocated changed;
            changed.allocation = request.allocation.empty() ? std::to_string(own) : request.allocation;
            return changed;
        };
        allocations.emplace(*loop, log, 12, slurm);
    }
    void ask(RmAllocation request, TimePoint deadline = TimePoint::max()) {
        allocations->allocate(1, std::move(request), deadline, [this](Result<RmAllocated> result) {
            assert_false(outcome.has_value());
            outcome = std::move(result);
            loop->stop();
        });
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
    EventLoop::Handle timer;
};

RmAllocation of_queue(const char *name) {
    RmAllocation request;
    request.queue = name;
    return request;
}

void what_is_granted_is_told(void **) {
    World world;
    world.looks_until_granted = 2;
    world.ask({});
    assert_true(world.loop->run().ok());
    assert_true(world.outcome->ok());
    assert_string_equal((*world.outcome)->allocation.c_str(), "77");
    world.allocations.reset();
    assert_int_equal(world.cancelled.load(), 0); // it stays
}

void what_its_queue_could_never_hold_is_told_at_once_where_that_is_wished(void **) {
    RmAllocation request;
    request.fails_if_hopeless = true;
    World world;
    world.looks_until_granted = 1000;
    world.hopeless = "too many hosts";
    world.ask(request);
    assert_true(world.loop->run().ok());
    assert_true(world.outcome->failure().kind == ErrorKind::limit);
    assert_non_null(strstr(world.outcome->failure().text.c_str(), "too many hosts"));
    world.until([&] { return world.cancelled == 1; });
    World patient;
    patient.looks_until_granted = 1000;
    patient.hopeless = "too many hosts";
    patient.ask({}, patient.loop->now() + 300ms);
    assert_true(patient.loop->run().ok());
    assert_true(patient.outcome->failure().kind == ErrorKind::timeout);
    assert_non_null(strstr(patient.outcome->failure().text.c_str(), "too many hosts"));
}

void what_is_refused_is_told(void **) {
    World world;
    world.ask(of_queue("nowhere"));
    assert_true(world.loop->run().ok());
    assert_true(world.outcome->failure().kind == ErrorKind::not_found);
    world.allocations.reset();
    assert_int_equal(world.cancelled.load(), 0);
}

void what_ends_in_the_queue_is_told(void **) {
    World world;
    world.dead = true;
    world.ask({});
    assert_true(world.loop->run().ok());
    assert_true(world.outcome->failure().kind == ErrorKind::limit);
}

void what_comes_too_late_is_taken_back(void **) {
    World world;
    world.looks_until_granted = INT32_MAX;
    world.ask({}, world.loop->now() + 20ms);
    assert_true(world.loop->run().ok());
    assert_true(world.outcome->failure().kind == ErrorKind::timeout);
    world.until([&] { return world.cancelled == 1; });
}

void an_answer_after_the_deadline_is_taken_back(void **) {
    World world;
    world.deaf = true;
    world.ask({}, world.loop->now() + 20ms);
    assert_true(world.loop->run().ok());
    assert_true(world.outcome->failure().kind == ErrorKind::timeout);
    assert_int_equal(world.cancelled.load(), 0); // nothing is known of it yet
    world.opening->open();
    world.until([&] { return world.cancelled == 1; });
}

void the_abandoned_is_taken_back(void **) {
    World world;
    world.looks_until_granted = INT32_MAX;
    world.ask({});
    world.until([&] { return world.looks_until_granted < INT32_MAX; });
    world.allocations->abandon(1);
    world.until([&] { return world.cancelled == 1; });
    assert_false(world.outcome.has_value());
    world.allocations->abandon(1);
    world.allocations->abandon(9);
}

void a_slurmctld_that_is_away_is_asked_again_to_take_it_back(void **) {
    for (bool abandoned : {false, true}) {
        World world;
        world.away = 2;
        world.looks_until_granted = INT32_MAX;
        world.ask({}, abandoned ? TimePoint::max() : world.loop->now() + 20ms);
        if (abandoned) {
            world.until([&] { return world.looks_until_granted < INT32_MAX; });
            world.allocations->abandon(1);
        } else {
            assert_true(world.loop->run().ok()); // until its caller is told
        }
        world.until([&] { return world.cancelled == 3; });
        auto later = world.loop->after(500ms, [&] { world.loop->stop(); });
        assert_true(world.loop->run().ok());
        assert_int_equal(world.cancelled.load(), 3);
    }
}

void what_slurm_will_never_take_back_or_does_not_know_is_not_asked_again(void **) {
    for (ErrorKind how : {ErrorKind::not_found, ErrorKind::denied}) {
        World world;
        world.away = 1000;
        world.how = how;
        world.looks_until_granted = INT32_MAX;
        world.ask({});
        world.until([&] { return world.looks_until_granted < INT32_MAX; });
        world.allocations->abandon(1);
        auto later = world.loop->after(500ms, [&] { world.loop->stop(); });
        assert_true(world.loop->run().ok());
        assert_int_equal(world.cancelled.load(), 1);
    }
}

void who_leaves_says_what_is_left(void **) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    Log log(ends[1], LogLevel::warning, "test");
    World world;
    Allocations::Slurm slurm;
    slurm.submit = [](const RmAllocation &) -> Result<std::uint32_t> { return std::uint32_t{78}; };
    slurm.look = [&](std::uint32_t) -> Result<Allocations::Slurm::State> {
        world.looks_until_granted = 1;
        Allocations::Slurm::State state;
        state.waits = true;
        return state;
    };
    slurm.cancel = [](std::uint32_t) -> Result<void> { return error(ErrorKind::unreachable, "no"); };
    world.allocations.emplace(*world.loop, log, 12, slurm);
    world.ask({});
    world.until([&] { return world.looks_until_granted == 1; });
    world.allocations.reset();
    char text[1024] = "";
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_non_null(strstr(text, "78; next: scancel"));
    close(ends[0]);
    close(ends[1]);
}

// Who leaves waits for that, since nobody would know the job's number.
void it_is_known_that_slurm_is_being_asked(void **) {
    World world;
    world.deaf = true;
    assert_false(world.allocations->is_submitting());
    world.ask({});
    world.submitting.wait();
    world.allocations->abandon(1);
    assert_true(world.allocations->is_submitting());
    world.opening->open();
    world.until([&] { return world.cancelled == 1; });
    assert_false(world.allocations->is_submitting());
}

void who_leaves_takes_back_what_waits(void **) {
    World world;
    world.looks_until_granted = INT32_MAX;
    world.ask({});
    world.until([&] { return world.looks_until_granted < INT32_MAX; });
    world.allocations.reset();
    assert_int_equal(world.cancelled.load(), 1);
    assert_false(world.outcome.has_value());
}

void changes_are_not_waited_for(void **) {
    World world;
    RmAllocation request;
    request.kind = RmAllocation::Kind::extend;
    world.ask(request);
    assert_true(world.loop->run().ok());
    assert_string_equal((*world.outcome)->allocation.c_str(), "12");
}

void a_job_is_a_number(void **) {
    assert_int_equal(*job_number("12"), 12);
    assert_int_equal(*job_number("4294967295"), UINT32_MAX);
    for (const char *bad : {"", "0", "12x", "-1", "+1", " 1", "12_3", "0x1", "4294967296", "--all"})
        assert_true(job_number(bad).failure().kind == ErrorKind::not_found);
}

void seconds_are_minutes(void **) {
    assert_int_equal(minutes_of(1), 1);
    assert_int_equal(minutes_of(60), 1);
    assert_int_equal(minutes_of(61), 2);
    assert_int_equal(minutes_of(UINT32_MAX), 71582789);
}

void hosts_are_taken_from_others(void **) {
    auto left = without({"a", "b", "c"}, {"b"});
    assert_true((*left == std::vector<std::string>{"a", "c"}));
    assert_true(without({"a", "b"}, {"b", "a"})->empty());
    assert_true(without({"a"}, {"z"}).failure().kind == ErrorKind::not_found);
}

// The number of an array is that of one of its tasks too.
void the_tasks_of_an_array_are_jobs_of_their_own(void **) {
    constexpr std::uint32_t array = 100, first_task = 101, last_task = 100;
    assert_true(is_other_task(array, array, first_task));
    assert_false(is_other_task(array, array, last_task));
    assert_false(is_other_task(first_task, array, first_task));
    assert_false(is_other_task(12, 0, 13)); // components of a het job
    assert_false(is_other_task(NO_VAL, array, first_task));
}

void the_shell_of_salloc_holds_its_host(void **) {
    for (std::uint32_t program : {0u, 7u})
        assert_true(runs_program(program) && holds_host(program));
    for (std::uint32_t of_slurm : {SLURM_BATCH_SCRIPT, SLURM_EXTERN_CONT})
        assert_false(runs_program(of_slurm) || holds_host(of_slurm));
    assert_true(!runs_program(SLURM_INTERACTIVE_STEP) && holds_host(SLURM_INTERACTIVE_STEP));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_granted_is_told),
        cmocka_unit_test(what_its_queue_could_never_hold_is_told_at_once_where_that_is_wished),
        cmocka_unit_test(what_is_refused_is_told),
        cmocka_unit_test(what_ends_in_the_queue_is_told),
        cmocka_unit_test(what_comes_too_late_is_taken_back),
        cmocka_unit_test(an_answer_after_the_deadline_is_taken_back),
        cmocka_unit_test(the_abandoned_is_taken_back),
        cmocka_unit_test(a_slurmctld_that_is_away_is_asked_again_to_take_it_back),
        cmocka_unit_test(what_slurm_will_never_take_back_or_does_not_know_is_not_asked_again),
        cmocka_unit_test(who_leaves_says_what_is_left),
        cmocka_unit_test(it_is_known_that_slurm_is_being_asked),
        cmocka_unit_test(who_leaves_takes_back_what_waits),
        cmocka_unit_test(changes_are_not_waited_for),
        cmocka_unit_test(a_job_is_a_number),
        cmocka_unit_test(seconds_are_minutes),
        cmocka_unit_test(hosts_are_taken_from_others),
        cmocka_unit_test(the_tasks_of_an_array_are_jobs_of_their_own),
        cmocka_unit_test(the_shell_of_salloc_holds_its_host),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
