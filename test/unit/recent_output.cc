// What is kept of what a stream's process wrote, with when it was written.
#include "server-glue/iof/recent_output.h"

#include <fmt/format.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

static constexpr TimePoint t0{std::chrono::hours(1)};

static constexpr std::size_t most_bytes = 16u << 10;

static std::string last(const RecentOutput &output, TimePoint since) {
    return std::string(output.last(since));
}

static void what_is_older_is_left_out(void **) {
    RecentOutput output(most_bytes);
    assert_string_equal(last(output, t0).c_str(), "");
    output.add(t0, "first ");
    output.add(t0 + 10s, "second ");
    output.add(t0 + 10s + RecentOutput::moment, "at once ");
    output.add(t0 + 20s, "third");
    output.add(t0 + 30s, "");
    assert_string_equal(last(output, TimePoint::min()).c_str(), "first second at once third");
    assert_string_equal(last(output, t0).c_str(), "first second at once third");
    assert_string_equal(last(output, t0 + 1ms).c_str(), "second at once third");
    assert_string_equal(last(output, t0 + 20s).c_str(), "third");
    assert_string_equal(last(output, t0 + 20s + 1ms).c_str(), "");
    assert_false(output.is_cut());
    assert_false(output.is_cut(t0 + 1ms));
}

static void the_bytes_have_a_bound(void **) {
    RecentOutput output(most_bytes);
    std::string all;
    for (int i = 0; i < 100; ++i) {
        std::string text = fmt::format("{:04}{}", i, std::string(996, '.'));
        output.add(t0 + i * 1s, text);
        all += text;
        auto kept = output.last();
        assert_true(kept.size() == std::min(all.size(), most_bytes) && all.ends_with(kept));
    }
    assert_int_equal(output.last(t0 + 90s).size(), 10'000);
    assert_true(output.last(t0 + 90s).starts_with("0090"));
    output.add(t0 + 100s, std::string(10 * most_bytes, 'x'));
    assert_true(output.last(t0 + 100s) == std::string(most_bytes, 'x'));
    assert_true(output.last(t0 + 101s).empty());
}

static void what_is_kept_no_more_is_known(void **) {
    RecentOutput output(10);
    output.add(t0, "0123456789");
    assert_false(output.is_cut());
    output.add(t0 + 10s, "ab");
    assert_string_equal(last(output, TimePoint::min()).c_str(), "23456789ab");
    assert_true(output.is_cut());
    assert_true(output.is_cut(t0));
    assert_false(output.is_cut(t0 + 5s)); // all of that is here
    output.add(t0 + 20s, "0123456789");   // the others are forgotten
    assert_true(output.is_cut(t0 + 5s));
    assert_false(output.is_cut(t0 + 15s));
    assert_false(output.is_cut(t0 + 30s));
    RecentOutput nothing(0);
    nothing.add(t0, "x");
    assert_true(nothing.last().empty() && nothing.is_cut(t0));
    assert_false(nothing.is_cut(t0 + 1s));
}

// A byte a second: times of long ago are known less exactly, and then more is shown rather than less.
static void the_times_have_a_bound(void **) {
    RecentOutput output(most_bytes);
    constexpr int seconds = 10'000;
    for (int i = 0; i < seconds; ++i)
        output.add(t0 + i * 1s, "x");
    for (int back : {0, 1, 2, 60, 100, 1000, 5000}) {
        auto size = static_cast<int>(output.last(t0 + (seconds - 1 - back) * 1s).size());
        if (size < back + 1 || size > back + 1 + back / 4 + 4)
            fail_msg("%d of the last %d", size, back + 1);
    }
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_older_is_left_out),
        cmocka_unit_test(the_bytes_have_a_bound),
        cmocka_unit_test(what_is_kept_no_more_is_known),
        cmocka_unit_test(the_times_have_a_bound),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
