// Tools that take nothing of what they pull, or not all: the others do not wait, and they get what has been kept for
// them, and hear what they have missed.
#include "test/unit/tool_pulls_host.h"

using namespace pmixhost;

namespace {

void what_is_missing_is_told_before_what_follows(void **) {
    Host host;
    auto *reader = host.comes();
    host.delivers({0, out, 0, 0, "unwanted"});
    assert_true(host.given.empty() && host.cost_left == 10);
    host.pull(reader, out);
    host.delivers({1, out, 0, 0, "of another"});
    host.delivers({0, err, 0, 9, "not pulled"});
    host.delivers({0, out, 0, 8, "next"});
    host.delivers({0, out, 0, 0, "last"});
    assert_int_equal(host.given.size(), 3);
    assert_true(host.given[0].missing == 0 && host.given[1].missing == 8 && host.given[2].missing == 0);
    assert_string_equal(host.given[1].bytes.c_str(), "next");
    // Nor does it wait for that.
    host.delivers({0, out, 0, 5, {}});
    assert_true(host.given.size() == 4 && host.given[3].missing == 5 && host.given[3].bytes.empty());
    host.delivers({0, out, 0, 0, {}}); // which says nothing
    assert_true(host.given.size() == 4 && host.cost_given == 40 && host.cost_left == 30);
    host.pulls.deliver(host.now, {{{1, out, 0, 6, {}, 1}, 10}}); // of what fails
    assert_true(host.given.size() == 5 && host.given[4].missing == 6 && !host.given[4].end);
    assert_int_equal(host.failures.size(), 1);
}

// What is not for them alone is not held up by tools that are slow, and they are told when they take more.
void what_is_too_much_is_told_later(void **) {
    Host host;
    auto *reader = host.comes();
    host.pull(reader, out);
    auto too_much = [&](wire::OutputPiece piece) { host.pulls.deliver(host.now, {{std::move(piece), 0, true}}); };
    too_much({0, out, 0, 0, "four"});
    too_much({0, out, 0, 3, "five!"});
    too_much({1, out, 0, 0, "six"});
    assert_true(host.given.empty());
    host.delivers({1, out, 0, 0, "comes"});
    assert_true(host.given.size() == 1 && host.given[0].missing == 3);
    host.pulls.tell_missing();
    assert_int_equal(host.given.size(), 2);
    assert_true(host.given[1].rank == 0 && host.given[1].missing == 12 && host.given[1].bytes.empty());
    host.pulls.tell_missing();
    assert_int_equal(host.given.size(), 2);
    too_much({0, out, 1, 0, "end"}); // which they hear of in any case
    assert_true(host.given.size() == 3 && host.given[2].end && host.given[2].missing == 3);
    // It is no news to who comes later.
    too_much({1, out, 0, 0, "seven"});
    host.goes(reader);
    host.passes();
    host.pull(host.comes(), out);
    host.delivers({1, out, 0, 0, "new"});
    assert_int_equal(host.given.back().missing, 0);
    host.pulls.tell_missing();
    assert_int_equal(host.given.size(), 4);
}

void who_takes_nothing_is_passed_over_and_gets_what_was_kept_for_it(void **) {
    Host host;
    host.queues_at_once = false;
    auto *halted = host.comes(), *reader = host.comes();
    host.comes()->unsent = much; // it pulls nothing, and nobody waits for it
    host.pull(halted, out);
    host.pull(reader, out | err);
    assert_int_equal(host.pulls.most_unsent(host.now), 0);
    halted->unsent = much;
    assert_int_equal(host.pulls.most_unsent(host.now), much);
    host.delivers({0, out, 0, 0, "for both"});
    host.now += SlowReaders::patience;
    assert_int_equal(host.pulls.most_unsent(host.now), 0);
    assert_true(host.passed_over == std::vector({halted->connection}));
    host.delivers({0, out, 0, 2, "four"});
    host.delivers({1, out, 1, 0, {}});
    host.delivers({1, err, 0, 0, "not its"});
    host.pull(halted, err, {2}); // the library has a pull more, to be passed over as well
    assert_int_equal(host.passed_over.size(), 2);
    host.passed_over.pop_back();
    host.passes();
    assert_int_equal(host.passed_over.size(), 1);
    halted->unsent = 0;
    host.passes();
    assert_true(host.words.size() == 2 && host.to == halted->connection && !host.to_pull);
    assert_true(host.words[0].rank == 0 && host.words[0].missing == 2 && !host.words[0].end);
    assert_string_equal(host.words[0].bytes.c_str(), "four");
    assert_true(host.words[1].rank == 1 && host.words[1].missing == 0 && host.words[1].end);
    assert_true(host.passed_over.empty() && host.pulls.owes_words());
    host.pulls.words_given();
    assert_false(host.pulls.owes_words());
    host.delivers({0, out, 0, 0, "for both"});
    assert_int_equal(host.given.back().missing, 0);
}

// However fast the others are given more; and one piece after the other, as it takes them.
void who_takes_something_again_catches_up(void **) {
    Host host;
    host.queues_at_once = false;
    std::size_t delivered = 0, given = 0;
    auto deliver = [&](std::size_t cost) {
        constexpr std::size_t each = 32u << 10;
        for (std::size_t at = 0; at < cost; at += each, delivered += each - wire::output_overhead)
            host.delivers({0, out, 0, 0, Bytes(each - wire::output_overhead, 'x')});
    };
    auto *halted = host.comes(), *reader = host.comes();
    host.pull(halted, out);
    host.pull(reader, out);
    host.halts(halted);
    deliver(most_cache);
    halted->unsent = 0;
    host.pulls.judge(host.now);
    int rounds = 0;
    for (; !host.passed_over.empty(); ++rounds) {
        assert_in_range(rounds, 0, 8);
        const bool is_full = rounds == 0;
        const std::size_t most = host.pulls.most_unsent(host.now);
        assert_true(!is_full || most == SIZE_MAX); // the others wait
        const std::size_t had = host.every.size();
        host.pulls.most_unsent(host.now);
        assert_int_equal(host.every.size(), had);
        if (!host.passed_over.empty()) { // nor is it asked before that is known
            assert_true(host.pulls.next_time() > host.now + SlowReaders::next_piece);
            host.pulls.words_given();
            assert_true(host.pulls.next_time() <= host.now + SlowReaders::next_piece);
            host.now += SlowReaders::next_piece;
            deliver(wire::output_window);
        }
    }
    assert_in_range(rounds, 2, 8);
    for (const auto &word : host.every) {
        given += word.bytes.size();
        assert_int_equal(word.missing, 0);
    }
    assert_int_equal(given, delivered);
}

// Words that could not be dropped would leave no room for what is written.
void words_alone_take_no_room(void **) {
    Host host;
    auto *halted = host.comes(), *reader = host.comes();
    PullAsk ask = Host::ask(halted, out);
    ask.cache = 0;
    ask.drop_oldest = true;
    host.pulls.pull(host.now, ask);
    host.pull(reader, out);
    host.halts(halted);
    host.delivers({1, out, 1, 0, {}});
    PullAsk again = ask;
    for (int i = 0; i < 5000; ++i) {
        host.delivers({0, out, 0, 1, {}});
        again.sources = {{"job", 1}}; // which has ended
        host.pulls.pull(host.now, again);
    }
    host.delivers({0, out, 0, 0, "bytes"});
    halted->unsent = 0;
    host.pulls.most_unsent(host.now);
    assert_true(host.passed_over.empty() && host.words.size() == 2);
    assert_true(host.words[0].rank == 1 && host.words[0].end && host.words[1].missing == 5000);
    assert_string_equal(host.words[1].bytes.c_str(), "bytes");
    // An end that it has been given is one for what it pulls then.
    host.halts(halted);
    host.pull(halted, out, {1});
    halted->unsent = 0;
    host.pulls.most_unsent(host.now);
    assert_true(host.words.size() == 1 && host.words[0].rank == 1 && host.words[0].end);
}

// As far as it has asked for, and what it wants of that; whatever others want.
void what_is_kept_for_one_goes_by_its_own_rule(void **) {
    Host host;
    constexpr std::size_t size = 16u << 10, pieces = 8;
    auto *oldest = host.comes(), *newest = host.comes();
    for (auto *tool : {oldest, newest}) {
        PullAsk ask = Host::ask(tool, out);
        ask.cache = 0;
        ask.drop_oldest = tool == oldest;
        host.pulls.pull(host.now, ask);
        tool->unsent = much;
    }
    // There is no one rule by which it could wait for both.
    assert_int_equal(host.pulls.most_unsent(host.now), much);
    host.now += SlowReaders::patience_again;
    assert_int_equal(host.pulls.most_unsent(host.now), 0);
    assert_int_equal(host.passed_over.size(), 2);
    for (char each = 'a'; each < 'a' + static_cast<char>(pieces); ++each)
        host.delivers({0, out, 0, 0, Bytes(size, each)});
    host.delivers({0, out, 1, 0, {}});
    assert_true(host.given.empty() && host.cost_left == 90);
    auto had = [&](Host::Tool *tool) {
        Bytes bytes;
        std::uint64_t missing = 0;
        bool end = false;
        tool->unsent = 0;
        host.every.clear();
        while (std::count(host.passed_over.begin(), host.passed_over.end(), tool->connection) > 0) {
            host.passes();
            assert_true(host.now < TimePoint(std::chrono::hours(2)));
        }
        for (const auto &word : host.every) {
            assert_true(host.to == tool->connection && !end);
            bytes += word.bytes;
            missing += word.missing;
            end = word.end;
        }
        assert_true(end && !bytes.empty());
        assert_int_equal(bytes.size() + missing, pieces * size);
        return bytes;
    };
    const Bytes first = had(newest), last = had(oldest);
    assert_true(first.front() == 'a' && first.find('h') == Bytes::npos);
    assert_true(last.back() == 'h' && last.find('a') == Bytes::npos);
    assert_true(first.size() <= ToolPulls::least_cache && last.size() <= ToolPulls::least_cache);
    // What is kept for one goes with its pull.
    host.end(newest);
    host.halts(oldest);
    host.pull(newest, out);
    assert_int_equal(host.pulls.most_unsent(host.now), 0);
    host.delivers({0, out, 0, 0, "kept"});
    assert_true(host.pulls.owes_words());
    host.end(oldest);
    assert_false(host.pulls.owes_words());
}

void who_has_taken_over_what_nobody_else_has_is_waited_for(void **) {
    Host host;
    auto *taker = host.comes(), *reader = host.comes();
    host.take_over(taker, out);
    host.pull(reader, out);
    taker->unsent = much;
    host.pulls.most_unsent(host.now);
    host.now += SlowReaders::patience;
    assert_int_equal(host.pulls.most_unsent(host.now), much);
    assert_true(host.passed_over.empty());
    // One that takes something over is passed over until it has taken what is kept for it, and all wait.
    reader->unsent = much;
    taker->unsent = 0;
    host.pulls.most_unsent(host.now);
    host.now += SlowReaders::patience;
    host.pulls.most_unsent(host.now);
    assert_int_equal(host.passed_over.size(), 1);
    host.take_over(reader, err);
    assert_int_equal(host.passed_over.size(), 2); // of that, too
    assert_int_equal(host.pulls.most_unsent(host.now), SIZE_MAX);
    reader->unsent = 0;
    assert_int_equal(host.pulls.most_unsent(host.now), 0);
    assert_true(host.passed_over.empty());

    // Nor is there anything to be done where it is not known whose a pull is, or how it could be left out.
    Host bare;
    bare.can = false;
    auto *slow = bare.comes(), *other = bare.comes();
    bare.pull(slow, out);
    bare.pull(other, out);
    slow->unsent = much;
    bare.pulls.most_unsent(bare.now);
    bare.now += SlowReaders::patience;
    assert_int_equal(bare.pulls.most_unsent(bare.now), much);
    auto *unknown = bare.comes(true, false);
    bare.pull(unknown, out);
    bare.comes()->unsent = SIZE_MAX;
    assert_int_equal(bare.pulls.most_unsent(bare.now), SIZE_MAX);
}

// There is nobody any more for whose sake it was; but the library would hold what it does not take, without a bound.
void who_is_left_alone_is_given_what_it_takes(void **) {
    Host host;
    auto *halted = host.comes(), *reader = host.comes();
    host.pull(halted, out);
    host.pull(reader, out);
    host.halts(halted);
    host.delivers({0, out, 0, 0, "missed"});
    host.end(reader);
    host.passes();
    assert_int_equal(host.pulls.most_unsent(host.now), much); // all waits for it
    assert_true(host.passed_over.size() == 1 && host.words.empty());
    host.pull(reader, out); // who comes does not
    assert_int_equal(host.pulls.most_unsent(host.now), 0);
    assert_int_equal(host.passed_over.size(), 1);
    host.end(reader);
    halted->unsent = 0;
    assert_int_equal(host.pulls.most_unsent(host.now), 0);
    assert_true(host.passed_over.empty() && host.words.size() == 1 && host.words[0].bytes == "missed");
}

// Where it may be passed over no longer, it is not given at once all that is kept for it, which it may never take.
void who_never_reads_is_given_no_more_however_often_it_asks(void **) {
    constexpr std::size_t each = 32u << 10, piece = 2 * wire::output_window;
    for (bool of_unknown : {false, true}) {
        Host host;
        auto *halted = host.comes(), *reader = host.comes();
        auto *unknown = host.comes(true, false);
        host.pull(halted, out);
        host.pull(reader, out);
        host.halts(halted);
        for (std::size_t bytes = 0; bytes < most_cache; bytes += each)
            host.delivers({0, out, 0, 0, Bytes(each - wire::output_overhead, 'x')});
        for (int round = 0; round < 10; ++round) {
            if (round > 0)
                host.end(of_unknown ? unknown : halted);
            if (of_unknown)
                host.pull(unknown, out);
            else
                host.take_over(halted, out);
            assert_int_equal(host.pulls.most_unsent(host.now), SIZE_MAX);
            assert_true(!host.passed_over.empty() && host.every.empty());
        }
        halted->unsent = 0;
        std::size_t had = 0;
        for (int rounds = 0; !host.passed_over.empty(); ++rounds) {
            assert_in_range(rounds, 0, 8);
            host.passes();
            std::size_t bytes = 0;
            for (const auto &word : std::exchange(host.every, {})) {
                assert_int_equal(word.missing, 0);
                bytes += word.bytes.size();
            }
            assert_true(bytes <= piece);
            had += bytes;
        }
        assert_int_equal(had, most_cache / each * (each - wire::output_overhead));
        assert_int_equal(host.pulls.most_unsent(host.now), 0);
    }
}

// What is forwarded is for somebody else: while it is held up for one tool it is left out for all.
void for_who_catches_up_nothing_is_held_up_that_is_forwarded(void **) {
    for (bool is_forwarded : {false, true}) {
        constexpr std::size_t each = 32u << 10;
        Host host;
        host.pulls.note_forwarded(is_forwarded);
        auto *halted = host.comes(), *reader = host.comes();
        host.pull(halted, out);
        host.pull(reader, out);
        host.halts(halted);
        for (std::size_t bytes = 0; bytes < most_cache; bytes += each)
            host.delivers({0, out, 0, 0, Bytes(each - wire::output_overhead, 'x')});
        halted->unsent = 0;
        assert_int_equal(host.pulls.most_unsent(host.now), is_forwarded ? 0 : SIZE_MAX);
        assert_false(host.every.empty());
        halted->unsent = much;
        host.take_over(halted, err); // which is nothing, of what is forwarded
        assert_int_equal(host.pulls.most_unsent(host.now), is_forwarded ? 0 : SIZE_MAX);
    }
}

void who_never_reads_is_given_no_more_however_often_others_come_and_go(void **) {
    Host host;
    constexpr std::size_t each = 32u << 10;
    auto had = [&] {
        std::size_t bytes = 0;
        for (const auto &word : host.every)
            bytes += word.bytes.size();
        return bytes;
    };
    auto *halted = host.comes();
    host.pull(halted, out);
    for (int round = 0; round < 10; ++round) {
        auto *reader = host.comes();
        PullAsk ask = Host::ask(reader, out);
        if (round % 2 == 1)
            ask.cache = 0; // who wants something else does not wait either
        host.pulls.pull(host.now, ask);
        host.halts(halted);
        assert_int_equal(host.passed_over.size(), 1);
        for (std::size_t bytes = 0; bytes < most_cache; bytes += each)
            host.delivers({0, out, 0, 0, Bytes(each, 'x')});
        host.goes(reader);
        host.pulls.judge(host.now);
        assert_int_equal(host.pulls.most_unsent(host.now), much);
        assert_true(had() < most_cache);
    }
    halted->unsent = 0;
    for (std::size_t before = had(); !host.passed_over.empty(); before = had()) {
        const std::size_t most = host.pulls.most_unsent(host.now);
        assert_int_equal(most, host.passed_over.empty() ? 0 : SIZE_MAX); // all waits
        assert_true(had() > before && had() <= before + 2 * wire::output_window);
    }
    assert_true(had() > 0 && had() <= most_cache);
}

// The rules have ended its pulls, which the library keeps: it is given what others pull, and would be for ever.
void who_pulls_no_more_is_passed_over_too(void **) {
    for (bool has_child : {false, true}) {
        Host host;
        auto *halted = host.comes(), *reader = host.comes();
        host.pull(halted, out);
        if (has_child) {
            PullAsk child = Host::ask(halted, out);
            child.of_child = true;
            host.pulls.pull(host.now, child);
        }
        reader->may = false;
        host.gate->keeps_refused = true; // one of its own
        host.passes();
        assert_false(host.pulls.any());
        reader->may = true;
        host.passes();
        host.pull(reader, out);
        halted->unsent = much;
        assert_int_equal(host.pulls.most_unsent(host.now), much);
        host.now += SlowReaders::patience;
        assert_int_equal(host.pulls.most_unsent(host.now), 0);
        assert_true(host.passed_over == std::vector({halted->connection}));
        halted->unsent = 0;
        host.pull(halted, out);
        host.pulls.most_unsent(host.now);
        assert_true(host.passed_over.empty() && host.words.empty());
        // Its word that the first one is over is not of the second.
        host.end(reader);
        host.end(halted);
        assert_true(host.pulls.any() && host.wants(0, out));
    }
}

// The library would keep it, and give it to whoever pulls next.
void what_nobody_takes_is_not_given(void **) {
    Host host;
    auto *halted = host.comes(), *reader = host.comes();
    host.queues_at_once = false;
    host.pull(halted, out);
    host.pull(reader, err);
    host.halts(halted);
    host.delivers({0, out, 0, 0, "missed"});
    assert_true(host.given.empty() && host.cost_left == 10 && host.pulls.owes_words());
    host.delivers({0, err, 0, 0, "read"});
    assert_int_equal(host.given.size(), 1);
    const int ended = host.ended;
    host.goes(reader);
    host.pulls.judge(host.now);
    assert_int_equal(host.ended, ended + 1); // what has been given for it meanwhile the library may have kept
    assert_int_equal(host.pulls.most_unsent(host.now), much);
    assert_true(host.passed_over.size() == 1 && host.words.empty());
    halted->unsent = 0;
    host.pulls.most_unsent(host.now);
    assert_true(host.passed_over.empty() && host.words.size() == 1 && host.words[0].bytes == "missed");
    assert_true(host.pulls.owes_words());
    host.pulls.words_given();
    assert_false(host.pulls.owes_words());

    // Also where as much is wanted as before.
    for (bool in_order : {false, true}) {
        Host same;
        auto *stopped = same.comes(), *other = same.comes();
        same.pull(stopped, out);
        same.pull(other, out);
        same.halts(stopped);
        assert_int_equal(same.passed_over.size(), 1);
        const int wishes = same.wishes;
        if (in_order)
            same.end(other);
        else
            same.goes(other);
        same.passes();
        assert_true(same.ended > 0 && same.wishes == wishes);
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_is_missing_is_told_before_what_follows),
        cmocka_unit_test(what_is_too_much_is_told_later),
        cmocka_unit_test(who_takes_nothing_is_passed_over_and_gets_what_was_kept_for_it),
        cmocka_unit_test(who_takes_something_again_catches_up),
        cmocka_unit_test(words_alone_take_no_room),
        cmocka_unit_test(what_is_kept_for_one_goes_by_its_own_rule),
        cmocka_unit_test(who_has_taken_over_what_nobody_else_has_is_waited_for),
        cmocka_unit_test(who_is_left_alone_is_given_what_it_takes),
        cmocka_unit_test(who_never_reads_is_given_no_more_however_often_it_asks),
        cmocka_unit_test(for_who_catches_up_nothing_is_held_up_that_is_forwarded),
        cmocka_unit_test(who_never_reads_is_given_no_more_however_often_others_come_and_go),
        cmocka_unit_test(who_pulls_no_more_is_passed_over_too),
        cmocka_unit_test(what_nobody_takes_is_not_given),
    };
    return cmocka_run_group_tests_name("passed_over_pulls", tests, nullptr, nullptr);
}
