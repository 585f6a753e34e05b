// What the tools of one host pull, and what they are given of it: who comes, asks and goes, with a word or without one.
#include "server-glue/iof/tool_pulls.h"
#include "server-glue/iof/tool_pace.h"

#include "test/unit/check.h"

#include <algorithm>
#include <list>
#include <sys/socket.h>
#include <unistd.h>

using namespace pmixhost;

namespace {

constexpr std::uint8_t out = wire::stdout_channel, err = wire::stderr_channel;
constexpr std::uint64_t most_cache = 1u << 20;
constexpr std::size_t much = ToolPace::much_unsent + 1; // that is not taken

// The tools of a host, their library, and the flow of output to it, as ToolPulls sees them.
struct Host : ToolPullsPort {
    struct Tool {
        std::uint64_t number;
        LibraryConnection connection;
        bool may;
        bool known = true; // which connection it asks on
        std::size_t unsent = 0;
    };
    TimePoint now{std::chrono::hours(1)};
    std::list<Tool> present, past;
    Tools count;
    Log log{2, LogLevel::error, "test"};
    std::shared_ptr<PullGate> gate = std::make_shared<PullGate>();
    ToolPulls pulls{log, *this};
    OutputWish wanted; // last
    int wishes = 0, replays = 0, ended = 0;
    std::vector<wire::OutputPiece> before;
    std::vector<wire::OutputPiece> at_once; // what the next wish brings, before want() is over
    bool is_undated = false;
    std::vector<ToolOutput> given;
    std::uint32_t cost_given = 0, cost_left = 0;
    bool can = true;
    std::vector<LibraryConnection> passed_over;
    std::vector<ToolOutput> words; // the last that one alone was given,
    LibraryConnection to;          // which one,
    std::optional<int> to_pull;    // and which of its pulls
    struct Failure {
        std::vector<Rank> ranks;
        std::uint8_t channels;
        Bytes nspace;
    };
    std::vector<Failure> failures;

    Host() {
        ToolPulls::Job job{"job", "12.0", 4};
        job.most_cache = most_cache;
        pulls.open(gate, job);
    }
    Tools tools() override {
        count.here = present.size();
        count.oldest = present.empty() ? 0 : present.front().number;
        auto refused = std::find_if(present.begin(), present.end(), [](const Tool &tool) { return !tool.may; });
        count.refused = refused == present.end() ? 0 : refused->number;
        return count;
    }
    bool is_here(const LibraryConnection &connection) override {
        return std::any_of(present.begin(), present.end(),
                           [&](const Tool &tool) { return tool.connection == connection; });
    }
    void log_decisions(bool) override {}
    void want(const OutputWish &wish) override {
        ++wishes;
        replays += wish.kept;
        wanted = wish;
        for (auto &piece : std::exchange(at_once, {}))
            delivers(std::move(piece));
    }
    std::vector<wire::OutputPiece> forwarded_before(const OutputWish &wish) override {
        auto pieces = before;
        std::erase_if(pieces, [&](const auto &piece) { return wish.kept_but.has(piece.rank, piece.channel); });
        return pieces;
    }
    bool may_be_undated(Duration) override { return is_undated; }
    std::size_t most_unsent() override {
        std::size_t most = 0;
        for (const auto &tool : present)
            most = std::max(most, tool.unsent);
        return most;
    }
    std::size_t unsent(const LibraryConnection &connection) override {
        for (const auto &tool : present) {
            if (tool.connection == connection)
                return tool.unsent;
        }
        return 0;
    }
    bool can_pass_over() const override { return can; }
    void pass_over(const LibraryConnection &connection) override { passed_over.push_back(connection); }
    void take_up(const LibraryConnection &connection) override { std::erase(passed_over, connection); }
    void give_one(const LibraryConnection &connection, std::optional<int> pull, std::vector<ToolOutput> some) override {
        to = connection;
        to_pull = pull;
        words = std::move(some);
    }
    void give_tools(ToolOutput output, std::uint32_t cost) override {
        given.push_back(std::move(output));
        cost_given += cost;
    }
    void nobody_takes(std::uint32_t cost) override { cost_left += cost; }
    void give_nobody() override { ++ended; }
    void tell_failure(const std::vector<Rank> &ranks, std::uint8_t channels, const Bytes &nspace) override {
        failures.push_back({ranks, channels, nspace});
    }

    // Under a number that one before it had, as descriptors come again.
    Tool *comes(bool may = true, bool known = true) {
        ++count.newest;
        present.push_back({count.newest, {7, 1000 + count.newest}, may, known});
        pulls.judge(now);
        return &present.back();
    }
    // Nobody is told.
    void goes(Tool *tool) {
        auto found = std::find_if(present.begin(), present.end(), [tool](const Tool &one) { return &one == tool; });
        past.splice(past.end(), present, found);
        ++count.gone;
    }
    // It takes nothing, until it has been looked at for long enough.
    void halts(Tool *tool) {
        tool->unsent = much;
        pulls.most_unsent(now);
        now += SlowReaders::patience;
        pulls.most_unsent(now);
    }
    // When ToolPulls has asked to look.
    void passes() {
        assert_true(pulls.next_time() != TimePoint::max());
        now = pulls.next_time();
        pulls.on_time(now);
    }
    static PullAsk ask(const Tool *tool, std::uint8_t channels, std::vector<Rank> ranks = {PMIX_RANK_WILDCARD}) {
        PullAsk ask;
        if (tool->known) {
            ask.by_tool = true;
            ask.connection = tool->connection;
        }
        ask.channels = channels;
        for (Rank rank : ranks)
            ask.sources.push_back({"job", rank});
        return ask;
    }
    void pull(const Tool *tool, std::uint8_t channels, std::vector<Rank> ranks = {PMIX_RANK_WILDCARD}) {
        pulls.pull(now, ask(tool, channels, std::move(ranks)));
    }
    void take_over(const Tool *tool, std::uint8_t channels) {
        PullAsk asked = ask(tool, channels);
        asked.take_over = true;
        pulls.pull(now, asked);
    }
    void end(const Tool *tool) {
        PullEndAsk over;
        if (tool->known) {
            over.by_tool = true;
            over.connection = tool->connection;
        }
        pulls.end_pull(over);
    }
    void delivers(wire::OutputPiece piece) { pulls.deliver(now, {{std::move(piece), 10}}); }
    // Of what any of them writes, for one that must have it.
    bool kept_is_gone() {
        const bool gone = !gate->note_pull(out | err, true);
        if (!gone)
            gate->note_read();
        return gone;
    }
    bool wants(Rank rank, std::uint8_t channel) const { return wanted.pulled.has(rank, channel); }
};

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
    // Of a pull that nobody knows whose it is, it is not known whom it serves.
    under_way.connection.reset();
    under_way.by_tool.reset();
    host.pulls.pull(host.now, under_way);
    assert_int_equal(host.failures.size(), 1);
    host.goes(other);
    host.passes();
    assert_int_equal(host.gate->verdict, PMIX_SUCCESS);
    host.pulls.pull(host.now, under_way);
    host.comes(false);
    assert_true(!host.pulls.any() && host.failures.size() == 2);

    Host loses; // one that might
    reader = loses.comes();
    loses.comes();
    loses.pull(reader, out);
    loses.present.back().may = false;
    loses.passes();
    assert_true(!loses.pulls.any() && loses.failures.size() == 1);

    loses.present.back().may = true;
    loses.passes();
    loses.pull(reader, out);
    loses.comes(false);
    assert_true(loses.pulls.any());
    reader->may = false; // beside one that never might
    loses.passes();
    assert_true(!loses.pulls.any() && loses.failures.size() == 2);

    Host leaks; // what was refused stays
    reader = leaks.comes();
    leaks.pull(reader, out);
    other = leaks.comes(false);
    assert_true(leaks.pulls.any());
    leaks.gate->keeps_refused = true;
    leaks.pulls.judge(leaks.now);
    assert_true(!leaks.pulls.any() && leaks.failures.size() == 1);
    assert_true(leaks.gate->keeps_refused);
    leaks.goes(other); // and what stayed with it
    leaks.passes();
    leaks.pull(reader, out);
    leaks.comes(false);
    assert_true(leaks.pulls.any() && leaks.failures.size() == 1);
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

void who_takes_nothing_is_passed_over_and_hears_what_it_missed(void **) {
    Host host;
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
    assert_true(host.passed_over.empty());
    assert_int_equal(host.words.size(), 2);
    assert_true(host.words[0].rank == 0 && host.words[0].missing == 6 && !host.words[0].end);
    assert_true(host.words[1].rank == 1 && host.words[1].missing == 0 && host.words[1].end);
    host.delivers({0, out, 0, 0, "for both"});
    assert_int_equal(host.given.back().missing, 0);
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
    // Nor is one passed over any more that takes something over.
    reader->unsent = much;
    taker->unsent = 0;
    host.pulls.most_unsent(host.now);
    host.now += SlowReaders::patience;
    host.pulls.most_unsent(host.now);
    assert_int_equal(host.passed_over.size(), 1);
    host.take_over(reader, err);
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

void pulls_that_end_leave_nobody_passed_over(void **) {
    Host host;
    auto *halted = host.comes(), *reader = host.comes();
    host.pull(halted, out);
    host.pull(reader, out);
    host.halts(halted);
    host.delivers({0, out, 0, 0, "missed"});
    host.end(reader); // there is nobody any more for whose sake it was
    while (!host.passed_over.empty() && host.now < TimePoint(std::chrono::hours(2)))
        host.passes();
    assert_true(host.passed_over.empty() && host.words.size() == 1 && host.words[0].missing == 6);
    assert_int_equal(host.pulls.most_unsent(host.now), much);
    host.pull(reader, out);
    host.now += SlowReaders::patience;
    host.pulls.most_unsent(host.now);
    assert_int_equal(host.passed_over.size(), 1);
    halted->unsent = 0;
    assert_int_equal(host.pulls.most_unsent(host.now), 0);
    assert_true(host.passed_over.empty());
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
    host.pull(halted, out);
    host.pull(reader, err);
    host.halts(halted);
    host.delivers({0, out, 0, 0, "missed"});
    assert_true(host.given.empty() && host.cost_left == 10 && host.pulls.owes_words());
    host.delivers({0, err, 0, 0, "read"});
    assert_int_equal(host.given.size(), 1);
    // Nor does it wait for one that has gone.
    const int ended = host.ended;
    host.goes(reader);
    assert_int_equal(host.pulls.most_unsent(host.now), much);
    assert_true(host.passed_over.empty() && host.words.size() == 1 && host.words[0].missing == 6);
    host.passes();
    assert_int_equal(host.ended, ended + 1); // what has been given for it meanwhile the library may have kept
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
        cmocka_unit_test(what_is_taken_over_is_given_back_when_its_tool_leaves),
        cmocka_unit_test(of_unknown_connections_any_end_gives_back),
        cmocka_unit_test(pulls_of_spawned_jobs_are_not_of_this_one),
        cmocka_unit_test(pieces_are_as_large_as_the_most_impatient_wants),
        cmocka_unit_test(what_is_missing_is_told_before_what_follows),
        cmocka_unit_test(what_is_too_much_is_told_later),
        cmocka_unit_test(ends_and_failures_are_told_once),
        cmocka_unit_test(who_pulls_what_has_ended_hears_so),
        cmocka_unit_test(what_is_forwarded_comes_before_the_flow),
        cmocka_unit_test(who_asks_for_a_time_hears_that_there_is_none),
        cmocka_unit_test(a_job_that_cannot_be_read_has_children_all_the_same),
        cmocka_unit_test(who_takes_nothing_is_passed_over_and_hears_what_it_missed),
        cmocka_unit_test(who_has_taken_over_what_nobody_else_has_is_waited_for),
        cmocka_unit_test(pulls_that_end_leave_nobody_passed_over),
        cmocka_unit_test(who_pulls_no_more_is_passed_over_too),
        cmocka_unit_test(what_nobody_takes_is_not_given),
        cmocka_unit_test(a_connection_is_not_the_next_one_of_its_number),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
