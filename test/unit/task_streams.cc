// The standard streams of tasks that the daemon has taken: what goes through, in which order, and what stops whom.
#include "server-glue/iof/task_streams.h"
#include "server-glue/iof/readable_streams.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <unistd.h>

#include "test/unit/check.h"
#include "test/unit/run_until.h"

using namespace pmixhost;

namespace {

constexpr Rank rank = 3;

struct Pipe {
    UniqueFd reads, writes;
    Pipe() {
        int ends[2];
        assert_int_equal(::pipe2(ends, O_CLOEXEC), 0);
        reads.reset(ends[0]);
        writes.reset(ends[1]);
    }
};

constexpr std::size_t most_kept = 16u << 10;

struct Fixture {
    std::unique_ptr<EventLoop> loop = EventLoop::create([](const std::string &) { std::abort(); }).value();
    bool copied = true, redirected = false, room = true, untaken = false;
    std::string copy, cannot_be_kept; // the second one is given back when more comes
    int ends = 0;
    UniqueFd task_in, task_out, rm_in, rm_out; // the other ends of what the daemon has
    TaskStreams streams{*loop,
                        most_kept,
                        {[this](Rank, std::uint8_t) { return copied; },
                         [this](Rank, std::uint8_t) { return redirected; },
                         [this](Rank of, std::uint8_t channel, std::string_view bytes, bool end) {
                             assert_int_equal(of, rank);
                             assert_int_equal(channel, wire::stdout_channel);
                             copy += bytes;
                             ends += end;
                             if (!cannot_be_kept.empty())
                                 streams.give_back(of, channel, std::exchange(cannot_be_kept, {}));
                         },
                         [this](Rank, std::uint8_t) { return room; }, [this](Rank, std::uint8_t) { return untaken; }}};
    Fixture() {
        Pipe from_rm, to_task, from_task, to_rm;
        TaskDescriptors descriptors;
        descriptors.in = {std::move(from_rm.reads), std::move(to_task.writes)};
        descriptors.out = {std::move(to_rm.writes), std::move(from_task.reads)};
        task_in = std::move(to_task.reads);
        task_out = std::move(from_task.writes);
        rm_in = std::move(from_rm.writes);
        rm_out = std::move(to_rm.reads);
        for (UniqueFd *fd : {&task_in, &task_out, &rm_in, &rm_out})
            assert_int_equal(fcntl(fd->get(), F_SETFL, O_NONBLOCK), 0);
        streams.add(rank, std::move(descriptors));
    }
    static std::string read_all(const UniqueFd &fd) {
        std::string out;
        char buffer[65536];
        for (ssize_t n; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;)
            out.append(buffer, static_cast<std::size_t>(n));
        return out;
    }
    static bool at_end(const UniqueFd &fd) {
        char byte;
        return ::read(fd.get(), &byte, 1) == 0;
    }
    void write(const UniqueFd &fd, const std::string &bytes) {
        assert_int_equal(::write(fd.get(), bytes.data(), bytes.size()), bytes.size());
    }
    // Until both have come.
    void expect_output(const std::string &rm, const std::string &tools) {
        std::string read;
        run_until(*loop, [&] {
            read += read_all(rm_out);
            return read.size() >= rm.size() && copy.size() >= tools.size();
        });
        assert_string_equal(read.c_str(), rm.c_str());
        assert_string_equal(copy.c_str(), tools.c_str());
    }
    std::optional<pmix_status_t> status;
    void give(const std::string &bytes, bool end = false) {
        streams.give(rank, share(Bytes(bytes)), end, StatusReply([this](pmix_status_t s) { status = s; }, PMIX_ERROR));
    }
};

void output_goes_on_and_a_copy_to_tools(void **) {
    Fixture f;
    f.write(f.task_out, "hello");
    f.expect_output("hello", "hello");
    f.copied = false;
    f.write(f.task_out, " again");
    f.expect_output(" again", "hello");
    f.copied = f.redirected = true;
    f.copy.clear();
    f.write(f.task_out, "taken over");
    f.expect_output("", "taken over");
    f.redirected = false;
    f.copy.clear();
    f.write(f.task_out, "restored");
    f.expect_output("restored", "restored");
    assert_true(f.streams.any_open());
    f.task_out.reset();
    run_until(*f.loop, [&] { return Fixture::at_end(f.rm_out); });
    assert_int_equal(f.ends, 1);
    assert_false(f.streams.any_open());
    auto kept = f.streams.kept(rank, wire::stdout_channel);
    assert_true(kept && kept->end && kept->bytes == "hello againtaken overrestored");
    assert_false(f.streams.kept(rank, wire::stderr_channel).has_value());
}

void an_rm_that_does_not_read_stops_the_task(void **) {
    Fixture f;
    std::string sum;
    run_until(*f.loop, [&] { // until all pipes are full
        char block[4096];
        std::fill(std::begin(block), std::end(block), static_cast<char>('a' + sum.size() / sizeof block % 26));
        ssize_t n = ::write(f.task_out.get(), block, sizeof block);
        if (n > 0)
            sum.append(block, static_cast<std::size_t>(n));
        return n < 0 && f.streams.rm_waits();
    });
    assert_true(sum.size() < 1u << 20);
    f.task_out.reset();
    std::string read;
    run_until(*f.loop, [&] {
        read += Fixture::read_all(f.rm_out);
        return read.size() == sum.size();
    });
    assert_true(read == sum && f.copy == sum);
    assert_false(f.streams.rm_waits());
}

void an_rm_that_is_gone_does_not_stop_it(void **) {
    Fixture f;
    f.rm_out.reset();
    std::string block(60'000, 'x');
    for (std::size_t sum = block.size(); sum < 1'000'000; sum += block.size()) {
        f.write(f.task_out, block);
        run_until(*f.loop, [&] { return f.copy.size() == sum; });
    }
}

void what_was_kept_has_a_bound(void **) {
    Fixture f;
    for (int i = 0; i < 20; ++i) {
        f.copy.clear();
        f.write(f.task_out, std::string(10'000, static_cast<char>('a' + i)));
        run_until(*f.loop, [&] {
            Fixture::read_all(f.rm_out);
            return f.copy.size() == 10'000;
        });
    }
    auto kept = f.streams.kept(rank, wire::stdout_channel);
    assert_true(kept && kept->bytes.size() == most_kept && kept->bytes.ends_with("ttt"));
}

void input_comes_from_the_rm_and_from_who_pushes(void **) {
    Fixture f;
    f.write(f.rm_in, "rm ");
    std::string read;
    run_until(*f.loop, [&] { return (read += Fixture::read_all(f.task_in)) == "rm "; });
    f.give("tool ");
    assert_int_equal(*f.status, PMIX_SUCCESS);
    f.write(f.rm_in, "rm again");
    run_until(*f.loop, [&] { return (read += Fixture::read_all(f.task_in)) == "rm tool rm again"; });
    f.give("last", true);
    assert_int_equal(*f.status, PMIX_SUCCESS);
    assert_string_equal(Fixture::read_all(f.task_in).c_str(), "last");
    assert_true(Fixture::at_end(f.task_in));
    f.give("too late");
    assert_int_equal(*f.status, PMIX_ERR_IOF_COMPLETE);
}

void the_end_of_the_rms_input_is_the_tasks(void **) {
    Fixture f;
    f.write(f.rm_in, "all");
    f.rm_in.reset();
    std::string read;
    run_until(*f.loop, [&] {
        read += Fixture::read_all(f.task_in);
        return read == "all" && Fixture::at_end(f.task_in);
    });
    f.give("too late");
    assert_int_equal(*f.status, PMIX_ERR_IOF_COMPLETE);
}

// The answer comes when the task has room for all; meanwhile neither the RM's nor another's bytes come between.
void who_does_not_read_is_waited_for(void **) {
    Fixture f;
    std::string much(300'000, 'x');
    f.give(much);
    assert_false(f.status.has_value());
    f.write(f.rm_in, "behind");
    std::string read;
    run_until(*f.loop, [&] { return (read += Fixture::read_all(f.task_in)).size() == much.size() + 6; });
    assert_int_equal(*f.status, PMIX_SUCCESS);
    assert_true(read == much + "behind");
}

void what_waits_ends_with_the_task(void **) {
    Fixture f;
    f.give(std::string(1'000'000, 'x'));
    assert_false(f.status.has_value());
    f.streams.task_gone(rank);
    assert_int_equal(*f.status, PMIX_ERR_IOF_COMPLETE);
    f.give("to nobody");
    assert_int_equal(*f.status, PMIX_ERR_IOF_COMPLETE);
}

void what_is_pushed_too_early_waits_for_the_task(void **) {
    Fixture f;
    const Rank later = rank + 1, never = rank + 2;
    std::optional<pmix_status_t> said, second, lost;
    auto push = [&](Rank to, std::optional<pmix_status_t> &status, bool end) {
        f.streams.give(to, share(Bytes("early ")), end,
                       StatusReply([&status](pmix_status_t s) { status = s; }, PMIX_ERROR));
    };
    push(later, said, false);
    push(later, second, true);
    push(never, lost, false);
    assert_false(said || second || lost);
    Pipe rm, task;
    UniqueFd reads = std::move(task.reads);
    TaskDescriptors descriptors;
    descriptors.in = {std::move(rm.reads), std::move(task.writes)};
    f.streams.add(later, std::move(descriptors));
    assert_int_equal(*said, PMIX_SUCCESS);
    assert_int_equal(*second, PMIX_SUCCESS);
    char got[32];
    assert_int_equal(::read(reads.get(), got, sizeof got), 12);
    assert_memory_equal(got, "early early ", 12);
    f.streams.task_gone(never);
    assert_int_equal(*lost, PMIX_ERR_IOF_COMPLETE);
    lost.reset();
    push(never, lost, false); // it has ended, and will not come
    assert_int_equal(*lost, PMIX_ERR_IOF_COMPLETE);
}

// What the RM has sent by then is before it, and the RM's end does not refuse it.
void what_is_pushed_too_early_is_behind_the_rms(void **) {
    for (bool over : {false, true}) {
        Fixture f;
        const Rank later = rank + 1;
        std::vector<pmix_status_t> said;
        for (const char *text : {"one ", "two "})
            f.streams.give(later, share(Bytes(text)), false,
                           StatusReply([&said](pmix_status_t s) { said.push_back(s); }, PMIX_ERROR));
        Pipe rm, task;
        UniqueFd reads = std::move(task.reads);
        assert_int_equal(::write(rm.writes.get(), "rm ", 3), 3);
        if (over)
            rm.writes.reset();
        TaskDescriptors descriptors;
        descriptors.in = {std::move(rm.reads), std::move(task.writes)};
        f.streams.add(later, std::move(descriptors));
        assert_true((said == std::vector<pmix_status_t>{PMIX_SUCCESS, PMIX_SUCCESS}));
        char got[32];
        assert_int_equal(::read(reads.get(), got, sizeof got), 11);
        assert_memory_equal(got, "rm one two ", 11);
    }
}

void a_task_that_closes_its_input_is_noticed(void **) {
    Fixture f;
    f.task_in.reset();
    f.give("x");
    assert_int_equal(*f.status, PMIX_ERR_IOF_COMPLETE);
    bool closed = false;
    run_until(*f.loop, [&] {
        closed = ::write(f.rm_in.get(), "x", 1) < 0 && errno == EPIPE;
        return closed;
    });
}

void who_writes_waits_where_there_is_no_room(void **) {
    Fixture f;
    f.redirected = true;
    f.write(f.task_out, "some");
    f.room = false;
    f.expect_output("", "some"); // what was on its way
    f.write(f.task_out, " more");
    auto end = f.loop->after(std::chrono::milliseconds(20), [&] { f.loop->stop(); });
    assert_true(f.loop->run().ok());
    assert_string_equal(f.copy.c_str(), "some");
    assert_false(f.streams.rm_waits()); // it is others who do
    f.room = true;
    f.streams.look_for_room();
    f.expect_output("", "some more");
}

// Nobody has taken the stream's last words, so the RM may still have to.
void what_comes_back_goes_before_the_end(void **) {
    Fixture f;
    f.redirected = f.untaken = true;
    f.write(f.task_out, "late");
    f.task_out.reset();
    run_until(*f.loop, [&] { return f.ends == 1; });
    assert_false(f.streams.any_open());
    f.streams.look_for_room();
    assert_false(Fixture::at_end(f.rm_out));
    f.redirected = f.untaken = false;
    f.streams.give_back(rank, wire::stdout_channel, "late");
    f.streams.look_for_room();
    assert_true(f.streams.rm_waits());
    std::string read;
    run_until(*f.loop, [&] {
        read += Fixture::read_all(f.rm_out);
        return Fixture::at_end(f.rm_out);
    });
    assert_string_equal(read.c_str(), "late");
    f.streams.give_back(rank, wire::stdout_channel, "too late");
    assert_false(f.streams.rm_waits());
}

// What has been taken over may be more than is kept for who did so, which is known when more is read.
void what_cannot_be_kept_goes_to_the_rm_while_more_is_read(void **) {
    Fixture f;
    f.redirected = true;
    f.cannot_be_kept = "older, ";
    f.write(f.task_out, "taken over");
    f.expect_output("older, ", "taken over");
    f.copy.clear();
    f.redirected = false;
    f.cannot_be_kept = "before, ";
    f.write(f.task_out, "behind");
    f.expect_output("before, behind", "behind");
    // As much as the RM does not take: the task waits for it, as for anything that the RM gets.
    f.copy.clear();
    f.redirected = true;
    f.cannot_be_kept = std::string(1'000'000, 'x');
    f.write(f.task_out, "one");
    run_until(*f.loop, [&] { return f.copy == "one"; });
    assert_true(f.streams.rm_waits());
    f.write(f.task_out, "two");
    f.expect_output(std::string(1'000'000, 'x'), "onetwo");
    assert_false(f.streams.rm_waits());
}

void the_rms_stream_ends_when_tools_have_it(void **) {
    Fixture f;
    f.redirected = f.untaken = true;
    f.write(f.task_out, "all");
    f.task_out.reset();
    run_until(*f.loop, [&] { return f.ends == 1; });
    assert_false(Fixture::at_end(f.rm_out));
    f.untaken = false;
    f.streams.look_for_room();
    assert_true(Fixture::at_end(f.rm_out));
}

void input_that_is_held_ends_when_that_is_said(void **) {
    Fixture f;
    f.streams.hold_input(true);
    f.rm_in.reset();
    f.give("pushed");
    std::string read;
    run_until(*f.loop, [&] { return (read += Fixture::read_all(f.task_in)) == "pushed"; });
    assert_true(f.status == PMIX_SUCCESS);
    assert_false(Fixture::at_end(f.task_in));
    f.streams.hold_input(false);
    assert_true(Fixture::at_end(f.task_in));
}

void a_task_without_a_stream_is_refused(void **) {
    Fixture f;
    int status = 0;
    f.streams.add(rank + 1, {});
    f.streams.give(rank + 1, share("x"), false, StatusReply([&](pmix_status_t s) { status = s; }, PMIX_ERROR));
    assert_int_equal(status, PMIX_ERR_NOT_SUPPORTED);
}

void what_all_tasks_have_kept_is_not_there(void **) {
    constexpr std::uint8_t out = wire::stdout_channel, err = wire::stderr_channel;
    ReadableStreams tasks(2);
    tasks.note(3, 0);
    tasks.note(3, 0);
    assert_int_equal(tasks.there(), out | err); // as long as not all are known
    tasks.note(5, err);
    assert_int_equal(tasks.there(), err);
}

} // namespace

int main() {
    ::signal(SIGPIPE, SIG_IGN);
    const CMUnitTest tests[] = {
        cmocka_unit_test(output_goes_on_and_a_copy_to_tools),
        cmocka_unit_test(what_all_tasks_have_kept_is_not_there),
        cmocka_unit_test(what_is_pushed_too_early_waits_for_the_task),
        cmocka_unit_test(what_is_pushed_too_early_is_behind_the_rms),
        cmocka_unit_test(an_rm_that_does_not_read_stops_the_task),
        cmocka_unit_test(an_rm_that_is_gone_does_not_stop_it),
        cmocka_unit_test(what_was_kept_has_a_bound),
        cmocka_unit_test(input_comes_from_the_rm_and_from_who_pushes),
        cmocka_unit_test(the_end_of_the_rms_input_is_the_tasks),
        cmocka_unit_test(who_does_not_read_is_waited_for),
        cmocka_unit_test(what_waits_ends_with_the_task),
        cmocka_unit_test(a_task_that_closes_its_input_is_noticed),
        cmocka_unit_test(who_writes_waits_where_there_is_no_room),
        cmocka_unit_test(what_comes_back_goes_before_the_end),
        cmocka_unit_test(what_cannot_be_kept_goes_to_the_rm_while_more_is_read),
        cmocka_unit_test(the_rms_stream_ends_when_tools_have_it),
        cmocka_unit_test(input_that_is_held_ends_when_that_is_said),
        cmocka_unit_test(a_task_without_a_stream_is_refused),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
