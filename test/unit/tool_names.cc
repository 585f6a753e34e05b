// The names that tools get: each is another one, and whose it is may say it again.
#include "server-glue/tool_access/tool_names.h"

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

void each_is_another_one(void **) {
    ToolNames names("slurm.1.0", 2);
    assert_string_equal(names.next().nspace.c_str(), "slurm.1.0.tool.2.1");
    assert_string_equal(names.next().nspace.c_str(), "slurm.1.0.tool.2.2");
}

void what_was_given_may_be_said_again(void **) {
    ToolNames names("slurm.1.0", 2);
    assert_false(names.may_be_said("slurm.1.0.tool.2.1"));
    names.next();
    assert_true(names.may_be_said("slurm.1.0.tool.2.1"));
    assert_false(names.may_be_said("slurm.1.0.tool.2.2")); // another tool will get it
}

void other_daemons_give_names_too(void **) {
    ToolNames names("slurm.1.0", 2);
    assert_true(names.may_be_said("slurm.1.0.tool.3.7"));
    assert_true(names.may_be_said("slurm.1.1.tool.2.7"));
}

void what_nobody_gives_is_no_name(void **) {
    ToolNames names("slurm.1.0", 2);
    names.next();
    for (const char *bad : {"", ".", "slurm.1.0", "slurm.1.0.tool", "slurm.1.0.tool.", "slurm.1.0.tool.2",
                            "slurm.1.0.tool.2.", "slurm.1.0.tool.2.0", "slurm.1.0.tool.2.01", "slurm.1.0.tool.02.1",
                            "slurm.1.0.tool.2.+1", "slurm.1.0.tool.2.1 ", "slurm.1.0.tool.3.99999999999999999999",
                            ".tool.3.1", "slurm.1.0.server", "slurm.1.0.1.1"})
        assert_false(names.may_be_said(bad));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(each_is_another_one),
        cmocka_unit_test(what_was_given_may_be_said_again),
        cmocka_unit_test(other_daemons_give_names_too),
        cmocka_unit_test(what_nobody_gives_is_no_name),
    };
    return cmocka_run_group_tests_name("names of tools", tests, nullptr, nullptr);
}
