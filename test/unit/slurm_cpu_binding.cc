// Which word PMIx has for what srun was asked to bind tasks to.
#include "plugins/slurm/shim/cpu_binding.h"

#include "test/unit/check.h"

using namespace pmixhost::slurm;

static void check_word(const char *plugins, const char *cpu_bind, const char *word) {
    assert_string_equal(binding_policy(plugins, cpu_bind).c_str(), word);
}

static void what_was_asked_for_has_a_word(void **) {
    check_word("task/affinity", "none", "none");
    check_word("task/affinity", "threads", "hwthread");
    check_word("affinity,cgroup", "cores", "core");
    check_word("task/cgroup,task/affinity", "verbose,sockets", "package");
    check_word("affinity", "quiet,ldoms,one_thread", "numa");
}

static void what_has_no_word_is_left_out(void **) {
    for (const char *other : {"", "(null type)", "map_cpu", "mask_cpu", "rank", "boards", "verbose", ",", "coresx"})
        check_word("task/affinity", other, "");
}

// Slurm takes the option and does nothing then.
static void without_affinity_nothing_is_bound(void **) {
    check_word("", "cores", "none");
    check_word("task/none", "cores", "none");
    check_word("task/cgroup", "", "none");
    check_word("task/ours", "cores", ""); // who knows
    check_word("task/ours,task/affinity", "cores", "");
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_was_asked_for_has_a_word),
        cmocka_unit_test(what_has_no_word_is_left_out),
        cmocka_unit_test(without_affinity_nothing_is_bound),
    };
    return cmocka_run_group_tests_name("binding of tasks", tests, nullptr, nullptr);
}
