// Output on its way to the hosts whose tools pull it: along the tree, with windows, around hosts that go.
#include "test/unit/iof_world.h"

using namespace pmixhost;

namespace {

constexpr std::uint8_t both = wire::stdout_channel | wire::stderr_channel;

void output_comes_from_every_host(void **) {
    for (HostIndex count : {1u, 2u, 3u, 12u}) {
        for (HostIndex root = 0; root < count; ++root) {
            IofWorld world(count);
            world.hosts[root]->output.pull(world.now, all_output());
            world.run();
            for (Rank rank = 0; rank < count * IofWorld::per_host; ++rank) {
                world.write(rank, fmt::format("a{}", rank));
                world.write(rank, "error", false, wire::stderr_channel);
                world.write(rank, "b", true);
            }
            world.run();
            for (Rank rank = 0; rank < count * IofWorld::per_host; ++rank) {
                assert_string_equal(world.read_at(root, rank).c_str(), fmt::format("a{}b", rank).c_str());
                assert_string_equal(world.read_at(root, rank, wire::stderr_channel).c_str(), "error");
                assert_true(world.hosts[root]->ended.contains(rank));
            }
        }
    }
}

void only_what_is_wanted_comes(void **) {
    IofWorld world(3);
    OutputWish wish = all_output();
    wish.pulled = {wire::stderr_channel, {3}};
    world.hosts[0]->output.pull(world.now, wish);
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
    world.hosts[0]->output.pull(world.now, {});
    world.run();
    assert_false(world.hosts[1]->output.wanted(3, wire::stderr_channel));
    std::size_t before = world.delivered;
    world.write(3, "late", false, wire::stderr_channel);
    world.run();
    assert_int_equal(world.delivered, before);
}

void what_was_kept_comes_first_and_once(void **) {
    IofWorld world(12);
    for (auto &host : world.hosts)
        host->kept = "early ";
    OutputWish wish = all_output();
    wish.kept = true;
    wish.kept_for = std::chrono::seconds(7);
    world.hosts[0]->output.pull(world.now, wish);
    world.run();
    for (auto &host : world.hosts)
        assert_true(host->asked_for == wish.kept_for);
    world.leave(1); // those behind it are told again
    world.run();
    for (HostIndex host : {0u, 3u, 4u, 11u}) {
        world.write(host * IofWorld::per_host, "late");
        world.run();
        assert_string_equal(world.read_at(0, host * IofWorld::per_host).c_str(), "early late");
    }
}

// Nobody has been too slow for it, however little is held back.
void what_was_kept_comes_of_what_is_added_alone(void **) {
    IofWorld world(12);
    constexpr Rank first = 4 * IofWorld::per_host, added = 11 * IofWorld::per_host;
    for (auto &host : world.hosts)
        host->kept = "early ";
    OutputWish wish = all_output();
    wish.pulled = OutputSelection(wire::stdout_channel, {first});
    wish.kept = true;
    world.hosts[0]->output.pull(world.now, wish);
    world.run();
    wish.kept_but = wish.pulled;
    wish.pulled.add(wire::stdout_channel, {added});
    world.hosts[0]->output.pull(world.now, wish);
    world.run();
    assert_string_equal(world.read_at(0, first).c_str(), "early ");
    assert_string_equal(world.read_at(0, added).c_str(), "early ");
    assert_string_equal(world.read_at(0, IofWorld::per_host).c_str(), "");
}

void what_was_kept_is_not_dropped(void **) {
    IofWorld world(2);
    constexpr std::uint64_t cache = 100'000;
    const std::string kept = std::string(1'000'000, 'k') + "end ";
    for (auto &host : world.hosts)
        host->kept = kept;
    OutputWish wish = all_output(cache);
    wish.kept = true;
    world.hosts[0]->output.pull(world.now, wish);
    world.hosts[0]->reads = false;
    world.run();
    world.write(IofWorld::per_host, "late"); // what was kept waits before it
    world.hosts[0]->reads = true;
    world.run();
    assert_true(world.read_at(0, 0) == kept);
    assert_true(world.read_at(0, IofWorld::per_host) == kept + "late");
    assert_int_equal(world.hosts[0]->missing[IofWorld::per_host], 0);
    assert_int_equal(world.hosts[1]->output.dropped(), 0);
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

    IofWorld world(5);
    OutputWish wish = all_output();
    wish.pulled = OutputSelection(wire::stdout_channel, {8});
    wish.pulled.add(wire::stderr_channel, {9});
    wish.taken_over = wish.pulled;
    world.hosts[0]->output.pull(world.now, wish);
    world.run();
    const auto &writer = world.hosts[4]->output;
    assert_true(writer.taken_over(8, wire::stdout_channel) && writer.taken_over(9, wire::stderr_channel));
    assert_false(writer.taken_over(9, wire::stdout_channel) || writer.taken_over(8, wire::stderr_channel));
    assert_false(writer.wanted(9, wire::stdout_channel) || writer.wanted(8, wire::stderr_channel));
}

// After what came before it; and though nothing more fits.
void a_failure_comes_to_who_pulls(void **) {
    IofWorld world(5);
    OutputWish wish = all_output(100'000);
    wish.pulled = {both, {6, 9}};
    world.hosts[0]->output.pull(world.now, wish);
    world.hosts[1]->output.pull(world.now, all_output());
    world.hosts[0]->reads = false;
    world.run();
    for (int i = 0; i < 1000; ++i) {
        world.write(9, std::string(1000, 'x'));
        world.run();
    }
    for (Rank rank : {Rank(7), Rank(9)})
        world.hosts[rank / IofWorld::per_host]->output.failed({{rank, wire::stdout_channel}});
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

// Of a host that was lost, of which some has come and still waits.
void a_lost_hosts_failure_comes_behind_its_last_words(void **) {
    IofWorld world(2);
    world.hosts[0]->output.pull(world.now, all_output());
    world.run();
    world.hosts[0]->reads = false;
    const std::string much(2 * wire::output_window, 'x');
    world.write(2, much);
    world.run();
    world.leave(1);
    world.hosts[0]->output.failed_here({{2, wire::stdout_channel}});
    world.run();
    assert_false(world.hosts[0]->failed.contains(2));
    world.hosts[0]->reads = true;
    world.run();
    assert_true(world.hosts[0]->failed.contains(2));
}

void output_is_held_where_it_is_written(void **) {
    IofWorld world(5);
    IofWorld::Host &root = *world.hosts[0];
    OutputWish wish = all_output();
    wish.held = {1000, std::chrono::seconds(10)};
    root.output.pull(world.now, wish);
    world.run();
    std::size_t before = world.delivered;
    for (int i = 0; i < 95; ++i) {
        world.write(9, std::string(100, static_cast<char>('a' + i % 26)));
        world.run();
    }
    assert_int_equal(root.pieces_read, 9);
    assert_int_equal(world.read_at(0, 9).size(), 9000);
    assert_true(world.delivered - before < 9 * 6); // on links of two hosts, with the credit for each
    IofWorld::Host &writer = *world.hosts[4];
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
    root.output.pull(world.now, wish);
    world.run();
    assert_string_equal(world.read_at(0, 8).c_str(), "heldsooner");
    assert_false(writer.output.anything_waits());
}

void what_is_still_to_be_delivered_is_counted(void **) {
    IofWorld world(1);
    IofWorld::Host &host = *world.hosts[0];
    host.reads = false;
    host.output.pull(world.now, all_output());
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

// Held output comes in one go: to a tool that reads, all of it, however little a host may hold back.
void what_is_held_comes_whole_to_who_reads(void **) {
    for (std::uint64_t cache : {64u << 10, 1u << 20}) {
        IofWorld world(3);
        OutputWish wish = all_output(cache);
        wish.held = {HeldOutput::most_bytes, std::chrono::seconds(10)};
        world.hosts[0]->output.pull(world.now, wish);
        world.run();
        std::size_t written[IofWorld::per_host] = {};
        std::string line(1000, 'l');
        for (std::size_t i = 0; i < 4000; ++i) {
            Rank which = i % IofWorld::per_host;
            world.write(IofWorld::per_host * 2 + which, line);
            written[which] += line.size();
            if (i % 100 == 0)
                world.run();
        }
        for (Rank which = 0; which < IofWorld::per_host; ++which)
            world.write(IofWorld::per_host * 2 + which, "", true);
        world.run();
        assert_int_equal(world.hosts[2]->output.dropped(), 0);
        for (Rank which = 0; which < IofWorld::per_host; ++which)
            assert_int_equal(world.read_at(0, IofWorld::per_host * 2 + which).size(), written[which]);
    }
}

// The tool reads nothing: each host holds back so much and no more, and what does not fit is counted.
void a_slow_tool_costs_a_bound(void **) {
    for (bool drop_oldest : {false, true}) {
        IofWorld world(3);
        constexpr std::uint64_t cache = 100'000;
        constexpr std::size_t pieces = 5000, size = 1000;
        world.hosts[0]->reads = false;
        OutputWish wish = all_output(cache);
        wish.drop_oldest = drop_oldest;
        world.hosts[0]->output.pull(world.now, wish);
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

// Nothing follows, so that no piece of the stream could say it.
void what_was_dropped_last_is_told_too(void **) {
    for (HostIndex count : {1u, 3u}) {
        for (bool drop_oldest : {false, true}) {
            IofWorld world(count);
            IofWorld::Host &root = *world.hosts[0], &writer = *world.hosts[count - 1];
            const Rank rank = (count - 1) * IofWorld::per_host;
            root.reads = false;
            OutputWish wish = all_output(100'000);
            wish.drop_oldest = drop_oldest;
            root.output.pull(world.now, wish);
            world.run();
            constexpr std::size_t lines = 1500, size = 1000;
            for (std::size_t i = 0; i < lines; ++i)
                world.write(rank, std::string(size, 'x'));
            world.write(rank + 1, std::string(200'000, 'y')); // no room for it at any time
            world.run();
            assert_true(writer.output.anything_waits());
            root.reads = true;
            world.run();
            assert_true(root.missing[rank] > 0);
            assert_int_equal(world.read_at(0, rank).size() + root.missing[rank], lines * size);
            assert_int_equal(world.read_at(0, rank + 1).size() + root.missing[rank + 1], 200'000);
            assert_false(writer.output.anything_waits());
            // Once.
            const std::uint64_t missing = root.missing[rank];
            world.write(rank, "more");
            world.run();
            assert_int_equal(root.missing[rank], missing);
            assert_true(world.read_at(0, rank).ends_with("more"));
        }
    }
}

void a_slow_host_holds_up_no_other(void **) {
    IofWorld world(3);
    world.hosts[0]->reads = false;
    world.hosts[0]->output.pull(world.now, all_output(100'000));
    world.hosts[1]->output.pull(world.now, all_output(100'000));
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
    IofWorld world(12);
    world.hosts[0]->output.pull(world.now, all_output());
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

// Who would have passed it on goes: nobody sends to a host that wants nothing, or keeps output from the RM for it.
void the_end_of_a_wish_goes_around_hosts_that_go(void **) {
    for (HostIndex between : {2u, 5u}) {
        for (std::size_t moment = 0; moment < 30; ++moment) {
            IofWorld world(12);
            OutputWish wish = all_output();
            wish.taken_over = both;
            world.hosts[0]->output.pull(world.now, wish);
            world.run();
            world.hosts[0]->output.pull(world.now, {});
            for (std::size_t i = 0; i < moment; ++i)
                world.step();
            world.leave(between);
            world.run();
            assert_true(world.unwanted());
        }
    }
}

// When all know of it nobody is told again: hosts that go at the job's end cost no connections of others.
void an_end_of_long_ago_is_not_told_again(void **) {
    IofWorld world(12);
    world.hosts[0]->output.pull(world.now, all_output());
    world.run();
    world.hosts[0]->output.pull(world.now, {});
    world.run();
    world.now += std::chrono::seconds(5);
    std::size_t before = world.delivered;
    world.leave(2, true); // who leaves in order has sent what it had
    world.run();
    assert_int_equal(world.delivered, before);
    world.now += std::chrono::minutes(5);
    world.leave(5);
    world.run();
    assert_int_equal(world.delivered, before);
}

// What the host that went had sent is still read, and may come behind what goes around it.
void an_older_wish_changes_nothing(void **) {
    for (bool again : {false, true}) {
        IofWorld world(12);
        if (again) {
            world.hosts[0]->output.pull(world.now, all_output());
            world.run();
            world.hosts[0]->output.pull(world.now, {});
        } else {
            world.hosts[0]->output.pull(world.now, all_output());
        }
        auto late = world.hold_back(2, 5);
        world.hosts[0]->output.pull(world.now, again ? all_output() : OutputWish());
        world.leave(2);
        world.run();
        world.wire = late;
        world.run();
        world.write(22, "x");
        world.run();
        assert_string_equal(world.read_at(0, 22).c_str(), again ? "x" : "");
        assert_int_equal(world.unwanted(), !again);
    }
}

// Who lost both of them has no connection that would tell it of the first.
void a_root_that_is_lost_with_the_host_between_is_told_of(void **) {
    IofWorld world(12);
    OutputWish wish = all_output();
    wish.taken_over = both;
    world.hosts[0]->output.pull(world.now, wish);
    world.run();
    world.gone = {0, 2};
    for (HostIndex neighbour : {5, 6})
        world.hosts[neighbour]->output.on_host_gone(world.now, 2, false);
    world.run();
    assert_true(world.hosts[11]->output.wanted(22, wire::stdout_channel));
    for (HostIndex host : {5, 6, 11})
        world.hosts[host]->output.on_root_lost(world.now, 0);
    world.run();
    for (HostIndex host : {5, 6, 11})
        assert_false(world.hosts[host]->output.wanted(2 * host, wire::stdout_channel));
}

// What a host between held comes another way, and the flow goes on.
void a_window_that_was_lost_comes_again(void **) {
    IofWorld world(12);
    world.hosts[0]->output.pull(world.now, all_output());
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

// What a host that goes has not passed on is sent again; nothing of it twice, also where the tools are slow.
void nothing_is_lost_with_a_host_that_goes(void **) {
    for (std::size_t moment = 0; moment < 240; ++moment) {
        IofWorld world(12);
        world.hosts[0]->output.pull(world.now, all_output());
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
    IofWorld world(12);
    OutputWish whole = all_output();
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
    world.hosts[0]->output.pull(world.now, whole);
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

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(output_comes_from_every_host),
        cmocka_unit_test(only_what_is_wanted_comes),
        cmocka_unit_test(what_was_kept_comes_first_and_once),
        cmocka_unit_test(what_was_kept_comes_of_what_is_added_alone),
        cmocka_unit_test(what_was_kept_is_not_dropped),
        cmocka_unit_test(each_channel_is_of_its_own_processes),
        cmocka_unit_test(a_failure_comes_to_who_pulls),
        cmocka_unit_test(a_lost_hosts_failure_comes_behind_its_last_words),
        cmocka_unit_test(output_is_held_where_it_is_written),
        cmocka_unit_test(what_is_still_to_be_delivered_is_counted),
        cmocka_unit_test(what_is_held_comes_whole_to_who_reads),
        cmocka_unit_test(a_slow_tool_costs_a_bound),
        cmocka_unit_test(what_was_dropped_last_is_told_too),
        cmocka_unit_test(a_slow_host_holds_up_no_other),
        cmocka_unit_test(output_goes_around_hosts_that_go),
        cmocka_unit_test(the_end_of_a_wish_goes_around_hosts_that_go),
        cmocka_unit_test(an_end_of_long_ago_is_not_told_again),
        cmocka_unit_test(an_older_wish_changes_nothing),
        cmocka_unit_test(a_root_that_is_lost_with_the_host_between_is_told_of),
        cmocka_unit_test(a_window_that_was_lost_comes_again),
        cmocka_unit_test(nothing_is_lost_with_a_host_that_goes),
        cmocka_unit_test(what_is_expected_waits_for_who_wants_it),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
