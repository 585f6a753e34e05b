// When the RM is asked for the time that is left, and when the job is told.
#include "server-glue/allocation/time_warning.h"

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct World final : TimeWarningPort {
    TimePoint now{};
    std::vector<std::uint32_t> warned;
    std::function<void(Result<std::uint32_t>)> question;
    int asked = 0;
    TimeWarning warning;
    explicit World(Duration before) : warning(*this, before) {}
    void ask_time_left(std::function<void(Result<std::uint32_t>)> done) override {
        ++asked;
        question = std::move(done);
    }
    void warn_of_time(std::uint32_t seconds) override { warned.push_back(seconds); }
    TimePoint time_now() const override { return now; }
    // Goes on to the next time, which is this much later.
    void pass(Duration time) {
        assert_true(warning.next_time() == now + time);
        warning.on_time(warning.next_time() - 1ms);
        int before = asked;
        now = warning.next_time();
        warning.on_time(now);
        assert_int_equal(asked, before + 1);
        assert_true(warning.next_time() == TimePoint::max()); // until the answer is there
    }
};

void it_is_told_when_it_is_due(void **) {
    World world(60s);
    world.warning.start();
    world.pass(10s);
    world.question(600u);
    world.pass(540s);
    world.question(61u); // the RM's clock
    world.pass(1s);
    world.question(60u);
    assert_true(world.warned == std::vector<std::uint32_t>{60});
    world.pass(70s); // it still runs: its time was extended
    world.question(1000u);
    assert_int_equal(world.warned.size(), 1);
    world.pass(940s);
    world.question(0u);
    assert_int_equal(world.warned.size(), 2);
}

void there_may_be_no_limit_or_no_answer(void **) {
    World never(0s);
    never.warning.start();
    assert_true(never.warning.next_time() == TimePoint::max());

    World world(60s);
    world.warning.start();
    world.pass(10s);
    world.question(error(ErrorKind::unreachable, "slurmctld does not answer"));
    world.pass(5min);
    world.question(UINT32_MAX);
    assert_true(world.warning.next_time() == TimePoint::max());

    World local(60s);
    local.warning.start();
    local.pass(10s);
    local.question(error(ErrorKind::unsupported, "there is no RM"));
    assert_true(local.warning.next_time() == TimePoint::max());
    assert_true(local.warned.empty());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(it_is_told_when_it_is_due),
        cmocka_unit_test(there_may_be_no_limit_or_no_answer),
    };
    return cmocka_run_group_tests_name("warning of time", tests, nullptr, nullptr);
}
