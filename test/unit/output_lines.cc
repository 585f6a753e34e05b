// What is written by processes of a job as people see it, and its way from the process that follows it.
#include "tools/view/output_lines.h"

#include "tools/terminal/rank_list.h"
#include "tools/view/job_output.h"

#include <sys/wait.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

constexpr int out = 0, err = 1;

void without_labels_it_is_as_it_came(void **) {
    OutputLines lines(0, false);
    assert_string_equal(lines.add(3, out, "a").c_str(), "a");
    assert_string_equal(lines.add(1, out, "b\nc").c_str(), "b\nc");
    assert_string_equal(lines.end(1, out).c_str(), "");
}

void what_strangers_write_does_no_harm(void **) {
    assert_string_equal(harmless("plain\ttext\n").c_str(), "plain\ttext\n");
    assert_string_equal(harmless("\x1b]0;title\x07\r\x7f").c_str(), "?]0;title???");
    assert_string_equal(harmless("gr\xc3\xbc\xc3\x9f 20\xc2\xb0").c_str(), "gr\xc3\xbc\xc3\x9f 20\xc2\xb0");
    assert_string_equal(harmless("\xc2\x9b"
                                 "31m")
                            .c_str(),
                        "?\x9b"
                        "31m");
    assert_string_equal(harmless("half \xc2").c_str(), "half ?");
    assert_string_equal(harmless("").c_str(), "");
}

void with_labels_there_are_whole_lines(void **) {
    OutputLines lines(2, false);
    assert_string_equal(lines.add(3, out, "one\ntw").c_str(), " 3: one\n");
    assert_string_equal(lines.add(3, err, "error\n").c_str(), " 3: error\n");
    assert_string_equal(lines.add(12, out, "twelve\n\n").c_str(), "12: twelve\n12: \n");
    assert_string_equal(lines.add(3, out, "o\n").c_str(), " 3: two\n");
    assert_string_equal(lines.add(3, out, "last").c_str(), "");
    assert_string_equal(lines.end(3, out).c_str(), " 3: last\n");
    assert_string_equal(lines.end(3, out).c_str(), "");
}

void a_line_that_begins_in_its_middle_is_marked(void **) {
    OutputLines lines(1, false);
    lines.begin_cut(0, out);
    assert_string_equal(lines.add(0, out, "alf\nwhole\n").c_str(), "0: ...alf\n0: whole\n");
    lines.add(0, out, "begun");
    lines.begin_cut(0, out); // what has begun stays as it is
    assert_string_equal(lines.end(0, out).c_str(), "0: begun\n");
    OutputLines plain(0, false);
    plain.begin_cut(0, out);
    assert_string_equal(plain.add(0, out, "alf\n").c_str(), "alf\n");
}

void a_line_without_an_end_is_shown_in_parts(void **) {
    OutputLines lines(1, false);
    std::string long_one(OutputLines::longest_line + 10, 'x');
    assert_string_equal(lines.add(0, out, long_one).c_str(),
                        ("0: " + std::string(OutputLines::longest_line, 'x') + "\n").c_str());
    assert_string_equal(lines.end(0, out).c_str(), "0: xxxxxxxxxx\n");
}

void what_has_begun_is_bounded(void **) {
    OutputLines lines(2, false);
    const std::string half(OutputLines::longest_line / 2, 'x');
    std::size_t shown = 0;
    for (std::uint32_t rank = 0; rank < 3000; ++rank) // 96 MB without a newline
        shown += lines.add(rank, out, half).size();
    std::size_t begun = lines.end_all(out).size();
    assert_true(shown > 0 && shown + begun >= 3000 * half.size());
    assert_true(begun < OutputLines::most_begun + 3000 * 16);
    assert_string_equal(lines.end_all(out).c_str(), "");
}

void a_server_that_goes_ends_all_lines(void **) {
    OutputLines lines(1, false);
    lines.add(1, out, "one");
    lines.add(0, 1, "other channel");
    lines.add(0, out, "zero");
    assert_string_equal(lines.end_all(out).c_str(), "0: zero\n1: one\n");
    assert_string_equal(lines.end_all(1).c_str(), "0: other channel\n");
}

void each_rank_has_a_colour(void **) {
    OutputLines lines(1, true);
    assert_string_equal(lines.add(0, out, "a\n").c_str(), "\x1b[31m0: \x1b[0ma\n");
    assert_string_equal(lines.add(1, out, "b\n").c_str(), "\x1b[32m1: \x1b[0mb\n");
}

void ranks_are_a_list(void **) {
    assert_true(ranks_in_words("0,2-4,7").value() == (std::vector<std::uint32_t>{0, 2, 3, 4, 7}));
    for (const char *wrong : {"", "x", "1-", "-1", "3-2", "1,,2", "0-4294967295", "1;2", "4294967296"})
        assert_false(ranks_in_words(wrong).ok());
}

// They come in any pieces.
void frames_are_put_together(void **) {
    int ends[2];
    assert_int_equal(::pipe(ends), 0);
    pid_t pid = ::fork();
    if (pid == 0) {
        write_output_frames(ends[1], {{OutputFrame::Kind::size, false, 8, {}}});
        write_output_frames(ends[1], {{OutputFrame::Kind::bytes, true, 3, std::string_view("a\0b", 3)},
                                      {OutputFrame::Kind::ended, true, 3, {}}});
        ::_exit(0);
    }
    ::close(ends[1]);
    OutputFrames frames;
    int seen = 0;
    char byte;
    while (::read(ends[0], &byte, 1) == 1) {
        frames.add({&byte, 1});
        while (auto frame = frames.next()) {
            if (seen == 0)
                assert_true(frame->kind == OutputFrame::Kind::size && frame->rank == 8);
            if (seen == 1)
                assert_true(frame->kind == OutputFrame::Kind::bytes && frame->is_err &&
                            frame->bytes == std::string_view("a\0b", 3));
            if (seen == 2)
                assert_true(frame->kind == OutputFrame::Kind::ended && frame->rank == 3 && frame->bytes.empty());
            ++seen;
        }
    }
    assert_int_equal(seen, 3);
    ::close(ends[0]);
    assert_int_equal(::waitpid(pid, nullptr, 0), pid);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(without_labels_it_is_as_it_came),
        cmocka_unit_test(what_strangers_write_does_no_harm),
        cmocka_unit_test(with_labels_there_are_whole_lines),
        cmocka_unit_test(a_line_that_begins_in_its_middle_is_marked),
        cmocka_unit_test(a_line_without_an_end_is_shown_in_parts),
        cmocka_unit_test(what_has_begun_is_bounded),
        cmocka_unit_test(a_server_that_goes_ends_all_lines),
        cmocka_unit_test(each_rank_has_a_colour),
        cmocka_unit_test(ranks_are_a_list),
        cmocka_unit_test(frames_are_put_together),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
