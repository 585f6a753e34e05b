// What is typed for processes that read it, read it slowly, or do not.
#include "tools/view/typed_input.h"

#include "test/unit/check.h"

#include <vector>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

using Word = TypedInput::Word;
const TypedInput::TimePoint begin{};
const std::string line = std::string(99, 'x') + '\n';

// Returns how many lines it has taken.
std::size_t fill(TypedInput &typed, TypedInput::TimePoint now) {
    std::size_t lines = 0;
    for (; typed.reads(now) && typed.size() < TypedInput::most; ++lines)
        assert_true(typed.add(line, now) == Word::none);
    return lines;
}

void words_are_those_in_a_line_of_their_own(void **) {
    TypedInput typed(true);
    assert_true(typed.add("~.\n", begin) == Word::leave);
    assert_true(typed.add("~v\n", begin) == Word::page);
    assert_true(typed.empty());
    for (const char *other : {"x~.\n", "~. \n", "~.", " ~v\n", "~\n"})
        assert_true(typed.add(other, begin) == Word::none);
    assert_true(typed.add("before\x1d", begin) == Word::leave);
    assert_true(typed.next(100) == "x~.\n~. \n~. ~v\n~\nbefore");
    assert_false(typed.notice().has_value());
}

void a_pipe_has_no_words(void **) {
    TypedInput typed(false);
    for (const char *text : {"~.\n", "~v\n", "a\x1d"})
        assert_true(typed.add(text, begin) == Word::none);
    assert_true(typed.next(100) == "~.\n~v\na\x1d");
}

void it_is_bounded(void **) {
    for (bool terminal : {false, true}) {
        TypedInput typed(terminal);
        std::size_t lines = fill(typed, begin);
        assert_int_equal(lines, TypedInput::most / line.size() + 1);
        assert_false(typed.reads(begin));
        assert_false(typed.reads(begin + 900ms));
        assert_int_equal(typed.next(16384).size(), terminal ? TypedInput::most_at_once : 16384);
        typed.taken(typed.next(16384).size(), begin + 900ms);
        assert_true(typed.reads(begin + 900ms));
        assert_false(typed.notice().has_value());
    }
}

void a_pipe_waits_for_ever(void **) {
    TypedInput typed(false);
    fill(typed, begin);
    assert_false(typed.reads(begin + 100h));
}

void a_slow_reader_loses_nothing(void **) {
    TypedInput typed(true);
    auto now = begin;
    std::size_t typed_bytes = 0, taken = 0;
    for (int i = 0; i < 1000; ++i) {
        typed_bytes += fill(typed, now) * line.size();
        now += 900ms;
        assert_false(typed.reads(now));
        taken += typed.next(1000).size();
        typed.taken(typed.next(1000).size(), now);
        assert_false(typed.notice().has_value());
    }
    assert_int_equal(typed_bytes - taken, typed.size());
}

void who_types_to_nobody_is_told_and_may_leave(void **) {
    TypedInput typed(true);
    fill(typed, begin);
    auto now = begin + TypedInput::patience;
    std::size_t held = typed.size();
    assert_true(typed.reads(now));
    for (int i = 0; i < 1000; ++i) {
        assert_true(typed.add(line, now) == Word::none);
        assert_int_equal(typed.notice().has_value(), i == 0);
    }
    assert_int_equal(typed.size(), held);
    assert_true(typed.add("~v\n", now) == Word::page);
    assert_true(typed.add("~.\n", now) == Word::leave);
    assert_true(typed.add("more\x1d", now) == Word::leave);
    assert_int_equal(typed.size(), held);
}

void who_is_heard_again_is_told_what_is_left_out(void **) {
    TypedInput typed(true);
    fill(typed, begin);
    auto now = begin + 1h;
    typed.add("seven\n", now);
    typed.add("eight\n", now);
    assert_true(typed.notice().has_value());
    typed.taken(TypedInput::most / 2, now);
    assert_true(typed.reads(now));
    typed.add("nine\n", now);
    assert_false(typed.notice().has_value());
    typed.taken(typed.size(), now);
    auto notice = typed.notice();
    assert_true(notice && notice->find(" 17 bytes ") != notice->npos);
    assert_false(typed.notice().has_value());
    typed.add("ten\n", now);
    assert_true(typed.next(100) == "ten\n");
    // It is told again when it happens again.
    fill(typed, now);
    typed.add("eleven\n", now + 1h);
    assert_true(typed.notice().has_value());
}

// A job takes 16 KiB every two seconds, and far more is pasted at once.
void what_is_left_out_is_one_gap(void **) {
    constexpr unsigned pasted = 4000, at_once = 40;
    auto numbered = [](unsigned number) { return fmt::format("{:099}\n", number); };
    TypedInput typed(true);
    auto now = begin;
    std::string job_has;
    std::vector<std::string> notices;
    unsigned number = 0;
    for (int tenths = 1; number < pasted || !typed.empty(); ++tenths, now += 100ms) {
        for (std::size_t room = tenths % 40 == 0 ? 16384 : 0; room > 0 && !typed.empty();) {
            std::string message(typed.next(room));
            job_has += message;
            typed.taken(message.size(), now);
            room -= message.size();
        }
        for (unsigned i = 0; i < at_once && number < pasted && typed.reads(now); ++i)
            typed.add(numbered(number++), now);
        while (auto notice = typed.notice())
            notices.push_back(*notice);
    }
    typed.add(numbered(number), now);
    job_has += typed.next(line.size());
    unsigned gaps = 0, left_out = 0, expected = 0;
    for (std::size_t at = 0; at < job_has.size(); at += line.size(), ++expected) {
        auto found = static_cast<unsigned>(std::stoul(job_has.substr(at, line.size())));
        gaps += found != expected;
        left_out += found - std::exchange(expected, found);
    }
    assert_int_equal(expected, pasted + 1);
    assert_int_equal(gaps, 1);
    assert_int_equal(notices.size(), 2);
    assert_true(notices[1].find(fmt::format(" {} bytes ", left_out * line.size())) != std::string::npos);
}

void a_closed_input_has_words_alone(void **) {
    TypedInput typed(true);
    typed.add("typed\n", begin);
    typed.close();
    assert_true(typed.empty());
    assert_true(typed.add(line, begin) == Word::none);
    assert_true(typed.add("more\x1d", begin) == Word::leave);
    assert_true(typed.empty());
    assert_true(typed.reads(begin));
    assert_false(typed.notice().has_value());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_in_a_line_of_their_own),
        cmocka_unit_test(a_pipe_has_no_words),
        cmocka_unit_test(it_is_bounded),
        cmocka_unit_test(a_pipe_waits_for_ever),
        cmocka_unit_test(a_slow_reader_loses_nothing),
        cmocka_unit_test(who_types_to_nobody_is_told_and_may_leave),
        cmocka_unit_test(who_is_heard_again_is_told_what_is_left_out),
        cmocka_unit_test(what_is_left_out_is_one_gap),
        cmocka_unit_test(a_closed_input_has_words_alone),
    };
    return cmocka_run_group_tests_name("typed input", tests, nullptr, nullptr);
}
