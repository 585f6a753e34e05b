// The lines in which what happens to a job goes from process to process, and what people see of it; values as text.
#include "tools/view/event_lines.h"
#include "common/text/printable.h"
#include "tools/view/connection_loss.h"
#include "tools/view/value_text.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <pmix_tool.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

void an_event_goes_through_a_line(void **) {
    HeardEvent event{1795434001,
                     PMIX_ERR_PROC_ABORTED,
                     "PMIX_ERR_PROC_ABORTED",
                     "slurm.1.0:3",
                     {"slurm.1.0:3", "slurm.1.0:4"},
                     "n\t1\n",
                     137};
    std::string line = event_line(event);
    assert_int_equal(std::count(line.begin(), line.end(), '\n'), 1);
    assert_int_equal(line.back(), '\n');
    auto parsed = parse_event_line(std::string_view(line).substr(0, line.size() - 1));
    assert_true(parsed.has_value());
    assert_int_equal(parsed->time, 1795434001);
    assert_int_equal(parsed->code, PMIX_ERR_PROC_ABORTED);
    assert_int_equal(parsed->affected.size(), 2);
    assert_string_equal(parsed->affected[1].c_str(), "slurm.1.0:4");
    assert_string_equal(parsed->host.c_str(), "n 1 ");
    assert_int_equal(*parsed->exit_code, 137);
    auto plain = parse_event_line("7\t-1\tx\t\t\t\t");
    assert_true(plain && plain->affected.empty() && plain->host.empty() && !plain->exit_code);
    for (const char *none :
         {"", "ready", "\t\t\t\t\t\t", "x\t1\t\t\t\t\t", "1\tx\t\t\t\t\t", "1\t1\t\t\t\t", "1\t1\t\t\t\t\t\t"})
        assert_false(parse_event_line(none).has_value());
}

void people_see_a_line(void **) {
    HeardEvent event{1795434001, -1, "PMIX_ERR_PROC_ABORTED", "slurm.1.0:3", {"slurm.1.0:3"}, "n1", 137};
    assert_string_equal(shown_event(event).c_str(), "2026-11-23T11:40:01  PMIX_ERR_PROC_ABORTED  from slurm.1.0:3  of "
                                                    "slurm.1.0:3  on n1  exit code 137");
    event.affected.assign(300, "a:1");
    assert_non_null(std::strstr(shown_event(event).c_str(), "a:1 and 292 more  on n1"));
    assert_string_equal(shown_event({1795434001, 7, "7", "x:*", {}, "", {}}).c_str(),
                        "2026-11-23T11:40:01  7  from x:*");
}

void only_the_server_says_that_it_is_lost(void **) {
    pmix_proc_t server{}, rank{};
    std::strcpy(server.nspace, "slurm.1.0.server");
    std::strcpy(rank.nspace, "slurm.1.0");
    assert_true(is_loss_of("slurm.1.0.server", PMIX_ERR_LOST_CONNECTION, &server));
    assert_false(is_loss_of("slurm.1.0.server", PMIX_ERR_LOST_CONNECTION, &rank));
    assert_false(is_loss_of("slurm.1.0.server", PMIX_ERR_UNREACH, &server));
    assert_false(is_loss_of("slurm.1.0.server", PMIX_ERR_LOST_CONNECTION, nullptr));
}

void controls_of_two_bytes_are_none_for_a_terminal(void **) {
    assert_string_equal(printable("a\x1b[1mb\x7f").c_str(), "a?[1mb?");
    assert_string_equal(printable("\xc2\x9b"
                                  "31m")
                            .c_str(),
                        "??31m");
    assert_string_equal(printable("gr\xc3\xbc\xc3\x9f 20\xc2\xb0").c_str(), "gr\xc3\xbc\xc3\x9f 20\xc2\xb0");
    assert_string_equal(one_line("half \xc2").c_str(), "half  ");
}

void kinds_are_names_or_numbers(void **) {
    assert_true(check_event_kinds({}).ok());
    assert_true(check_event_kinds({"ended", "aborted", "host", "time", "job", "other", "-144", "7301"}).ok());
    for (const char *kind : {"", "all", "1x", "ended "})
        assert_false(check_event_kinds({"ended", kind}).ok());
}

void values_are_text(void **) {
    pmix_value_t value{};
    char text[] = "a\nb";
    value.type = PMIX_STRING;
    value.data.string = text;
    assert_string_equal(value_text(value).c_str(), "a b");
    value.type = PMIX_UINT64;
    value.data.uint64 = UINT64_MAX;
    assert_string_equal(value_text(value).c_str(), "18446744073709551615");
    value.type = PMIX_BOOL;
    value.data.flag = true;
    assert_string_equal(value_text(value).c_str(), "true");
    char bytes[100] = {0, static_cast<char>(0xff)};
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo = {bytes, 2};
    assert_string_equal(value_text(value).c_str(), "00ff");
    value.data.bo = {bytes, sizeof bytes};
    assert_non_null(std::strstr(value_text(value).c_str(), "... (100 bytes)"));
    value.data.bo = {nullptr, 0};
    assert_string_equal(value_text(value).c_str(), "");
    std::uint32_t numbers[] = {1, 2, 3};
    pmix_data_array_t array{PMIX_UINT32, 3, numbers};
    value.type = PMIX_DATA_ARRAY;
    value.data.darray = &array;
    assert_string_equal(value_text(value).c_str(), "1,2,3");
    value.type = PMIX_POINTER;
    assert_non_null(std::strstr(value_text(value).c_str(), "of type"));
}

// What names of attributes stand for is tried where libpmix has been initialised: test/e2e/common/commands.sh.
void a_key_is_its_own_name(void **) {
    assert_string_equal(key_of("a.key").c_str(), "a.key");
    assert_true(may_be_key("a") && !may_be_key("") && !may_be_key(std::string(PMIX_MAX_KEYLEN + 1, 'a')));
}

} // namespace

int main() {
    ::setenv("TZ", "UTC", 1);
    const CMUnitTest tests[] = {
        cmocka_unit_test(an_event_goes_through_a_line),
        cmocka_unit_test(people_see_a_line),
        cmocka_unit_test(only_the_server_says_that_it_is_lost),
        cmocka_unit_test(controls_of_two_bytes_are_none_for_a_terminal),
        cmocka_unit_test(kinds_are_names_or_numbers),
        cmocka_unit_test(values_are_text),
        cmocka_unit_test(a_key_is_its_own_name),
    };
    return cmocka_run_group_tests_name("event_lines", tests, nullptr, nullptr);
}
