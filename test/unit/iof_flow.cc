// Output and input of processes on their way between hosts: along the tree, with windows, around hosts that go.
#include "server-glue/iof/input_flow.h"
#include "server-glue/iof/output_flow.h"
#include "server-glue/iof/output_forward.h"

#include "test/unit/fake_hosts.h"

#include <algorithm>
#include <fmt/format.h>
#include <memory>

using namespace pmixhost;

namespace {

constexpr std::uint8_t both = wire::stdout_channel | wire::stderr_channel;
constexpr Rank per_host = 2;

struct World : FakeNetwork {
    struct Host : OutputPort, InputPort {
        World &world;
        NetworkHosts others;
        OutputFlow output;
        InputFlow input;
        std::map<std::pair<Rank, int>, std::string> read; // by its tools
        std::map<Rank, std::uint64_t> missing;
        std::set<Rank> ended, failed;
        std::string kept;
        Duration asked_for{};
        std::string given_back;
        std::size_t pieces_read = 0;
        int rooms = 0;             // how often there may be some
        std::uint32_t untaken = 0; // in cost
        bool reads = true;         // its tools do
        Host(World &w, HostIndex self, std::uint32_t radix)
            : world(w), others(w, self), output(others, *this, w.map, self, radix),
              input(others, *this, w.map, self, radix) {}
        std::vector<wire::OutputPiece> kept_output(const OutputWish &wish) override {
            asked_for = wish.kept_for;
            Rank first = others.self * per_host;
            if (kept.empty() || !wish.pulled.has(first, wire::stdout_channel))
                return {};
            return {{first, wire::stdout_channel, 0, 0, kept}};
        }
        void deliver(std::vector<wire::OutputPiece> pieces) override {
            for (auto &piece : pieces) {
                untaken += OutputQueue::cost(piece);
                read[{piece.rank, piece.channel}] += piece.bytes;
                pieces_read += !piece.bytes.empty();
                missing[piece.rank] += piece.dropped;
                if (piece.end)
                    ended.insert(piece.rank);
                if (piece.failed)
                    failed.insert(piece.rank);
            }
        }
        void on_room() override { ++rooms; }
        void give_back(std::vector<wire::OutputPiece> pieces) override {
            for (const auto &piece : pieces)
                given_back += piece.bytes;
        }
        void give(Rank rank, const SharedBytes &bytes, bool end, StatusReply reply) override {
            if (world.closed.contains(rank))
                return reply(PMIX_ERR_IOF_COMPLETE);
            if (world.slow.contains(rank)) {
                world.waiting.push_back(std::move(reply));
                return;
            }
            world.got[rank] += *bytes + (end ? "." : "");
            reply(PMIX_SUCCESS);
        }
    };
    JobMap map;
    std::map<Rank, std::string> got; // as input
    std::set<Rank> closed, slow;
    std::vector<StatusReply> waiting;
    std::vector<std::unique_ptr<Host>> hosts;
    std::size_t delivered = 0;
    TimePoint now{std::chrono::hours(1)};

    explicit World(HostIndex count, std::uint32_t radix = 2) {
        std::vector<std::string> names;
        std::vector<std::vector<Rank>> ranks;
        for (HostIndex h = 0; h < count; ++h) {
            names.push_back(fmt::format("n{}", h));
            ranks.emplace_back();
            for (Rank r = 0; r < per_host; ++r)
                ranks.back().push_back(per_host * h + r);
        }
        map = *JobMap::create(names, ranks);
        for (HostIndex h = 0; h < count; ++h)
            hosts.push_back(std::make_unique<Host>(*this, h, radix));
    }
    template <typename Message> static std::optional<Message> as(const FakeNetwork::Message &message) {
        if (message.type != Message::type)
            return std::nullopt;
        return *wire::decode<Message>(*message.payload);
    }
    bool step() {
        auto message = take();
        if (!message)
            return false;
        ++delivered;
        if (gone.contains(message->to))
            return true;
        Host &host = *hosts[message->to];
        if (auto demand = as<wire::OutputDemand>(*message))
            host.output.on_demand(message->from, *demand);
        else if (auto pieces = as<wire::OutputPieces>(*message))
            host.output.on_pieces(message->from, std::move(*pieces));
        else if (auto taken = as<wire::OutputTaken>(*message))
            host.output.on_taken(message->from, *taken);
        else if (auto push = as<wire::InputPush>(*message))
            host.input.on_push(message->from, std::move(*push));
        else
            host.input.on_taken(message->from, *as<wire::InputTaken>(*message));
        return true;
    }
    // Until nothing is under way; tools that read take what there is.
    void run() {
        for (bool more = true; more;) {
            while (step()) {
            }
            more = false;
            for (auto &host : hosts) {
                if (host->reads && host->untaken > 0) {
                    host->output.taken(std::exchange(host->untaken, 0));
                    more = true;
                }
            }
        }
    }
    void leave(HostIndex host, bool left = false) {
        gone.insert(host);
        for (auto &other : hosts) {
            if (gone.contains(other->others.self))
                continue;
            other->output.on_host_gone(host);
            other->input.on_host_gone(host, left);
        }
    }
    void write(Rank rank, std::string_view bytes, bool end = false, std::uint8_t channel = wire::stdout_channel) {
        hosts[rank / per_host]->output.output(now, rank, channel, bytes, end);
    }
    std::string &read_at(HostIndex host, Rank rank, std::uint8_t channel = wire::stdout_channel) {
        return hosts[host]->read[{rank, channel}];
    }
    std::optional<pmix_status_t> status;
    void push(HostIndex from, std::vector<Rank> ranks, std::string bytes, bool end = false, Rank pusher = 0) {
        status.reset();
        hosts[from]->input.push({"tool", pusher}, std::move(ranks), std::move(bytes), end,
                                StatusReply([this](pmix_status_t s) { status = s; }, PMIX_ERROR));
        run();
    }
};

OutputWish all(std::uint64_t cache = 1u << 20) {
    OutputWish wish;
    wish.pulled = both;
    wish.cache = cache;
    return wish;
}

void output_comes_from_every_host(void **) {
    for (HostIndex count : {1u, 2u, 3u, 12u}) {
        for (HostIndex root = 0; root < count; ++root) {
            World world(count);
            world.hosts[root]->output.pull(all());
            world.run();
            for (Rank rank = 0; rank < count * per_host; ++rank) {
                world.write(rank, fmt::format("a{}", rank));
                world.write(rank, "error", false, wire::stderr_channel);
                world.write(rank, "b", true);
            }
            world.run();
            for (Rank rank = 0; rank < count * per_host; ++rank) {
                assert_string_equal(world.read_at(root, rank).c_str(), fmt::format("a{}b", rank).c_str());
                assert_string_equal(world.read_at(root, rank, wire::stderr_channel).c_str(), "error");
                assert_true(world.hosts[root]->ended.contains(rank));
            }
        }
    }
}

void only_what_is_wanted_comes(void **) {
    World world(3);
    OutputWish wish = all();
    wish.pulled = {wire::stderr_channel, {3}};
    world.hosts[0]->output.pull(wish);
    world.run();
    assert_true(world.hosts[1]->output.wanted(3, wire::stderr_channel));
    assert_false(world.hosts[1]->output.wanted(3, wire::stdout_channel));
    assert_false(world.hosts[1]->output.wanted(2, wire::stderr_channel));
    for (Rank rank = 0; rank < 6; ++rank) {
        world.write(rank, "out");
        world.write(rank, "err", false, wire::stderr_channel);
    }
    world.run();
    assert_int_equal(world.hosts[0]->read.size(), 1);
    assert_string_equal(world.read_at(0, 3, wire::stderr_channel).c_str(), "err");
    world.hosts[0]->output.pull({});
    world.run();
    assert_false(world.hosts[1]->output.wanted(3, wire::stderr_channel));
    std::size_t before = world.delivered;
    world.write(3, "late", false, wire::stderr_channel);
    world.run();
    assert_int_equal(world.delivered, before);
}

void what_was_kept_comes_first_and_once(void **) {
    World world(12);
    for (auto &host : world.hosts)
        host->kept = "early ";
    OutputWish wish = all();
    wish.kept = true;
    wish.kept_for = std::chrono::seconds(7);
    world.hosts[0]->output.pull(wish);
    world.run();
    for (auto &host : world.hosts)
        assert_true(host->asked_for == wish.kept_for);
    world.leave(1); // those behind it are told again
    world.run();
    for (HostIndex host : {0u, 3u, 4u, 11u}) {
        world.write(host * per_host, "late");
        world.run();
        assert_string_equal(world.read_at(0, host * per_host).c_str(), "early late");
    }
}

void each_channel_is_of_its_own_processes(void **) {
    OutputSelection some(wire::stdout_channel, {4, 2});
    some.add(wire::stderr_channel, {3});
    some = OutputSelection::from_wire(some.on_wire());
    assert_true(some.has(2, wire::stdout_channel) && some.has(4, wire::stdout_channel));
    assert_true(some.has(3, wire::stderr_channel));
    assert_false(some.has(3, wire::stdout_channel) || some.has(4, wire::stderr_channel));
    assert_int_equal(some.streams(10), 3);
    assert_int_equal(some.channels(), both);
    // Those of before do not count for those of now.
    std::set<std::pair<Rank, std::uint8_t>> ended;
    for (Rank rank : {2u, 3u, 4u})
        ended.emplace(rank, wire::stdout_channel);
    assert_false(some.is_within(ended, 10));
    ended.emplace(3, wire::stderr_channel);
    assert_true(some.is_within(ended, 10));
    assert_false(OutputSelection(wire::stdout_channel).is_within(ended, 4));
    assert_true(OutputSelection(wire::stdout_channel, {3}).is_within(ended, 4));
    some.add({wire::stdout_channel});
    assert_true(some.has(9, wire::stdout_channel) && !some.has(9, wire::stderr_channel));
    some.add(wire::stdout_channel, {1}); // all stay all
    some = OutputSelection::from_wire(some.on_wire());
    assert_true(some.has(9, wire::stdout_channel) && !some.has(9, wire::stderr_channel));
    assert_int_equal(some.streams(10), 11);
    assert_true(OutputSelection::from_wire({}).none() && OutputSelection(0).none());

    World world(5);
    OutputWish wish = all();
    wish.pulled = OutputSelection(wire::stdout_channel, {8});
    wish.pulled.add(wire::stderr_channel, {9});
    wish.taken_over = wish.pulled;
    world.hosts[0]->output.pull(wish);
    world.run();
    const auto &writer = world.hosts[4]->output;
    assert_true(writer.taken_over(8, wire::stdout_channel) && writer.taken_over(9, wire::stderr_channel));
    assert_false(writer.taken_over(9, wire::stdout_channel) || writer.taken_over(8, wire::stderr_channel));
    assert_false(writer.wanted(9, wire::stdout_channel) || writer.wanted(8, wire::stderr_channel));
}

// After what came before it; and though nothing more fits.
void a_failure_comes_to_who_pulls(void **) {
    World world(5);
    OutputWish wish = all(100'000);
    wish.pulled = {both, {6, 9}};
    world.hosts[0]->output.pull(wish);
    world.hosts[1]->output.pull(all());
    world.hosts[0]->reads = false;
    world.run();
    for (int i = 0; i < 1000; ++i) {
        world.write(9, std::string(1000, 'x'));
        world.run();
    }
    for (Rank rank : {Rank(7), Rank(9)})
        world.hosts[rank / per_host]->output.failed({{rank, wire::stdout_channel}});
    world.run();
    assert_true(world.hosts[0]->failed.empty());
    world.hosts[0]->reads = true;
    world.run();
    assert_true(world.hosts[0]->failed == std::set<Rank>{9});
    assert_true(world.hosts[1]->failed == (std::set<Rank>{7, 9}));
    std::size_t before = world.delivered;
    world.hosts[4]->output.failed({{8, wire::stdout_channel}, {8, wire::stderr_channel}, {9, wire::stderr_channel}});
    world.run();
    assert_int_equal(world.delivered - before, 6); // over three links: a message, and its credit
    assert_true(world.hosts[1]->failed == (std::set<Rank>{7, 8, 9}));
    world.write(9, "", true);
    world.run();
    assert_true(world.hosts[0]->ended.contains(9));
}

void output_is_held_where_it_is_written(void **) {
    World world(5);
    World::Host &root = *world.hosts[0];
    OutputWish wish = all();
    wish.held = {1000, std::chrono::seconds(10)};
    root.output.pull(wish);
    world.run();
    std::size_t before = world.delivered;
    for (int i = 0; i < 95; ++i) {
        world.write(9, std::string(100, static_cast<char>('a' + i % 26)));
        world.run();
    }
    assert_int_equal(root.pieces_read, 9);
    assert_int_equal(world.read_at(0, 9).size(), 9000);
    assert_true(world.delivered - before < 9 * 6); // on links of two hosts, with the credit for each
    World::Host &writer = *world.hosts[4];
    assert_true(writer.output.anything_waits());
    assert_int_equal(writer.output.undelivered(9, wire::stdout_channel), 0); // here no tool waits for it
    world.write(0, "held");
    assert_int_equal(root.output.undelivered(0, wire::stdout_channel), 4);
    assert_int_equal(root.output.undelivered(0, wire::stderr_channel), 0);
    assert_true(writer.output.next_time() == world.now + wish.held.time);
    writer.output.on_time(world.now + wish.held.time);
    world.run();
    assert_int_equal(world.read_at(0, 9).size(), 9500);
    assert_true(writer.output.next_time() == TimePoint::max());
    world.write(9, "rest");
    world.write(9, "", true);
    world.run();
    assert_true(root.ended.contains(9) && world.read_at(0, 9).ends_with("rest"));
    world.write(8, "held");
    writer.output.release_held();
    world.run();
    assert_string_equal(world.read_at(0, 8).c_str(), "held");
    world.write(8, "sooner");
    wish.held = {};
    root.output.pull(wish);
    world.run();
    assert_string_equal(world.read_at(0, 8).c_str(), "heldsooner");
    assert_false(writer.output.anything_waits());
}

// Of who may have gone without it.
void what_was_taken_over_and_held_is_given_back(void **) {
    World world(3);
    OutputWish wish = all();
    wish.taken_over = wire::stdout_channel;
    wish.held = {1000, std::chrono::seconds(10)};
    world.hosts[0]->output.pull(wish);
    world.run();
    world.write(4, "for one alone");
    world.write(4, "for both", false, wire::stderr_channel);
    world.run();
    world.hosts[0]->output.pull({});
    world.run();
    assert_string_equal(world.hosts[2]->given_back.c_str(), "for one alone");
    assert_string_equal(world.read_at(0, 4).c_str(), "");
    assert_false(world.hosts[2]->output.anything_waits());
}

// Wherever it was on its way to a tool that does not read; what the tool has had is not given back.
void what_a_tool_has_not_got_is_given_back(void **) {
    for (HostIndex count : {1u, 2u, 12u}) {
        World world(count);
        world.hosts[0]->reads = false;
        OutputWish wish = all();
        wish.taken_over = wire::stdout_channel;
        world.hosts[0]->output.pull(wish);
        world.run();
        const HostIndex last = count - 1;
        std::string sum;
        for (int i = 0; sum.size() < 3 * wire::output_window; ++i) {
            std::string line = fmt::format("{} {}\n", i, std::string(1000, 'x'));
            world.write(last * per_host, line);
            sum += line;
            if (i % 100 == 0)
                world.run();
        }
        world.run();
        world.hosts[0]->output.pull({});
        world.run();
        const std::string &read = world.read_at(0, last * per_host);
        assert_false(read.empty());
        assert_true(read + world.hosts[last]->given_back == sum);
        assert_false(world.hosts[last]->output.anything_waits());
    }
}

void what_crosses_the_end_of_a_wish_is_given_back(void **) {
    for (std::size_t moment = 0; moment < 20; ++moment) {
        World world(12);
        OutputWish wish = all();
        wish.taken_over = wire::stdout_channel;
        world.hosts[0]->output.pull(wish);
        world.run();
        for (Rank rank : {22u, 10u}) // 10 is of a host between
            world.write(rank, "x");
        for (std::size_t i = 0; i < moment; ++i)
            world.step();
        world.hosts[0]->output.pull({});
        world.run();
        assert_string_equal((world.read_at(0, 22) + world.hosts[11]->given_back).c_str(), "x");
        assert_string_equal((world.read_at(0, 10) + world.hosts[5]->given_back).c_str(), "x");
    }
}

void what_is_still_to_be_delivered_is_counted(void **) {
    World world(1);
    World::Host &host = *world.hosts[0];
    host.reads = false;
    host.output.pull(all());
    std::size_t written = 0;
    for (; written < 2 * wire::output_window; written += 1000)
        world.write(1, std::string(1000, 'x'));
    const std::uint64_t waits = host.output.undelivered(1, wire::stdout_channel);
    assert_true(waits > 0);
    assert_int_equal(world.read_at(0, 1).size() + waits, written);
    host.reads = true;
    world.run();
    assert_int_equal(host.output.undelivered(1, wire::stdout_channel), 0);
}

// As long as the tool has not got it, the RM's stream must be there for it.
void the_end_of_a_stream_may_come_back(void **) {
    for (HostIndex count : {1u, 12u}) {
        World world(count);
        World::Host &writer = *world.hosts[count - 1];
        const Rank rank = (count - 1) * per_host;
        auto may_come_back = [&] { return writer.output.may_come_back(rank, wire::stdout_channel); };
        OutputWish wish = all();
        wish.taken_over = wire::stdout_channel;
        world.hosts[0]->reads = false;
        world.hosts[0]->output.pull(wish);
        world.run();
        for (std::size_t sent = 0; sent < 2 * wire::output_window; sent += 1000)
            world.write(rank, std::string(1000, 'x'));
        world.write(rank, "last", true);
        world.run();
        assert_true(may_come_back());
        assert_false(writer.output.may_come_back(rank, wire::stderr_channel));
        writer.rooms = 0;
        world.hosts[0]->reads = true;
        world.run();
        assert_false(may_come_back());
        assert_true(writer.rooms > 0);
        assert_true(world.read_at(0, rank).ends_with("last") && world.hosts[0]->ended.contains(rank));
    }
}

void a_host_that_waits_no_longer_gives_back_what_it_has_not_sent(void **) {
    World world(12);
    OutputWish wish = all();
    wish.taken_over = wire::stdout_channel;
    world.hosts[0]->reads = false;
    world.hosts[0]->output.pull(wish);
    world.run();
    std::string sum;
    for (int i = 0; sum.size() < 3 * wire::output_window; ++i) {
        std::string line = fmt::format("{} {}\n", i, std::string(1000, 'x'));
        world.write(22, line);
        sum += line;
    }
    world.run();
    world.hosts[11]->output.leave();
    world.leave(11, true);
    world.hosts[0]->reads = true;
    world.run();
    assert_false(world.hosts[11]->given_back.empty());
    assert_true(world.read_at(0, 22) + world.hosts[11]->given_back == sum);
}

void a_host_that_waits_no_longer_passes_on_what_others_write(void **) {
    World world(12);
    OutputWish wish = all();
    wish.taken_over = wire::stdout_channel;
    world.hosts[0]->output.pull(wish);
    world.run();
    for (HostIndex between : {2, 5}) // on the way from host 11
        world.hosts[between]->output.leave();
    world.write(22, "after\n");
    world.run();
    assert_string_equal(world.read_at(0, 22).c_str(), "after\n");
}

// What was written before went elsewhere, too, and so did what came before it was taken over.
void what_others_have_is_not_given_back(void **) {
    World world(3);
    world.hosts[2]->kept = "before";
    world.hosts[0]->reads = false;
    OutputWish wish = all();
    wish.kept = true;
    world.hosts[0]->output.pull(wish);
    world.run();
    std::string much(32u << 10, 'x');
    for (std::size_t sent = 0; sent < 2 * wire::output_window; sent += much.size())
        world.write(4, much);
    world.run();
    wish.kept = false;
    wish.taken_over = both;
    world.hosts[0]->output.pull(wish);
    world.run();
    world.write(4, "for one alone");
    world.run();
    world.hosts[0]->output.pull({});
    world.run();
    assert_string_equal(world.hosts[2]->given_back.c_str(), "for one alone");
}

// Held output comes in one go: to a tool that reads, all of it, however little a host may hold back.
void what_is_held_comes_whole_to_who_reads(void **) {
    for (std::uint64_t cache : {64u << 10, 1u << 20}) {
        World world(3);
        OutputWish wish = all(cache);
        wish.held = {HeldOutput::most_bytes, std::chrono::seconds(10)};
        world.hosts[0]->output.pull(wish);
        world.run();
        std::size_t written[per_host] = {};
        std::string line(1000, 'l');
        for (std::size_t i = 0; i < 4000; ++i) {
            Rank which = i % per_host;
            world.write(per_host * 2 + which, line);
            written[which] += line.size();
            if (i % 100 == 0)
                world.run();
        }
        for (Rank which = 0; which < per_host; ++which)
            world.write(per_host * 2 + which, "", true);
        world.run();
        assert_int_equal(world.hosts[2]->output.dropped(), 0);
        for (Rank which = 0; which < per_host; ++which)
            assert_int_equal(world.read_at(0, per_host * 2 + which).size(), written[which]);
    }
}

// The tool reads nothing: each host holds back so much and no more, and what does not fit is counted.
void a_slow_tool_costs_a_bound(void **) {
    for (bool drop_oldest : {false, true}) {
        World world(3);
        constexpr std::uint64_t cache = 100'000;
        constexpr std::size_t pieces = 5000, size = 1000;
        world.hosts[0]->reads = false;
        OutputWish wish = all(cache);
        wish.drop_oldest = drop_oldest;
        world.hosts[0]->output.pull(wish);
        world.run();
        for (std::size_t i = 0; i < pieces; ++i) {
            world.write(4, std::string(size, static_cast<char>('a' + i % 26)));
            world.run();
        }
        world.write(4, "", true);
        world.run();
        std::size_t before = world.read_at(0, 4).size();
        assert_true(before < wire::output_window);
        assert_true(world.hosts[2]->output.dropped() > pieces * size - 2 * wire::output_window - 2 * cache);
        world.hosts[0]->reads = true;
        world.run();
        std::size_t came = world.read_at(0, 4).size();
        assert_int_equal(came + world.hosts[0]->missing[4], pieces * size);
        assert_true(came > before && world.hosts[0]->ended.contains(4));
        // The last piece is there, or it is one of those that did not fit.
        assert_int_equal(world.read_at(0, 4).back() == static_cast<char>('a' + (pieces - 1) % 26), drop_oldest);
    }
}

void a_slow_host_holds_up_no_other(void **) {
    World world(3);
    world.hosts[0]->reads = false;
    world.hosts[0]->output.pull(all(100'000));
    world.hosts[1]->output.pull(all(100'000));
    world.run();
    std::string sum;
    for (int i = 0; i < 1000; ++i) {
        std::string line = fmt::format("line {} {}\n", i, std::string(1000, 'x'));
        world.write(5, line);
        world.run();
        sum += line;
    }
    assert_true(world.read_at(1, 5) == sum);
    assert_true(world.read_at(0, 5).size() < sum.size());
}

void output_goes_around_hosts_that_go(void **) {
    World world(12);
    world.hosts[0]->output.pull(all());
    world.run();
    world.write(22, "before");
    world.run();
    world.leave(2); // inner hosts of the tree, before host 11
    world.leave(5);
    world.run();
    world.write(22, " after");
    world.write(22, "", true);
    world.run();
    assert_string_equal(world.read_at(0, 22).c_str(), "before after");
    assert_true(world.hosts[0]->ended.contains(22));
    world.leave(0); // the tools' own
    world.run();
    assert_false(world.hosts[11]->output.wanted(22, wire::stdout_channel));
}

// What a host between held comes another way, and the flow goes on.
void a_window_that_was_lost_comes_again(void **) {
    World world(12);
    world.hosts[0]->output.pull(all());
    world.run();
    for (int i = 0; i < 400; ++i)
        world.write(22, std::string(1000, 'x')); // more than a window, at the first link
    world.leave(5);
    world.run();
    for (int i = 0; i < 400; ++i) {
        world.write(22, std::string(1000, 'y'));
        world.run();
    }
    const std::string &read = world.read_at(0, 22);
    assert_true(read == std::string(400'000, 'x') + std::string(400'000, 'y'));
}

void input_comes_to_whom_it_is_for(void **) {
    for (HostIndex count : {1u, 3u, 12u}) {
        for (HostIndex from = 0; from < count; ++from) {
            World world(count);
            world.push(from, {}, "all ");
            assert_int_equal(*world.status, PMIX_SUCCESS);
            world.push(from, {1}, "one", true);
            assert_int_equal(*world.status, PMIX_SUCCESS);
            for (Rank rank = 0; rank < count * per_host; ++rank)
                assert_string_equal(world.got[rank].c_str(), rank == 1 ? "all one." : "all ");
        }
    }
}

void each_byte_crosses_a_link_once(void **) {
    World world(100, 32);
    world.push(7, {}, "to all");
    assert_int_equal(world.delivered, 2 * 99);
    world.delivered = 0;
    world.push(7, {0, 199}, "to two"); // by 0, and from there by 3
    assert_int_equal(world.delivered, 2 * 3);
}

void a_closed_input_is_said_if_nobody_takes_it(void **) {
    World world(3);
    world.closed = {0, 1, 2};
    world.push(0, {1, 2}, "x");
    assert_int_equal(*world.status, PMIX_ERR_IOF_COMPLETE);
    world.push(0, {1, 2, 3}, "x");
    assert_int_equal(*world.status, PMIX_SUCCESS);
    world.push(0, {}, "y");
    assert_int_equal(*world.status, PMIX_SUCCESS);
    assert_string_equal(world.got[3].c_str(), "xy");
}

void who_does_not_read_is_waited_for(void **) {
    World world(3);
    world.slow = {4};
    world.push(0, {}, "x");
    assert_false(world.status.has_value());
    assert_string_equal(world.got[5].c_str(), "x");
    world.waiting.back()(PMIX_SUCCESS);
    world.run();
    assert_int_equal(*world.status, PMIX_SUCCESS);
}

void input_goes_around_hosts_that_go(void **) {
    World world(12);
    world.slow = {22};
    world.push(0, {}, "x");
    assert_false(world.status.has_value());
    world.leave(2);
    world.run();
    assert_int_equal(world.waiting.size(), 1); // it came another way too, and is not given twice
    for (Rank rank = 0; rank < 24; ++rank)
        assert_string_equal(world.got[rank].c_str(), rank == 22 ? "" : "x");
    assert_false(world.status.has_value());
    for (auto &reply : world.waiting)
        reply(PMIX_SUCCESS);
    world.run();
    assert_int_equal(*world.status, PMIX_SUCCESS);
    world.push(0, {4}, "to one that is gone");
    assert_int_equal(*world.status, PMIX_ERR_LOST_CONNECTION);
    world.leave(7, true);
    world.push(0, {14}, "to one that has ended");
    assert_int_equal(*world.status, PMIX_ERR_IOF_COMPLETE);
}

void pushes_without_an_answer_are_bounded(void **) {
    World world(1);
    world.slow = {0};
    for (std::size_t i = 0; i < InputFlow::max_pending; ++i) {
        world.push(0, {0}, "x");
        assert_false(world.status.has_value());
    }
    world.push(0, {0}, "x");
    assert_int_equal(*world.status, PMIX_ERR_OUT_OF_RESOURCE);
    for (auto &reply : std::exchange(world.waiting, {}))
        reply(PMIX_SUCCESS);
    world.push(0, {}, std::string(InputFlow::max_bytes, 'x'));
    assert_false(world.status.has_value());
    world.push(0, {1}, "y");
    assert_int_equal(*world.status, PMIX_ERR_OUT_OF_RESOURCE);
}

// Not where they are others'; but all together have a bound, too.
void each_pusher_has_an_account(void **) {
    World world(1);
    world.slow = {0};
    const std::string most(InputFlow::max_bytes, 'x');
    for (Rank pusher = 0; pusher < InputFlow::max_accounts; ++pusher) {
        world.push(0, {1}, "of one", false, pusher);
        assert_true(world.status == PMIX_SUCCESS);
        world.push(0, {0}, most, false, pusher);
        assert_false(world.status.has_value());
        world.push(0, {1}, "too much", false, pusher);
        assert_true(world.status == PMIX_ERR_OUT_OF_RESOURCE);
    }
    world.push(0, {1}, "of one too many", false, InputFlow::max_accounts);
    assert_true(world.status == PMIX_ERR_OUT_OF_RESOURCE);
    auto first = std::move(world.waiting.front());
    world.waiting.erase(world.waiting.begin());
    first(PMIX_SUCCESS);
    for (Rank pusher : {0u, 7u}) { // one that is empty again, and one that is full
        world.push(0, {1}, "y", false, pusher);
        assert_true(world.status == (pusher == 0 ? PMIX_SUCCESS : PMIX_ERR_OUT_OF_RESOURCE));
    }
}

// Of a host whose tools took the output over all hear when it goes, also those that have no link to it.
void what_was_taken_over_is_given_back(void **) {
    World world(12);
    OutputWish wish = all();
    wish.taken_over = {wire::stdout_channel, {20}};
    world.hosts[3]->output.pull(wish);
    world.run();
    assert_true(world.hosts[10]->output.taken_over(20, wire::stdout_channel));
    assert_false(world.hosts[10]->output.taken_over(21, wire::stdout_channel));
    assert_false(world.hosts[10]->output.taken_over(20, wire::stderr_channel));
    world.gone.insert(3);
    world.hosts[1]->output.on_host_gone(3); // its neighbour in the tree
    world.run();
    for (HostIndex host : {0u, 1u, 2u, 4u, 5u, 10u, 11u})
        assert_false(world.hosts[host]->output.wanted(2 * host, wire::stdout_channel));
}

// What a host that goes has not passed on is sent again; nothing of it twice, also where the tools are slow.
void nothing_is_lost_with_a_host_that_goes(void **) {
    for (std::size_t moment = 0; moment < 240; ++moment) {
        World world(12);
        world.hosts[0]->output.pull(all());
        world.hosts[0]->reads = moment % 2 == 0;
        world.run();
        std::string sum;
        for (int i = 0; i < 60; ++i) {
            std::string line = fmt::format("{} {}\n", i, std::string(10'000, 'x'));
            world.write(22, line);
            sum += line;
        }
        world.write(22, "", true);
        for (std::size_t i = 0; i < moment; ++i)
            world.step();
        world.leave(5);
        world.run();
        if (moment % 3 == 0)
            world.leave(2); // and the next one on the way
        world.run();
        world.hosts[0]->reads = true;
        world.run();
        assert_true(world.read_at(0, 22) == sum);
        assert_true(world.hosts[0]->ended.contains(22));
        assert_false(world.hosts[11]->output.anything_waits());
    }
}

// The output of a spawned job: from the first byte on, and nothing of it is dropped.
void what_is_expected_waits_for_who_wants_it(void **) {
    World world(12);
    OutputWish whole = all();
    whole.taken_over = whole.pulled;
    whole.cache = 100'000;
    whole.whole = true;
    for (auto &host : world.hosts)
        host->output.expect(0, whole);
    OutputFlow &writer = world.hosts[11]->output;
    assert_true(writer.taken_over(22, wire::stdout_channel));
    std::string sum;
    while (writer.room(22, wire::stdout_channel)) {
        sum += std::string(10'000, 'y');
        world.write(22, std::string(10'000, 'y'));
    }
    assert_true(sum.size() >= 100'000 && sum.size() <= 130'000);
    assert_true(writer.anything_waits());
    world.hosts[0]->reads = false;
    world.hosts[0]->output.pull(whole);
    world.run();
    assert_true(world.hosts[11]->rooms > 0 && writer.room(22, wire::stdout_channel));
    // Nobody takes it: the windows between here and there are filled, and then there is no room.
    for (int i = 0; i < 500 && writer.room(22, wire::stdout_channel); ++i) {
        sum += std::string(10'000, 'z');
        world.write(22, std::string(10'000, 'z'));
        world.run();
    }
    assert_false(writer.room(22, wire::stdout_channel));
    world.hosts[0]->reads = true;
    world.run();
    assert_true(writer.room(22, wire::stdout_channel));
    assert_true(world.read_at(0, 22) == sum);
    // A root that is lost leaves nobody waiting, and what it was not sent goes back.
    world.hosts[0]->reads = false;
    for (int i = 0; i < 500 && writer.room(22, wire::stdout_channel); ++i) {
        world.write(22, std::string(10'000, 'b'));
        world.run();
    }
    world.leave(0);
    world.run();
    assert_false(writer.wanted(22, wire::stdout_channel));
    assert_true(writer.room(22, wire::stdout_channel) && world.hosts[11]->given_back.size() >= 100'000);
}

struct Forward {
    std::vector<wire::ForwardedOutput> sent;
    std::uint32_t taken = 0;
    std::optional<std::uint64_t> lost;
    OutputForward forward{"parent",
                          3,
                          {[this](wire::ForwardedOutput message) { sent.push_back(std::move(message)); },
                           [this](std::uint32_t cost) { taken += cost; },
                           [this](std::uint64_t bytes) { lost = bytes; }}};
    TimePoint now{};
    void add(const char *bytes) { forward.add({1, wire::stdout_channel, 0, 0, bytes}, 10); }
    void reply(int status) { forward.on_reply(now, {sent.back().id, status}); }
};

void one_message_after_the_other_is_forwarded(void **) {
    Forward f;
    f.add("early");
    assert_true(f.sent.empty() && f.forward.waits());
    f.forward.open();
    assert_int_equal(f.sent.size(), 1);
    assert_int_equal(f.sent[0].host, 3);
    f.add("a");
    f.add("b");
    assert_int_equal(f.sent.size(), 1);
    f.forward.on_reply(f.now, {77, PMIX_SUCCESS}); // of nothing that was asked
    assert_int_equal(f.taken, 0);
    f.reply(PMIX_SUCCESS);
    assert_int_equal(f.taken, 10);
    assert_int_equal(f.sent.size(), 2);
    assert_int_equal(f.sent[1].pieces.size(), 2);
    f.reply(PMIX_SUCCESS);
    assert_int_equal(f.taken, 30);
    assert_false(f.forward.waits());
}

void a_parent_that_is_still_to_come_is_asked_again(void **) {
    Forward f;
    f.forward.open();
    f.add("a");
    f.reply(PMIX_ERR_NOT_FOUND);
    f.add("b");
    assert_int_equal(f.sent.size(), 1);
    assert_true(f.forward.next_time() == f.now + OutputForward::comes_look);
    f.now = f.forward.next_time();
    f.forward.on_time(f.now);
    assert_int_equal(f.sent.size(), 2);
    assert_true(f.sent[1].pieces.size() == 2 && f.sent[1].pieces[0].bytes == "a");
    f.forward.on_session_gone(f.now);
    f.now += OutputForward::comes_within;
    f.forward.on_time(f.now);
    assert_int_equal(f.sent.size(), 3);
    f.reply(PMIX_ERR_NOT_FOUND);
    assert_true(f.lost == 2);
    assert_int_equal(f.taken, 20);
    f.add("later");
    assert_int_equal(f.taken, 30); // nobody waits for it
    assert_true(f.forward.next_time() == TimePoint::max());
}

struct ForwardToOneThatWasThere : Forward {
    ForwardToOneThatWasThere() {
        forward.open();
        add("a");
        reply(PMIX_SUCCESS);
        add("bc");
        reply(PMIX_ERR_NOT_FOUND);
        assert_false(lost.has_value());
    }
};

void a_parent_that_was_there_is_waited_for_less_long(void **) {
    ForwardToOneThatWasThere f;
    f.now += OutputForward::returns_within;
    f.forward.on_time(f.now);
    f.reply(PMIX_ERR_NOT_FOUND);
    assert_true(f.lost == 2);
    assert_false(f.forward.waits());
}

void a_parent_that_was_there_may_come_late_to_a_new_session(void **) {
    ForwardToOneThatWasThere f;
    f.forward.on_session_gone(f.now);
    f.now += OutputForward::returns_within;
    f.forward.on_time(f.now);
    f.reply(PMIX_ERR_NOT_FOUND);
    assert_false(f.lost.has_value());
    f.now += OutputForward::comes_within;
    f.forward.on_time(f.now);
    f.reply(PMIX_ERR_NOT_FOUND);
    assert_true(f.lost == 2);
}

void a_parent_that_has_gone_takes_nothing(void **) {
    Forward f;
    f.forward.open();
    f.add("abc");
    f.reply(PMIX_ERR_LOST_CONNECTION);
    assert_true(f.lost == 3 && f.taken == 10 && !f.forward.waits());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(output_comes_from_every_host),
        cmocka_unit_test(only_what_is_wanted_comes),
        cmocka_unit_test(what_was_kept_comes_first_and_once),
        cmocka_unit_test(a_slow_tool_costs_a_bound),
        cmocka_unit_test(each_channel_is_of_its_own_processes),
        cmocka_unit_test(a_failure_comes_to_who_pulls),
        cmocka_unit_test(output_is_held_where_it_is_written),
        cmocka_unit_test(what_was_taken_over_and_held_is_given_back),
        cmocka_unit_test(what_a_tool_has_not_got_is_given_back),
        cmocka_unit_test(what_crosses_the_end_of_a_wish_is_given_back),
        cmocka_unit_test(what_is_still_to_be_delivered_is_counted),
        cmocka_unit_test(the_end_of_a_stream_may_come_back),
        cmocka_unit_test(a_host_that_waits_no_longer_gives_back_what_it_has_not_sent),
        cmocka_unit_test(a_host_that_waits_no_longer_passes_on_what_others_write),
        cmocka_unit_test(what_others_have_is_not_given_back),
        cmocka_unit_test(what_is_held_comes_whole_to_who_reads),
        cmocka_unit_test(a_slow_host_holds_up_no_other),
        cmocka_unit_test(output_goes_around_hosts_that_go),
        cmocka_unit_test(a_window_that_was_lost_comes_again),
        cmocka_unit_test(input_comes_to_whom_it_is_for),
        cmocka_unit_test(each_byte_crosses_a_link_once),
        cmocka_unit_test(a_closed_input_is_said_if_nobody_takes_it),
        cmocka_unit_test(who_does_not_read_is_waited_for),
        cmocka_unit_test(input_goes_around_hosts_that_go),
        cmocka_unit_test(pushes_without_an_answer_are_bounded),
        cmocka_unit_test(each_pusher_has_an_account),
        cmocka_unit_test(what_was_taken_over_is_given_back),
        cmocka_unit_test(nothing_is_lost_with_a_host_that_goes),
        cmocka_unit_test(what_is_expected_waits_for_who_wants_it),
        cmocka_unit_test(one_message_after_the_other_is_forwarded),
        cmocka_unit_test(a_parent_that_is_still_to_come_is_asked_again),
        cmocka_unit_test(a_parent_that_was_there_is_waited_for_less_long),
        cmocka_unit_test(a_parent_that_was_there_may_come_late_to_a_new_session),
        cmocka_unit_test(a_parent_that_has_gone_takes_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
