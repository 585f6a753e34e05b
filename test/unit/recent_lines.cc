// What is kept of what was shown.
#include "tools/view/recent_lines.h"

#include <fmt/format.h>

#include "test/unit/check.h"

using namespace pmixhost;

static void a_little_is_all_there(void **) {
    RecentLines lines;
    assert_true(lines.last().empty());
    lines.add("one\ntw");
    lines.add("o\nthr");
    assert_true(lines.last() == "one\ntwo\nthr");
}

static void of_much_the_last_whole_lines_are(void **) {
    RecentLines lines;
    std::string all;
    for (int i = 0; i < 60'000; ++i) {
        std::string line = fmt::format("line {:05} {}\n", i, std::string(static_cast<std::size_t>(i % 97), '.'));
        lines.add(line);
        all += line;
    }
    auto last = lines.last();
    assert_true(last.size() <= RecentLines::most_bytes && last.size() > RecentLines::most_bytes - 200);
    assert_true(all.ends_with(last) && last.starts_with("line "));
}

static void a_line_may_begin_where_it_is_cut(void **) {
    RecentLines lines;
    lines.add("first\n");
    lines.add(std::string(RecentLines::most_bytes - 1, 'x') + "\n");
    assert_int_equal(lines.last().size(), RecentLines::most_bytes);
    assert_int_equal(lines.last().front(), 'x');
}

static void a_line_that_is_too_long_is_cut(void **) {
    RecentLines lines;
    for (int i = 0; i < 40; ++i)
        lines.add(std::string(100'000, static_cast<char>('a' + i % 26)));
    assert_int_equal(lines.last().size(), RecentLines::most_bytes);
    lines.add("\n");
    assert_int_equal(lines.last().size(), RecentLines::most_bytes);
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_little_is_all_there),
        cmocka_unit_test(of_much_the_last_whole_lines_are),
        cmocka_unit_test(a_line_may_begin_where_it_is_cut),
        cmocka_unit_test(a_line_that_is_too_long_is_cut),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
