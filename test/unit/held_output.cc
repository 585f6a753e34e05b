// Output that is held until it is much, or has waited long enough.
#include "server-glue/iof/held_output.h"

#include <fmt/format.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

static constexpr std::uint8_t out = wire::stdout_channel, err = wire::stderr_channel;
static constexpr TimePoint t0{std::chrono::hours(1)};

static std::string text_of(const std::vector<wire::OutputPiece> &pieces) {
    std::string text;
    for (const auto &piece : pieces)
        text +=
            fmt::format("{}{}:{}{};", piece.rank, piece.channel == out ? "o" : "e", piece.bytes, piece.end ? "$" : "");
    return text;
}

struct Held {
    HeldOutput output;
    explicit Held(HeldOutput::Rule rule, std::uint64_t most = 1000) { output.set(rule, most); }
    std::string add(TimePoint now, Rank rank, std::uint8_t channel, const std::string &bytes, bool end = false) {
        return text_of(output.add(now, {rank, channel, end, 0, bytes}));
    }
};

static void without_a_rule_nothing_is_held(void **) {
    Held held({});
    assert_string_equal(held.add(t0, 1, out, "a").c_str(), "1o:a;");
    assert_string_equal(held.add(t0, 1, out, "", true).c_str(), "1o:$;");
    assert_true(held.output.empty() && held.output.next_time() == TimePoint::max());
}

static void so_many_bytes_are_one_piece(void **) {
    Held held({4, 1h});
    assert_string_equal(held.add(t0, 1, out, "a").c_str(), "");
    assert_string_equal(held.add(t0, 1, err, "xx").c_str(), ""); // of another stream
    assert_string_equal(held.add(t0, 2, out, "yy").c_str(), "");
    assert_string_equal(held.add(t0, 1, out, "bc").c_str(), "");
    assert_string_equal(held.add(t0, 1, out, "de").c_str(), "1o:abcde;");
    assert_string_equal(held.add(t0, 1, out, "much").c_str(), "1o:much;");
    assert_false(held.output.empty());
    assert_string_equal(text_of(held.output.release()).c_str(), "1e:xx;2o:yy;");
    assert_true(held.output.empty() && held.output.next_time() == TimePoint::max());
}

static void what_has_waited_is_due(void **) {
    Held held({4, 10s});
    held.add(t0, 1, out, "a");
    held.add(t0 + 1s, 2, out, "b");
    held.add(t0 + 9s, 1, out, "c"); // it waits since the first
    assert_true(held.output.next_time() == t0 + 10s);
    assert_string_equal(text_of(held.output.due(t0 + 10s - 1ms)).c_str(), "");
    assert_string_equal(text_of(held.output.due(t0 + 10s)).c_str(), "1o:ac;");
    assert_true(held.output.next_time() == t0 + 11s);
    held.add(t0 + 10s, 1, out, "d");
    assert_string_equal(held.add(t0 + 10s, 2, out, "bbb").c_str(), "2o:bbbb;");
    assert_true(held.output.next_time() == t0 + 20s);
    assert_string_equal(text_of(held.output.due(t0 + 1h)).c_str(), "1o:d;");
    assert_true(held.output.next_time() == TimePoint::max());
}

static void an_end_holds_nothing(void **) {
    Held held({4, 1h});
    held.add(t0, 1, out, "a");
    assert_string_equal(held.add(t0, 1, out, "b", true).c_str(), "1o:ab$;");
    held.add(t0, 2, out, "c");
    assert_string_equal(held.add(t0, 2, out, "", true).c_str(), "2o:c$;");
    assert_true(held.output.empty() && held.output.next_time() == TimePoint::max());
}

static void all_streams_together_have_a_bound(void **) {
    Held held({100, 1h}, 250);
    std::string said;
    for (Rank rank = 0; rank < 3; ++rank)
        said += held.add(t0, rank, out, std::string(80, 'x'));
    assert_string_equal(said.c_str(), "");
    auto all = held.output.add(t0, {3, out, 0, 0, "more than fits"});
    assert_int_equal(all.size(), 4);
    assert_true(held.output.empty());
    assert_string_equal(held.add(t0, 3, out, "and on").c_str(), "");
}

// A rule that comes later is for what is held already.
static void a_rule_may_change(void **) {
    Held held({100, 1h});
    held.add(t0, 1, out, "abc");
    held.output.set({}, 1000);
    assert_string_equal(held.add(t0, 1, out, "d").c_str(), "1o:abcd;");
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(without_a_rule_nothing_is_held),
        cmocka_unit_test(so_many_bytes_are_one_piece),
        cmocka_unit_test(what_has_waited_is_due),
        cmocka_unit_test(an_end_holds_nothing),
        cmocka_unit_test(all_streams_together_have_a_bound),
        cmocka_unit_test(a_rule_may_change),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
