// When a stream in the RM's copy of the output has ended, and what is kept of it.
#include "server-glue/iof/copied_streams.h"

#include "common/wire/iof_messages.h"

#include <fmt/format.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

static constexpr std::uint8_t out = wire::stdout_channel, err = wire::stderr_channel;
static constexpr TimePoint t0{std::chrono::hours(1)};
static constexpr Duration quiet = CopiedStreams::quiet;
static constexpr std::size_t most_kept = 16u << 10;

struct Copy {
    std::vector<Rank> ranks{4, 5};
    std::string said;
    CopiedStreams streams{ranks, most_kept, [this](Rank rank, std::uint8_t channel, std::string_view bytes, bool end) {
                              said +=
                                  fmt::format("{}{}:{}{};", rank, channel == out ? "o" : "e", bytes, end ? "$" : "");
                          }};
    std::string take_said() { return std::exchange(said, {}); }
};

static void ends_that_the_rm_tells_are_ends(void **) {
    Copy copy;
    copy.streams.begin(t0);
    copy.streams.take(t0, 4, out, "a", false);
    copy.streams.take(t0, 4, out, "", true);
    copy.streams.take(t0, 4, err, "", true);
    assert_string_equal(copy.take_said().c_str(), "4o:a;4o:$;4e:$;");
    assert_false(copy.streams.all_ended());
    for (auto channel : {out, err})
        copy.streams.take(t0, 5, channel, "", true);
    assert_true(copy.streams.all_ended());
    assert_false(copy.streams.comes(t0));
    assert_true(copy.streams.next_time() == TimePoint::max());
}

static void a_stream_that_was_seen_waits_for_its_end(void **) {
    Copy copy;
    copy.streams.begin(t0);
    copy.streams.take(t0, 4, out, "a", false);
    copy.streams.process_gone(t0 + 1s, 4);
    copy.take_said();
    // The launcher takes nothing: what is left comes when it does.
    assert_true(copy.streams.next_time() == t0 + 1s + quiet); // of the other one, which has never been seen
    copy.streams.on_time(t0 + 1h);
    assert_string_equal(copy.take_said().c_str(), "4e:$;");
    assert_true(copy.streams.next_time() == TimePoint::max());
    copy.streams.take(t0 + 2h, 4, out, "late", false);
    copy.streams.take(t0 + 2h, 4, out, "", true);
    assert_string_equal(copy.take_said().c_str(), "4o:late;4o:$;");
    assert_int_equal(copy.streams.lost(), 0);
}

static void what_had_ended_before_ends_when_it_is_quiet(void **) {
    Copy copy;
    copy.streams.process_gone(t0 - 1h, 4);
    assert_true(copy.streams.next_time() == TimePoint::max()); // nothing has begun
    copy.streams.begin(t0);
    copy.streams.take(t0 + 10ms, 4, out, "the last of it", false);
    copy.streams.take(t0 + 500ms, 5, out, "another one writes", false);
    assert_true(copy.streams.next_time() == t0 + 10ms + quiet);
    copy.streams.on_time(t0 + quiet);
    assert_string_equal(copy.take_said().c_str(), "4o:the last of it;5o:another one writes;");
    copy.streams.on_time(t0 + 10ms + quiet);
    assert_string_equal(copy.take_said().c_str(), "4o:$;4e:$;");
    assert_true(copy.streams.next_time() == TimePoint::max());
}

static void bytes_behind_an_end_are_counted(void **) {
    Copy copy;
    copy.streams.begin(t0);
    copy.streams.process_gone(t0, 5);
    copy.streams.on_time(t0 + quiet);
    assert_string_equal(copy.take_said().c_str(), "5o:$;5e:$;");
    copy.streams.take(t0 + 2s, 5, out, "12345", false);
    assert_int_equal(copy.streams.lost(), 5);
    assert_string_equal(copy.take_said().c_str(), "");
}

static void the_end_of_the_copy_is_that_of_processes_that_have_ended(void **) {
    Copy copy;
    copy.streams.begin(t0);
    copy.streams.take(t0, 4, out, "a", false);
    copy.streams.process_gone(t0, 4);
    copy.take_said();
    assert_false(copy.streams.end(t0 + 1ms)); // 5 runs
    assert_string_equal(copy.take_said().c_str(), "4o:$;4e:$;");
    copy.streams.process_gone(t0 + 1h, 5);
    assert_true(copy.streams.next_time() == t0 + 1h);
    copy.streams.on_time(t0 + 1h);
    assert_string_equal(copy.take_said().c_str(), "5o:$;5e:$;");
}

static void where_there_is_no_copy_streams_end_with_their_processes(void **) {
    Copy copy;
    assert_false(copy.streams.end(t0));
    for (Rank rank : copy.ranks)
        copy.streams.process_gone(t0 + 1s, rank);
    copy.streams.on_time(t0 + 1s);
    assert_string_equal(copy.take_said().c_str(), "4o:$;4e:$;5o:$;5e:$;");
    assert_true(copy.streams.all_ended());
}

static void it_comes_while_it_comes(void **) {
    Copy copy;
    assert_false(copy.streams.comes(t0));
    copy.streams.begin(t0);
    copy.streams.take(t0, 4, out, "a", false);
    assert_true(copy.streams.comes(t0 + quiet - 1ms));
    assert_false(copy.streams.comes(t0 + quiet));
}

static void the_last_of_each_stream_is_kept(void **) {
    Copy copy;
    copy.streams.begin(t0);
    assert_false(copy.streams.kept(4, out).has_value());
    for (int i = 0; i < 100; ++i)
        copy.streams.take(t0, 4, out, std::string(1000, static_cast<char>('a' + i % 26)), false);
    auto kept = copy.streams.kept(4, out);
    assert_int_equal(kept->bytes.size(), most_kept);
    assert_int_equal(kept->bytes.back(), 'a' + 99 % 26);
    assert_false(kept->end);
    copy.streams.take(t0, 4, out, "", true);
    assert_true(copy.streams.kept(4, out)->end);
}

// An RM gives what it has of before at the begin of the copy.
static void what_the_end_of_the_copy_cuts_off(void **) {
    Copy copy;
    copy.streams.begin(t0);
    copy.streams.take(t0, 4, out, "a", true);
    copy.streams.process_gone(t0, 5);
    assert_true(copy.streams.cut_off().empty());
    assert_false(copy.streams.end(t0 + 1s));
    auto cut_off = copy.streams.cut_off();
    assert_int_equal(cut_off.size(), 1);
    assert_true(cut_off[0] == std::pair(Rank(4), err));
}

static void what_was_before_the_copy_has_no_time(void **) {
    Copy copy;
    assert_true(copy.streams.may_be_older(t0));
    copy.streams.begin(t0);
    copy.streams.take(t0, 4, out, "before ", false);
    assert_true(copy.streams.may_be_older(t0));
    copy.streams.take(t0 + 5s, 4, out, "later", false);
    assert_true(copy.streams.may_be_older(t0));
    assert_false(copy.streams.may_be_older(t0 + quiet));
    assert_true(copy.streams.kept(4, out, t0)->bytes == "before later");
    assert_true(copy.streams.kept(4, out, t0 + quiet)->bytes == "later");
}

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(ends_that_the_rm_tells_are_ends),
        cmocka_unit_test(a_stream_that_was_seen_waits_for_its_end),
        cmocka_unit_test(what_had_ended_before_ends_when_it_is_quiet),
        cmocka_unit_test(bytes_behind_an_end_are_counted),
        cmocka_unit_test(the_end_of_the_copy_is_that_of_processes_that_have_ended),
        cmocka_unit_test(where_there_is_no_copy_streams_end_with_their_processes),
        cmocka_unit_test(it_comes_while_it_comes),
        cmocka_unit_test(the_last_of_each_stream_is_kept),
        cmocka_unit_test(what_the_end_of_the_copy_cuts_off),
        cmocka_unit_test(what_was_before_the_copy_has_no_time),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
