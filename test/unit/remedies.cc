// Which remedies the tasks of a step get: what a site wants, where the step needs it.
#include "server-glue/tasks/remedies.h"

#include "test/unit/check.h"

#include <algorithm>

using namespace pmixhost;

namespace {

StepInfo step_of(Rank ranks, std::uint32_t slots) {
    StepInfo step;
    std::vector<Rank> all;
    for (Rank rank = 0; rank < ranks; ++rank)
        all.push_back(rank);
    auto map = JobMap::create({"n1"}, {all});
    assert_true(map.ok());
    step.map = std::move(*map);
    step.universe_size = slots;
    return step;
}

bool without_han(const Settings &settings, const StepInfo &step) {
    auto entries = remedies_of_tasks(settings, step);
    return std::find(entries.begin(), entries.end(), "?OMPI_MCA_coll=^han") != entries.end();
}

void where_a_job_may_be_connected_with_another(void **) {
    Settings settings;
    assert_false(without_han(settings, step_of(4, 4)));
    assert_true(without_han(settings, step_of(3, 4)));
    assert_true(without_han(settings, step_of(4, 0))); // no limit is known
    StepInfo child = step_of(4, 4);
    child.parent = StepInfo::Parent{};
    assert_true(without_han(settings, child));
    settings.mpi_remedies = {"openmpi-reachable"};
    assert_false(without_han(settings, child));
    assert_false(without_han(settings, step_of(3, 4)));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {cmocka_unit_test(where_a_job_may_be_connected_with_another)};
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
