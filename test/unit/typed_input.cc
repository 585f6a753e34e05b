// What is typed for processes that read it, read it slowly, or do not.
#include "tools/view/typed_input.h"

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

using Word = TypedInput::Word;
const TypedInput::TimePoint begin{};
const std::string line = std::string(99, 'x') + '\n';

// Returns how many lines it has taken.
std::size_t fill(TypedInput &typed, TypedInput::TimePoint now) {
    std::size_t lines = 0;
    for (; typed.reads(now) && typed.next(TypedInput::most).size() < TypedInput::most; ++lines)
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
    assert_int_equal(typed_bytes - taken, typed.next(1u << 20).size());
}

void who_types_to_nobody_is_told_and_may_leave(void **) {
    TypedInput typed(true);
    fill(typed, begin);
    auto now = begin + TypedInput::patience;
    std::size_t held = typed.next(1u << 20).size();
    assert_true(typed.reads(now));
    for (int i = 0; i < 1000; ++i) {
        assert_true(typed.add(line, now) == Word::none);
        assert_int_equal(typed.notice().has_value(), i == 0);
    }
    assert_int_equal(typed.next(1u << 20).size(), held);
    assert_true(typed.add("~v\n", now) == Word::page);
    assert_true(typed.add("~.\n", now) == Word::leave);
    assert_true(typed.add("more\x1d", now) == Word::leave);
    assert_int_equal(typed.next(1u << 20).size(), held);
}

void who_is_heard_again_is_told_what_is_left_out(void **) {
    TypedInput typed(true);
    fill(typed, begin);
    auto now = begin + 1h;
    typed.add("seven\n", now);
    typed.add("eight\n", now);
    assert_true(typed.notice().has_value());
    typed.taken(TypedInput::most / 2, now);
    auto notice = typed.notice();
    assert_true(notice && notice->find(" 12 bytes ") != notice->npos);
    assert_false(typed.notice().has_value());
    std::size_t held = typed.next(1u << 20).size();
    typed.add("nine\n", now);
    assert_int_equal(typed.next(1u << 20).size(), held + 5);
    assert_true(typed.next(1u << 20).ends_with(line + "nine\n"));
    // It is told again when it happens again.
    fill(typed, now);
    typed.add("ten\n", now + 1h);
    assert_true(typed.notice().has_value());
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
        cmocka_unit_test(a_closed_input_has_words_alone),
    };
    return cmocka_run_group_tests_name("typed input", tests, nullptr, nullptr);
}
