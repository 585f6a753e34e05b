// The tools of one host, which come, ask, stop reading and go as a test says, and what ToolPulls wants for them and
// gives them. Two tests need it: of what is pulled (tool_pulls.cc), and of who is passed over (passed_over_pulls.cc).
#pragma once

#include "server-glue/iof/tool_pace.h"
#include "server-glue/iof/tool_pulls.h"

#include "test/unit/check.h"

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace pmixhost {

inline constexpr std::uint8_t out = wire::stdout_channel, err = wire::stderr_channel;
inline constexpr std::uint64_t most_cache = 1u << 20;
inline constexpr std::size_t much = ToolPace::much_unsent + 1; // that is not taken

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
    std::vector<ToolOutput> every; // and all that any one was; the last:
    LibraryConnection to;          // which one,
    std::optional<int> to_pull;    // and which of its pulls
    bool queues_at_once = true;    // the library does, what one alone is given
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
        count.allowed.clear();
        count.barred.clear();
        for (const auto &tool : present) {
            if (count.refused != 0)
                (tool.may ? count.allowed : count.barred).insert(tool.connection);
        }
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
        every.insert(every.end(), words.begin(), words.end());
        if (queues_at_once)
            pulls.words_given();
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
        now = std::max(now, pulls.next_time());
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

} // namespace pmixhost
