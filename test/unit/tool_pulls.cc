// What the tools of one host pull, and what they are given of it: who comes, asks and goes, with a word or without one.
#include "test/unit/tool_pulls_host.h"

#include <sys/socket.h>
#include <unistd.h>

using namespace pmixhost;

namespace {

void what_was_written_before_comes_to_the_first_alone(void **) {
    Host host;
    assert_int_equal(host.gate->verdict, PMIX_ERR_NOT_SUPPORTED);
    auto *first = host.comes(), *second = host.comes();
    assert_int_equal(host.gate->verdict, PMIX_SUCCESS);
    PullAsk since = Host::ask(first, out);
    since.since = std::chrono::seconds(60);
    host.pulls.pull(host.now, since);
    assert_true(host.replays == 1 && host.wanted.kept_for == std::chrono::seconds(60) && host.kept_is_gone());
    assert_true(host.wanted.kept_but.none());
    host.pull(second, out | err); // but of what the first one does not pull
    assert_int_equal(host.replays, 2);
    assert_true(host.wants(3, err) && host.wanted.kept_but.has(3, out) && !host.wanted.kept_but.has(3, err));
    host.end(second);
    assert_int_equal(host.replays, 2);                                   // nor is it wanted again when less is
    assert_false(host.gate->note_pull(OutputSelection(err, {3}), true)); // it may be under way still
    assert_true(host.wants(3, out) && !host.wants(3, err));
    host.end(first);
    assert_true(!host.pulls.any() && host.wanted.pulled.none() && !host.kept_is_gone());
    host.pull(second, out);
    assert_int_equal(host.replays, 3);
    host.end(second);
    since.since = std::chrono::seconds(0);
    host.pulls.pull(host.now, since);
    assert_true(host.replays == 4 && host.wanted.kept_but.has(3, out)); // but for what has ended
}

// Whoever has the number of its connection next is not taken for it.
void a_tool_that_goes_without_a_word_pulls_no_longer(void **) {
    Host host;
    host.comes(); // it stays, and pulls nothing
    auto *reader = host.comes();
    host.pull(reader, out);
    host.goes(reader);
    assert_true(host.pulls.any());
    host.passes();
    assert_true(!host.pulls.any() && host.wanted.pulled.none() && host.ended == 1 && !host.kept_is_gone());
    host.pull(host.comes(), out);
    assert_int_equal(host.replays, 2);

    // Nor does the next one wait for a look.
    Host hurried;
    hurried.comes();
    auto *killed = hurried.comes();
    hurried.pull(killed, out);
    hurried.goes(killed);
    hurried.comes();
    assert_false(hurried.pulls.any() || hurried.kept_is_gone());

    // And one that had gone before its pull was heard of never pulled.
    auto *late = hurried.comes();
    PullAsk ask = Host::ask(late, out);
    hurried.goes(late);
    hurried.gate->note_pull(out, false); // as the upcall left it
    const int wishes = hurried.wishes;
    hurried.pulls.pull(hurried.now, ask);
    assert_false(hurried.pulls.any() || hurried.kept_is_gone() || hurried.wishes != wishes);
}

void what_the_others_pull_goes_on_and_no_more(void **) {
    Host host;
    auto *all = host.comes(), *some = host.comes();
    host.pull(all, out | err);
    PullAsk little = Host::ask(some, out, {1, 3});
    little.cache = 0;
    little.drop_oldest = true;
    host.pulls.pull(host.now, little);
    assert_true(host.wanted.cache == most_cache && host.wanted.drop_oldest);
    const int wishes = host.wishes;
    host.goes(all);
    host.passes();
    assert_true(host.wishes == wishes + 1 && !host.wanted.kept);
    assert_true(host.wants(1, out) && host.wants(3, out) && !host.wants(2, out) && !host.wants(1, err));
    assert_true(host.wanted.cache == ToolPulls::least_cache && host.kept_is_gone());
    host.end(all); // its word was under way
    assert_true(host.wants(1, out));
    host.end(some);
    assert_true(host.wanted.pulled.none());
}

// As far as libpmix leaves it to be known without its headers.
void of_unknown_connections_pulls_end_when_all_tools_came_later(void **) {
    Host host;
    auto *stays = host.comes(true, false), *reader = host.comes(true, false);
    host.pull(reader, out);
    host.goes(reader);
    host.passes();
    assert_true(host.pulls.any());
    host.comes(true, false);
    assert_true(host.pulls.any());
    host.goes(stays);
    host.passes();
    assert_false(host.pulls.any());
    assert_true(host.ended == 1 && !host.kept_is_gone());
    host.end(reader); // nothing is there to end
    assert_int_equal(host.ended, 1);
    auto *last = &host.present.back();
    host.pull(last, out);
    host.pull(last, err);
    host.end(last);
    assert_true(host.wants(0, out) && host.wants(0, err)); // it may have been either
    host.goes(last);
    host.passes();
    assert_true(!host.pulls.any() && host.gate->verdict == PMIX_ERR_NOT_SUPPORTED);
    assert_true(host.pulls.next_time() == TimePoint::max());
}

// Where the library may give it what they pull.
void one_without_the_right_ends_what_the_others_pull(void **) {
    Host host;
    host.can = false;
    auto *reader = host.comes();
    host.pull(reader, out, {0, 2});
    PullAsk under_way = Host::ask(reader, err);
    auto *other = host.comes(false);
    assert_true(host.gate->verdict == PMIX_ERR_NO_PERMISSIONS && host.gate->of_children == PMIX_ERR_NO_PERMISSIONS);
    assert_true(!host.pulls.any() && host.wanted.pulled.none());
    assert_int_equal(host.failures.size(), 1);
    assert_true(host.failures[0].ranks == std::vector<Rank>({0, 2}) && host.failures[0].channels == out);
    assert_string_equal(host.failures[0].nspace.c_str(), "job");
    // The library had granted it by then: whoever asked hears that nothing comes.
    host.gate->note_pull(err, false);
    host.pulls.pull(host.now, under_way);
    assert_true(!host.pulls.any() && !host.kept_is_gone());
    assert_int_equal(host.failures.size(), 2);
    assert_true(host.failures[1].ranks.empty() && host.failures[1].channels == err);
    host.goes(other);
    host.passes();
    assert_int_equal(host.gate->verdict, PMIX_SUCCESS);
    host.pull(reader, out);
    assert_int_equal(host.replays, 2);
}

void one_whose_pull_can_be_made_void_ends_nothing(void **) {
    Host host;
    auto *reader = host.comes();
    host.pull(reader, out);
    PullAsk under_way = Host::ask(reader, err);
    auto *other = host.comes(false);
    assert_int_equal(host.gate->may_be_pulled(false, true), PMIX_ERR_NO_PERMISSIONS);
    assert_int_equal(host.gate->may_be_pulled(true, true), PMIX_ERR_NO_PERMISSIONS);
    // Each by its own right, and who is not known has none.
    assert_int_equal(host.gate->may_be_pulled(false, true, other->connection), PMIX_ERR_NO_PERMISSIONS);
    assert_int_equal(host.gate->may_be_pulled(true, true, other->connection), PMIX_ERR_NO_PERMISSIONS);
    assert_int_equal(host.gate->may_be_pulled(false, true, LibraryConnection{9, 1}), PMIX_ERR_NO_PERMISSIONS);
    assert_int_equal(host.gate->may_be_pulled(false, true, reader->connection), PMIX_SUCCESS);
    assert_int_equal(host.gate->may_be_pulled(true, true, reader->connection), PMIX_SUCCESS);
    auto *later = host.comes();
    assert_int_equal(host.gate->may_be_pulled(false, true, later->connection), PMIX_SUCCESS);
    host.goes(later);
    // Processes of the job are no tools.
    assert_int_equal(host.gate->may_be_pulled(true, false), PMIX_SUCCESS);
    assert_int_equal(host.gate->may_be_pulled(false, false), PMIX_ERR_NOT_SUPPORTED);
    assert_true(host.pulls.any() && host.wants(0, out) && host.failures.empty());
    host.delivers({0, out, 0, 0, "goes on"});
    assert_int_equal(host.given.size(), 1);
    host.pulls.pull(host.now, under_way); // the library had granted it before
    assert_true(host.wants(0, err) && host.failures.empty());
    host.passes();
    assert_true(host.wants(0, out));
    // Of a pull that nobody knows whose it is, it is not known whom it serves; and all would hear that nothing comes.
    under_way.connection.reset();
    under_way.by_tool.reset();
    host.pulls.pull(host.now, under_way);
    assert_true(host.failures.empty());
    host.goes(other);
    host.passes();
    assert_int_equal(host.gate->verdict, PMIX_SUCCESS);
    host.pulls.pull(host.now, under_way);
    host.comes(false);
    assert_true(!host.pulls.any() && host.failures.size() == 1);

    Host leaks; // what was refused stays
    reader = leaks.comes();
    leaks.pull(reader, out);
    other = leaks.comes(false);
    assert_true(leaks.pulls.any());
    leaks.gate->keeps_refused = true;
    leaks.pulls.judge(leaks.now);
    assert_true(!leaks.pulls.any() && leaks.failures.size() == 1);
    assert_int_equal(leaks.gate->may_be_pulled(false, true, reader->connection), PMIX_ERR_NO_PERMISSIONS);
    assert_true(leaks.gate->keeps_refused);
    other->may = true; // and may lose it again
    leaks.passes();
    leaks.pull(reader, out);
    assert_true(leaks.pulls.any() && leaks.gate->keeps_refused);
    other->may = false;
    leaks.passes();
    assert_true(!leaks.pulls.any() && leaks.failures.size() == 2);
    leaks.goes(other); // and what stayed with one of them
    leaks.goes(reader);
    leaks.passes();
    assert_false(leaks.gate->keeps_refused);
    leaks.pull(leaks.comes(), out);
    leaks.comes(false);
    assert_true(leaks.pulls.any() && leaks.failures.size() == 2);
}

// The library has its pull still, and must not serve it.
void one_that_may_no_longer_is_left_out_and_nobody_else(void **) {
    Host host;
    auto *loses = host.comes(), *reader = host.comes(), *looks = host.comes();
    host.pull(loses, out, {0, 2});
    host.pull(reader, out | err);
    looks->may = false; // which pulls nothing
    host.passes();
    assert_true(host.pulls.any() && host.failures.empty());
    assert_true(std::exchange(host.passed_over, {}) == std::vector({looks->connection}));
    PullAsk under_way = Host::ask(loses, err);
    loses->may = false;
    host.passes();
    assert_true(host.passed_over == std::vector({loses->connection}) && host.wants(1, err));
    assert_true(host.failures.empty()); // which the other one would hear, and what it pulls goes on
    assert_int_equal(host.gate->may_be_pulled(false, true, loses->connection), PMIX_ERR_NO_PERMISSIONS);
    // Nor what had been granted by then.
    host.pulls.pull(host.now, under_way);
    assert_true(host.failures.empty() && host.passed_over == std::vector({loses->connection, loses->connection}));
    host.passed_over.pop_back();
    // It stays so, however much it takes; and whose pulls are over are those of the others.
    host.halts(loses);
    loses->unsent = 0;
    host.passes();
    assert_true(host.passed_over == std::vector({loses->connection}) && host.pulls.most_unsent(host.now) == 0);
    host.end(loses);
    assert_true(host.wants(1, err));
    // It may again, and asks.
    loses->may = looks->may = true;
    host.passes();
    assert_int_equal(host.gate->may_be_pulled(false, true, loses->connection), PMIX_SUCCESS);
    host.pull(loses, out);
    host.halts(loses);
    assert_int_equal(host.passed_over.size(), 2);
    loses->unsent = 0;
    host.pulls.most_unsent(host.now);
    assert_true(host.passed_over.empty());

    Host rest; // of what nobody pulls any more all hear
    auto *all = rest.comes(), *some = rest.comes();
    rest.pull(all, out | err);
    rest.pull(some, out, {1, 3});
    under_way = Host::ask(all, out | err);
    all->may = false;
    rest.passes();
    assert_true(rest.wants(1, out) && !rest.wants(0, out));
    for (int told = 0; told < 2; ++told) { // and once more of what had been granted by then
        assert_int_equal(rest.failures.size(), 2);
        for (const auto &failure : std::exchange(rest.failures, {}))
            assert_true(failure.ranks == (failure.channels == out ? std::vector<Rank>({0, 2}) : std::vector<Rank>()));
        if (told == 0)
            rest.pulls.pull(rest.now, under_way);
    }

    Host last; // when nobody is left who pulls the next one has what was written before
    reader = last.comes();
    last.pull(reader, out);
    reader->may = false;
    last.passes();
    assert_true(!last.pulls.any() && last.wanted.pulled.none() && last.failures.size() == 1);
    last.pull(last.comes(), out);
    assert_true(last.pulls.any() && last.replays == 2);
}

// It ends a pull that was refused, as if it were the one that the library serves.
void who_may_no_longer_is_left_out_whatever_it_has_ended(void **) {
    Host host;
    auto *loses = host.comes(), *reader = host.comes();
    host.pull(loses, out);
    host.pull(reader, out);
    host.end(loses);
    host.end(loses);
    assert_true(host.passed_over.empty() && host.wants(0, out));
    loses->may = false;
    host.passes();
    assert_true(host.passed_over == std::vector({loses->connection}) && host.failures.empty());
    host.passes();
    assert_int_equal(host.passed_over.size(), 1); // once
    host.end(loses);
    host.halts(loses);
    loses->unsent = 0;
    host.pulls.most_unsent(host.now);
    assert_true(host.passed_over == std::vector({loses->connection}) && host.wants(0, out));
    // It may again, asks, and may not.
    loses->may = true;
    host.passes();
    host.passed_over.clear();
    host.pull(loses, out);
    host.end(loses);
    loses->may = false;
    host.passes();
    assert_true(host.passed_over == std::vector({loses->connection}));
}

void what_is_taken_over_is_given_back_when_its_tool_leaves(void **) {
    Host host;
    auto *taker = host.comes(), *reader = host.comes(), *other = host.comes();
    host.pull(reader, out | err);
    host.take_over(taker, out);
    assert_true(host.wanted.taken_over.has(0, out) && !host.wanted.taken_over.has(0, err));
    assert_true(host.pulls.next_time() == host.now + ToolPulls::taken_over_look);
    host.goes(other);
    host.passes();
    assert_true(host.wanted.taken_over.has(0, out)); // that was another one
    host.pull(taker, err, {1});
    host.end(taker); // it may have been the first
    assert_true(host.wanted.taken_over.none() && host.wants(0, out));
    host.take_over(taker, err);
    assert_true(host.wanted.taken_over.has(1, err));
    host.delivers({1, err, 0, 0, "a"});
    assert_true(host.pulls.next_time() == host.now); // before more is lost
    host.goes(taker);
    host.passes();
    assert_true(host.wanted.taken_over.none() && host.wants(1, err));
    assert_true(host.pulls.next_time() == host.now + ToolPulls::tools_look);
}

// It may be any that has gone; but not one that had gone before.
void of_unknown_connections_any_end_gives_back(void **) {
    Host host;
    auto *taker = host.comes(true, false), *reader = host.comes(true, false), *other = host.comes(true, false);
    host.goes(other);
    host.take_over(taker, out);
    assert_true(host.wanted.taken_over.has(0, out));
    host.goes(reader);
    host.passes();
    assert_true(host.wanted.taken_over.none() && host.wants(0, out));
}

void pulls_of_spawned_jobs_are_not_of_this_one(void **) {
    Host host;
    auto *tool = host.comes(), *other = host.comes();
    PullAsk child = Host::ask(tool, out);
    child.of_child = true;
    host.pulls.pull(host.now, child);
    assert_true(!host.pulls.any() && host.wishes == 0);
    host.pull(tool, out);
    host.end(tool); // it may have been the child's
    assert_true(host.pulls.any());
    host.pulls.pull(host.now, child);
    host.goes(tool);
    host.pull(other, out);
    host.end(other); // the child's pull has gone with who asked for it
    assert_false(host.pulls.any());
    PullEndAsk by_process;
    by_process.by_tool = false;
    host.pull(other, out);
    host.pulls.end_pull(by_process);
    assert_true(host.pulls.any());
}

// Whoever wants it sooner decides, until it goes.
void pieces_are_as_large_as_the_most_impatient_wants(void **) {
    Host host;
    auto *patient = host.comes(), *less_so = host.comes();
    PullAsk ask = Host::ask(patient, out);
    ask.held = 4096;
    ask.held_for = std::chrono::seconds(9);
    host.pulls.pull(host.now, ask);
    assert_true(host.wanted.held == HeldOutput::rule_of(ask.held, ask.held_for));
    ask.connection = less_so->connection;
    ask.held_for = std::chrono::seconds(3);
    host.pulls.pull(host.now, ask);
    assert_true(host.wanted.held.time == std::chrono::seconds(3));
    host.pull(less_so, err);
    assert_int_equal(host.wanted.held.bytes, 0);
    host.goes(less_so);
    host.passes();
    assert_true(host.wanted.held.bytes == 4096 && host.wanted.held.time == std::chrono::seconds(9));
}

void ends_and_failures_are_told_once(void **) {
    Host host;
    assert_true(host.pulls.has_all_ends());
    host.pull(host.comes(), out, {0, 1});
    assert_false(host.pulls.has_all_ends());
    assert_true(host.pulls.waits_for(0, out) && !host.pulls.waits_for(2, out) && !host.pulls.waits_for(0, err));
    host.delivers({0, out, 1, 0, {}});
    assert_true(host.given.back().end && !host.pulls.waits_for(0, out));
    host.pulls.deliver(host.now, {{{0, out, 0, 0, {}, 1}, 1}, {{1, out, 0, 0, {}, 1}, 1}});
    assert_int_equal(host.failures.size(), 1);
    assert_true(host.failures[0].ranks == std::vector<Rank>({1}));
    host.delivers({1, out, 1, 0, "end"});
    assert_true(host.pulls.has_all_ends());
    host.pulls.tell_failures({{0, out}, {1, err}, {2, out}}, "child");
    assert_int_equal(host.failures.size(), 3);
    assert_true(host.failures[1].ranks == std::vector<Rank>({0, 2}) && host.failures[2].channels == err);
}

// The one that comes later, alone; and of what it had not pulled before.
void who_pulls_what_has_ended_hears_so(void **) {
    Host host;
    auto *first = host.comes(), *second = host.comes();
    host.pull(first, out, {0, 1});
    host.delivers({0, out, 1, 0, {}});
    host.delivers({1, out, 0, 0, "goes on"});
    host.pull(second, out, {1, 2});
    assert_true(host.words.empty());
    PullAsk ask = Host::ask(second, out, {0});
    ask.number = 7;
    host.pulls.pull(host.now, ask);
    assert_int_equal(host.words.size(), 1);
    assert_true(host.to == second->connection && host.to_pull == 7);
    host.delivers({0, out, 1, 0, {}}); // as its own host says it to who asks again
    assert_int_equal(host.given.size(), 2);
    assert_true(host.words[0].rank == 0 && host.words[0].channel == out && host.words[0].end);
    assert_true(host.words[0].bytes.empty() && host.words[0].missing == 0);
    // What has ended while nobody pulled it comes with the wish, and once.
    auto *third = host.comes();
    host.pull(third, err, {3});
    host.end(third);
    host.words.clear();
    host.at_once = {{3, err, 1, 0, {}}};
    host.pull(third, err, {3});
    assert_true(host.given.size() == 3 && host.given.back().end && host.words.empty());
    // With what else it hears when it takes something again.
    host.halts(second);
    host.words.clear();
    host.pull(second, out, {0});
    assert_true(host.words.empty());
    second->unsent = 0;
    host.passes();
    host.passes();
    assert_true(host.words.size() == 1 && host.words[0].rank == 0 && host.words[0].end);
}

// Which brings them in another way than the flow, and once as well.
void what_is_forwarded_comes_before_the_flow(void **) {
    Host host;
    auto *first = host.comes(), *second = host.comes();
    host.before = {{0, out, 0, 0, "early", 0, 0, 1}, {1, out, 0, 0, {}, 0, 0, 1}, {2, out, 1, 0, {}}};
    host.pulls.note_forwarded(true);
    assert_true(host.gate->comes_as_spawned);
    host.pull(first, out);
    host.pull(second, out);
    assert_int_equal(host.given.size(), 3);
    assert_true(host.given[0].cut && host.given[1].cut && host.given[2].end);
    assert_true(host.cost_given + host.cost_left == 0 && !host.pulls.waits_for(2, out));
    host.pulls.note_forwarded(false);
    assert_false(host.gate->comes_as_spawned);
}

void who_asks_for_a_time_hears_that_there_is_none(void **) {
    Host host;
    host.is_undated = true;
    PullAsk ask = Host::ask(host.comes(), out | err, {2});
    ask.since = std::chrono::seconds(5);
    host.pulls.pull(host.now, ask);
    assert_int_equal(host.words.size(), 1);
    assert_true(host.words[0].undated && host.words[0].rank == 2 && host.words[0].channel == (out | err));
    ask = Host::ask(host.comes(), out, {1});
    host.pulls.pull(host.now, ask);
    assert_true(host.to != ask.connection); // it has not asked for one
    ask.since = std::chrono::seconds(5);
    host.pulls.pull(host.now, ask);
    assert_true(host.to == ask.connection && host.words[0].rank == 1 && host.words[0].channel == out);
    assert_true(host.given.empty());
    Host bare;
    bare.can = false;
    bare.is_undated = true;
    ask = Host::ask(bare.comes(), out);
    ask.since = std::chrono::seconds(5);
    bare.pulls.pull(bare.now, ask);
    assert_true(bare.given.size() == 1 && bare.given[0].undated);
}

void a_job_that_cannot_be_read_has_children_all_the_same(void **) {
    Host host;
    ToolPulls::Job job{"job", "12.0", 4};
    job.can_be_read = false;
    host.pulls.open(host.gate, job);
    auto *other = host.comes(false);
    assert_int_equal(host.gate->verdict, PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(host.gate->of_children, PMIX_ERR_NO_PERMISSIONS);
    host.goes(other);
    host.comes();
    assert_int_equal(host.gate->verdict, PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(host.gate->of_children, PMIX_SUCCESS);
}

void a_connection_is_not_the_next_one_of_its_number(void **) {
    int pair[2], next[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    const auto connection = LibraryConnection::of(pair[0]);
    assert_true(connection.is_here() && connection == LibraryConnection::of(pair[0]));
    close(pair[0]);
    assert_false(connection.is_here());
    assert_false(LibraryConnection::of(pair[0]).is_here());
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, next), 0);
    assert_int_equal(dup2(next[1], pair[0]), pair[0]);
    assert_false(connection.is_here());
    assert_true(LibraryConnection::of(pair[0]).is_here());
    assert_false(LibraryConnection::of(-1).is_here());
    for (int fd : {pair[1], next[0], next[1]}) {
        if (fd != pair[0])
            close(fd);
    }
    close(pair[0]);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_before_comes_to_the_first_alone),
        cmocka_unit_test(a_tool_that_goes_without_a_word_pulls_no_longer),
        cmocka_unit_test(what_the_others_pull_goes_on_and_no_more),
        cmocka_unit_test(of_unknown_connections_pulls_end_when_all_tools_came_later),
        cmocka_unit_test(one_without_the_right_ends_what_the_others_pull),
        cmocka_unit_test(one_whose_pull_can_be_made_void_ends_nothing),
        cmocka_unit_test(one_that_may_no_longer_is_left_out_and_nobody_else),
        cmocka_unit_test(who_may_no_longer_is_left_out_whatever_it_has_ended),
        cmocka_unit_test(what_is_taken_over_is_given_back_when_its_tool_leaves),
        cmocka_unit_test(of_unknown_connections_any_end_gives_back),
        cmocka_unit_test(pulls_of_spawned_jobs_are_not_of_this_one),
        cmocka_unit_test(pieces_are_as_large_as_the_most_impatient_wants),
        cmocka_unit_test(ends_and_failures_are_told_once),
        cmocka_unit_test(who_pulls_what_has_ended_hears_so),
        cmocka_unit_test(what_is_forwarded_comes_before_the_flow),
        cmocka_unit_test(who_asks_for_a_time_hears_that_there_is_none),
        cmocka_unit_test(a_job_that_cannot_be_read_has_children_all_the_same),
        cmocka_unit_test(a_connection_is_not_the_next_one_of_its_number),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
