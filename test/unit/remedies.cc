// Which remedies the tasks of a step get: what a site wants, where the step needs it.
#include "server-glue/tasks/remedies.h"

#include "server-glue/library/library_version.h"

#include "test/unit/check.h"

#include <algorithm>
#include <cstdlib>

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

bool has(std::string_view variable, const Settings &settings, const StepInfo &step) {
    auto entries = remedies_of_tasks(settings, step);
    return std::find(entries.begin(), entries.end(), "?" + std::string(variable)) != entries.end();
}

bool without_han(const Settings &settings, const StepInfo &step) {
    return has("OMPI_MCA_coll=^han", settings, step);
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

void where_the_library_ends_connections_for_large_messages(void **) {
    static constexpr const char *name = "PMIX_MCA_ptl_base_max_msg_size",
                                *variable = "PMIX_MCA_ptl_base_max_msg_size=4096";
    Settings settings;
    bool needed = library_version() >= LibraryVersion{6, 1, 0};
    assert_int_equal(has(variable, settings, step_of(4, 4)), needed);
    unsetenv(name);
    set_remedies_of_daemon(settings);
    assert_int_equal(getenv(name) != nullptr, needed);
    unsetenv(name);
    settings.mpi_remedies = {"pmix-store"};
    assert_false(has(variable, settings, step_of(4, 4)));
    set_remedies_of_daemon(settings);
    assert_null(getenv(name));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(where_a_job_may_be_connected_with_another),
        cmocka_unit_test(where_the_library_ends_connections_for_large_messages),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
