// The plugin as Slurm's programs load it: by dlopen, again and again, with hooks that stay silent.
#include "plugins/kit/starter_address.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/base/task_map.h"
#include "test/unit/slurm_fakes.h"

#include <dlfcn.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace pmixhost::slurm;
using namespace pmixhost::kit;

#define EXPORT __attribute__((visibility("default")))
static int errors = 0;
extern "C" {
EXPORT decltype(slurm_error(nullptr)) slurm_error(const char *, ...) {
    ++errors;
    return decltype(slurm_error(nullptr))();
}
EXPORT void slurm_info(const char *, ...) {}
EXPORT int MPIR_being_debugged = 0; // srun's
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
EXPORT int slurm_kill_job_step(std::uint32_t, std::uint32_t, std::uint16_t) {
    return 0;
}
#endif
}

static const char *plugin = "plugins/slurm/.libs/mpi_pmixhost.so";

static void *load() {
    void *handle = dlopen(plugin, RTLD_LAZY);
    if (!handle)
        fail_msg("%s", dlerror());
    return handle;
}

static void it_can_be_unloaded(void **) {
    for (int i = 0; i < 3; ++i) {
        void *handle = load();
        auto init = reinterpret_cast<int (*)()>(dlsym(handle, "init"));
        auto fini = reinterpret_cast<int (*)()>(dlsym(handle, "fini"));
        assert_int_equal(init(), 0);
        assert_int_equal(fini(), 0);
        dlclose(handle);
        assert_null(dlopen(plugin, RTLD_LAZY | RTLD_NOLOAD));
    }
}

static void its_constants_are_slurms(void **) {
    void *handle = load();
    assert_string_equal(static_cast<const char *>(dlsym(handle, "plugin_type")), "mpi/pmixhost");
    assert_int_equal(*static_cast<std::uint32_t *>(dlsym(handle, "plugin_version")), SLURM_VERSION_NUMBER);
#if PMIXHOST_SLURM_HAS_PLUGIN_ID
    auto id = *static_cast<std::uint32_t *>(dlsym(handle, "plugin_id"));
    assert_true(id > 108 && id < 1u << 31);
#endif
    dlclose(handle);
}

#define STRING(x) #x
#define NAME_OF(x) STRING(x)

static void a_launch_is_described_and_ends(void **) {
    void *handle = load();
    auto prelaunch =
        reinterpret_cast<void *(*)(const void *, char ***)>(dlsym(handle, NAME_OF(PMIXHOST_HOOK_PRELAUNCH)));
    auto fini = reinterpret_cast<int (*)(void *)>(dlsym(handle, NAME_OF(PMIXHOST_HOOK_FINI)));
    // One host: for several munge would be tried.
    char hosts[] = "n1";
    std::uint16_t tasks[] = {3};
    std::uint32_t first[] = {0, 1, 2}, *ids[] = {first};
    slurm_step_layout_t layout{};
    layout.node_cnt = 1;
    layout.node_list = hosts;
    layout.tasks = tasks;
    layout.tids = ids;
    layout.task_cnt = 3;
    layout.task_dist = SLURM_DIST_BLOCK_CYCLIC;
    ClientInfo info{};
    info.het_job_id = NO_VAL;
    info.het_job_task_offset = NO_VAL;
    info.step_id.job_id = 12;
    info.step_id.step_id = 3;
    info.step_layout = &layout;

    // The environment of the hook is none of the user's: what he has set for his step is in srun's.
    FakeEnvironment environment;
    setenv("PMIXHOST_IO_CAPTURE", "on", 1);
    setenv("PMIXHOST_DEBUG_STOP", "exec", 1);
    void *state = prelaunch(&info, &environment.array);
    assert_non_null(state);
    assert_string_equal(environment.get("PMIXHOST_OF_SRUN_IO_CAPTURE").c_str(), "on");
    assert_string_equal(environment.get("PMIXHOST_OF_SRUN_DEBUG_STOP").c_str(), "exec");
    assert_string_equal(environment.get("PMIXHOST_IO_CAPTURE").c_str(), "(none)");
    auto map = decode_task_map(environment.get("PMIXHOST_STEP_0").substr(2));
    assert_true(map.ok());
    assert_int_equal(map->job_id, 12);
    assert_int_equal(map->step_id, 3);
    assert_string_equal(map->host_list.c_str(), "n1");
    assert_string_equal(map->distribution.c_str(), "block");
    assert_true(map->ranks_by_host == (std::vector<std::vector<Rank>>{{0, 1, 2}}));
    assert_false(map->start_key.empty());
    assert_true(StarterAddress::parse(environment.get("PMIXHOST_REPORT")).ok());
    assert_int_equal(fini(state), 0);
    assert_int_equal(fini(nullptr), 0);

    // A debugger that follows srun by its own interface, and comes when the plugin has been loaded.
    errors = 0;
    MPIR_being_debugged = 1;
    assert_null(prelaunch(&info, &environment.array));
    assert_int_equal(errors, 1);
    unsetenv("PMIXHOST_DEBUG_STOP");
    state = prelaunch(&info, &environment.array);
    assert_non_null(state);
    assert_string_equal(environment.get("PMIXHOST_DEBUG_STOP").c_str(), "");
    assert_int_equal(fini(state), 0);
    MPIR_being_debugged = 0;

    errors = 0;
    info.step_layout = nullptr;
    assert_null(prelaunch(&info, &environment.array));
    assert_int_equal(errors, 1);
    dlclose(handle);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(it_can_be_unloaded),
        cmocka_unit_test(its_constants_are_slurms),
        cmocka_unit_test(a_launch_is_described_and_ends),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
