// Which steps of other hosts are tried when, what is said of them (tools/view/reach_plan.h), and the words by which
// desks tell (common/rendezvous/desk_word.h).
#include "tools/view/reach_plan.h"
#include "common/rendezvous/desk_word.h"

#include <cstring>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

using Names = std::vector<std::string>;
using namespace std::chrono_literals;

} // namespace

static void steps_without_pmixhost_are_counted(void **) {
    ReachPlan plan;
    ReachPlan::Time now{};
    assert_true(plan.due({"12.0", "13.1", "14.0"}, now) == (Names{"12.0", "13.1", "14.0"}));
    assert_string_equal(plan.unserved().c_str(), "");
    plan.failed("12.0", error(ErrorKind::unsupported, "no pmixhost"), now);
    assert_string_equal(plan.unserved().c_str(), "1 step of yours is not served by pmixhost: 12.0");
    plan.failed("13.1", error(ErrorKind::unsupported, "no pmixhost"), now);
    plan.failed("14.0", error(ErrorKind::not_found, "it has ended"), now);
    assert_string_equal(plan.unserved().c_str(), "2 steps of yours are not served by pmixhost: 12.0, 13.1");
    assert_true(plan.complaints().empty());
    // They may be starting, and are not asked for ever.
    assert_true(plan.due({"12.0", "13.1", "14.0"}, now + 9s) == (Names{"14.0"}));
    assert_true(plan.due({"12.0", "13.1"}, now + 10s) == (Names{"12.0", "13.1"}));
    plan.reached("13.1");
    int tries = 0;
    for (auto time = 10s; time < 1h; time += 2s) {
        for (const auto &step : plan.due({"12.0"}, now + time)) {
            plan.failed(step, error(ErrorKind::unsupported, "no pmixhost"), now + time);
            ++tries;
        }
    }
    assert_in_range(tries, 14, 18);
    assert_true(plan.due({"13.1"}, now + 1h) == (Names{"13.1"}));
    assert_string_equal(plan.unserved().c_str(), ""); // 12.0 has ended
    ReachPlan many;
    for (int i = 10; i < 40; ++i)
        many.failed(fmt::format("{}.0", i), error(ErrorKind::unsupported, "no pmixhost"), now);
    assert_non_null(strstr(many.unserved().c_str(), ", 29.0 and 10 more"));
}

static void one_cause_is_told_once(void **) {
    ReachPlan plan;
    ReachPlan::Time now{};
    for (const char *step : {"12.0", "9.0"})
        plan.failed(step, error(ErrorKind::denied, "job slurm.{}{}a rule; change it", step, lets_no_tools_in), now);
    plan.failed("14.0", error(ErrorKind::timeout, "it was not reached in time"), now);
    auto said = plan.complaints();
    assert_int_equal(said.size(), 2);
    assert_string_equal(said[0].c_str(),
                        "job 14.0: not on this host, and not reached elsewhere: it was not reached in time");
    assert_string_equal(said[1].c_str(), "jobs 9.0, 12.0: tools of this host are not let in: a rule; change it");
    assert_string_equal(plan.unserved().c_str(), "");
    // Rules hold as long as a job does; hosts come back.
    assert_true(plan.due({"12.0", "9.0", "14.0"}, now + 24h) == (Names{"14.0"}));
    assert_true(plan.due({"9.0", "14.0"}, now + 29s).empty());
    assert_string_equal(plan.complaints()[1].c_str(), "job 9.0: tools of this host are not let in: a rule; change it");
}

static void desks_tell_of_what_kind_a_failure_is(void **) {
    assert_string_equal(parse_desk_word(desk_serves("slurm.12.0"))->c_str(), "slurm.12.0");
    for (const auto &one : failure_kinds) {
        auto told = parse_desk_word(desk_failed(error(one.kind, "why it is so")));
        assert_true(told.failure().kind == one.kind);
        assert_string_equal(told.failure().text.c_str(), "why it is so");
    }
    for (const char *wrong : {"", "x", "failed", "failed because", "failed denied", "serving"}) {
        auto told = parse_desk_word(wrong);
        assert_true(!told && told.failure().kind == ErrorKind::system);
    }
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(steps_without_pmixhost_are_counted),
        cmocka_unit_test(one_cause_is_told_once),
        cmocka_unit_test(desks_tell_of_what_kind_a_failure_is),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
