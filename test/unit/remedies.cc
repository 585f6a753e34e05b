// Which remedies the tasks of a step get: what a site wants, where the step needs it.
#include "server-glue/tasks/remedies.h"

#include "common/process/captured_command.h"

#include "test/unit/check.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

using namespace pmixhost;

// A process has one version of the library for ever: this program runs itself for each that is to be tried.
static const char *library_text = "OpenPMIx 4.2.2, repo rev: v4.2.2";
extern "C" const char *PMIx_Get_version(void) {
    return library_text;
}

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
    return has("OMPI_MCA_coll_han_priority=-1", settings, step);
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

// What tasks and the daemon get of these two with a version of the library: "PMIX_MCA_gds=hash" and the like.
constexpr const char *of_the_library[] = {"PMIX_MCA_gds", "PMIX_MCA_ptl_base_max_msg_size"};

int show_remedies(const char *text, const std::string &store, const std::string &wanted) {
    library_text = text;
    Settings settings;
    settings.modex_store = store;
    if (wanted != "default")
        settings.mpi_remedies = {wanted};
    for (const auto &entry : remedies_of_tasks(settings, step_of(4, 4))) {
        for (const char *name : of_the_library) {
            if (entry.starts_with("?" + std::string(name) + "="))
                fmt::print("{}\n", entry.substr(1));
        }
    }
    for (const char *name : of_the_library)
        unsetenv(name);
    set_remedies_of_daemon(settings);
    for (const char *name : of_the_library) {
        if (const char *value = getenv(name))
            fmt::print("daemon {}={}\n", name, value);
    }
    return 0;
}

std::string remedies_with(const char *version, const char *store = "auto", const char *wanted = "default") {
    auto said = run_captured({"/proc/self/exe", version, store, wanted}, std::chrono::seconds(60));
    assert_true(said.ok() && said->code == 0);
    return said->out;
}

constexpr char own_store[] = "PMIX_MCA_gds=hash\ndaemon PMIX_MCA_gds=hash\n",
               large_messages[] = "PMIX_MCA_ptl_base_max_msg_size=4096\ndaemon PMIX_MCA_ptl_base_max_msg_size=4096\n",
               both[] = "PMIX_MCA_ptl_base_max_msg_size=4096\nPMIX_MCA_gds=hash\n"
                        "daemon PMIX_MCA_gds=hash\ndaemon PMIX_MCA_ptl_base_max_msg_size=4096\n";

void the_store_of_the_library_from_5_on(void **) {
    for (const char *version : {"4.2.2", "OpenPMIx 4.2.9, repo rev: v4.2.9"})
        assert_string_equal(remedies_with(version).c_str(), "");
    for (const char *version : {"5.0.0", "OpenPMIx 5.0.7, repo rev: v5.0.7", "6.0.0"})
        assert_string_equal(remedies_with(version).c_str(), own_store);
    // What modex.store says overrides it.
    assert_string_equal(remedies_with("5.0.7", "shared").c_str(), "");
    assert_string_equal(remedies_with("4.2.2", "own").c_str(), own_store);
    assert_string_equal(remedies_with("5.0.7", "own", "openmpi-han").c_str(), own_store);
    assert_string_equal(remedies_with("5.0.7", "auto", "openmpi-han").c_str(), "");
}

void where_the_library_ends_connections_for_large_messages(void **) {
    assert_string_equal(remedies_with("6.1.0").c_str(), both);
    assert_string_equal(remedies_with("7.0.0").c_str(), both);
    assert_string_equal(remedies_with("6.1.0", "shared").c_str(), large_messages);
    assert_string_equal(remedies_with("6.1.0", "auto", "pmix-store").c_str(), own_store);
    assert_string_equal(remedies_with("6.0.0", "auto", "pmix-messages").c_str(), "");
}

} // namespace

int main(int argc, char **argv) {
    if (argc == 4)
        return show_remedies(argv[1], argv[2], argv[3]);
    const CMUnitTest tests[] = {
        cmocka_unit_test(where_a_job_may_be_connected_with_another),
        cmocka_unit_test(the_store_of_the_library_from_5_on),
        cmocka_unit_test(where_the_library_ends_connections_for_large_messages),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
