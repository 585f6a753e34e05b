// Output that tools have taken over: what they have not got goes back to the RM, and nothing else does.
#include "test/unit/iof_world.h"

#include <sstream>

using namespace pmixhost;

namespace {

constexpr std::uint8_t both = wire::stdout_channel | wire::stderr_channel;

// Of who may have gone without it.
void what_was_taken_over_and_held_is_given_back(void **) {
    IofWorld world(3);
    OutputWish wish = all_output();
    wish.taken_over = wire::stdout_channel;
    wish.held = {1000, std::chrono::seconds(10)};
    world.hosts[0]->output.pull(world.now, wish);
    world.run();
    world.write(4, "for one alone");
    world.write(4, "for both", false, wire::stderr_channel);
    world.run();
    world.hosts[0]->output.pull(world.now, {});
    world.run();
    assert_string_equal(world.hosts[2]->given_back.c_str(), "for one alone");
    assert_string_equal(world.read_at(0, 4).c_str(), "");
    assert_false(world.hosts[2]->output.anything_waits());
}

// The RM has had the one, and not the other.
void what_is_held_is_whose_it_was_when_it_was_written(void **) {
    IofWorld world(3);
    world.hosts[0]->reads = false;
    OutputWish copy = all_output(), alone = all_output();
    copy.held = alone.held = {1000, std::chrono::seconds(10)};
    alone.taken_over = wire::stdout_channel;
    world.hosts[0]->output.pull(world.now, copy);
    world.run();
    for (std::size_t sent = 0; sent < 2 * wire::output_window; sent += 1000)
        world.write(5, std::string(1000, 'x')); // so the tool gets no more
    for (const auto &[wish, bytes] : {std::pair(copy, "for both"), {alone, "for one alone"}, {copy, "and for both"}}) {
        world.hosts[0]->output.pull(world.now, wish);
        world.run();
        world.write(4, bytes);
    }
    world.hosts[0]->output.pull(world.now, {});
    world.run();
    assert_string_equal(world.hosts[2]->given_back.c_str(), "for one alone");
}

// One of several tools had taken it over, and has gone; the others have a copy of it.
void who_goes_while_others_pull_leaves_what_it_has_not_got(void **) {
    for (HostIndex count : {1u, 3u}) {
        IofWorld world(count);
        const Rank rank = (count - 1) * IofWorld::per_host;
        OutputWish copy = all_output(), alone = all_output();
        alone.taken_over = wire::stdout_channel;
        world.hosts[0]->reads = false;
        world.hosts[0]->output.pull(world.now, alone);
        world.run();
        std::string sum;
        for (int i = 0; sum.size() < 2 * wire::output_window; ++i) {
            std::string line = fmt::format("{} {}\n", i, std::string(1000, 'x'));
            world.write(rank, line);
            sum += line;
        }
        world.run();
        const std::string had = world.read_at(0, rank);
        world.hosts[0]->output.pull(world.now, copy);
        world.run();
        assert_true(had + world.hosts[count - 1]->given_back == sum);
        world.hosts[0]->reads = true;
        world.run();
        world.write(rank, "for both");
        world.run();
        assert_true(world.read_at(0, rank) == sum + "for both");
        world.hosts[0]->output.pull(world.now, {});
        world.run();
        assert_true(had + world.hosts[count - 1]->given_back == sum);
    }
}

// Wherever it was on its way to a tool that does not read; what the tool has had is not given back.
void what_a_tool_has_not_got_is_given_back(void **) {
    for (HostIndex count : {1u, 2u, 12u}) {
        IofWorld world(count);
        world.hosts[0]->reads = false;
        OutputWish wish = all_output();
        wish.taken_over = wire::stdout_channel;
        world.hosts[0]->output.pull(world.now, wish);
        world.run();
        const HostIndex last = count - 1;
        std::string sum;
        for (int i = 0; sum.size() < 3 * wire::output_window; ++i) {
            std::string line = fmt::format("{} {}\n", i, std::string(1000, 'x'));
            world.write(last * IofWorld::per_host, line);
            sum += line;
            if (i % 100 == 0)
                world.run();
        }
        world.run();
        world.hosts[0]->output.pull(world.now, {});
        world.run();
        const std::string &read = world.read_at(0, last * IofWorld::per_host);
        assert_false(read.empty());
        assert_true(read + world.hosts[last]->given_back == sum);
        assert_false(world.hosts[last]->output.anything_waits());
    }
}

void what_crosses_the_end_of_a_wish_is_given_back(void **) {
    for (std::size_t moment = 0; moment < 20; ++moment) {
        IofWorld world(12);
        OutputWish wish = all_output();
        wish.taken_over = wire::stdout_channel;
        world.hosts[0]->output.pull(world.now, wish);
        world.run();
        for (Rank rank : {22u, 10u}) // 10 is of a host between
            world.write(rank, "x");
        for (std::size_t i = 0; i < moment; ++i)
            world.step();
        world.hosts[0]->output.pull(world.now, {});
        world.run();
        assert_string_equal((world.read_at(0, 22) + world.hosts[11]->given_back).c_str(), "x");
        assert_string_equal((world.read_at(0, 10) + world.hosts[5]->given_back).c_str(), "x");
    }
}

// As long as the tool has not got it, the RM's stream must be there for it.
void the_end_of_a_stream_may_come_back(void **) {
    for (HostIndex count : {1u, 12u}) {
        IofWorld world(count);
        IofWorld::Host &writer = *world.hosts[count - 1];
        const Rank rank = (count - 1) * IofWorld::per_host;
        auto may_come_back = [&] { return writer.output.may_come_back(rank, wire::stdout_channel); };
        OutputWish wish = all_output();
        wish.taken_over = wire::stdout_channel;
        world.hosts[0]->reads = false;
        world.hosts[0]->output.pull(world.now, wish);
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
    IofWorld world(12);
    OutputWish wish = all_output();
    wish.taken_over = wire::stdout_channel;
    world.hosts[0]->reads = false;
    world.hosts[0]->output.pull(world.now, wish);
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
    IofWorld world(12);
    OutputWish wish = all_output();
    wish.taken_over = wire::stdout_channel;
    world.hosts[0]->output.pull(world.now, wish);
    world.run();
    for (HostIndex between : {2, 5}) // on the way from host 11
        world.hosts[between]->output.leave();
    world.write(22, "after\n");
    world.run();
    assert_string_equal(world.read_at(0, 22).c_str(), "after\n");
}

// What was written before went elsewhere, too, and so did what came before it was taken over.
void what_others_have_is_not_given_back(void **) {
    IofWorld world(3);
    world.hosts[2]->kept = "before";
    world.hosts[0]->reads = false;
    OutputWish wish = all_output();
    wish.kept = true;
    world.hosts[0]->output.pull(world.now, wish);
    world.run();
    std::string much(32u << 10, 'x');
    for (std::size_t sent = 0; sent < 2 * wire::output_window; sent += much.size())
        world.write(4, much);
    world.run();
    wish.kept = false;
    wish.taken_over = both;
    world.hosts[0]->output.pull(world.now, wish);
    world.run();
    world.write(4, "for one alone");
    world.run();
    world.hosts[0]->output.pull(world.now, {});
    world.run();
    assert_string_equal(world.hosts[2]->given_back.c_str(), "for one alone");
}

// A tool has taken over the standard output, of which it reads some, stops and has more written than is kept for it.
// Its other stream is a copy.
struct Overflow : IofWorld {
    const HostIndex last;
    const Rank rank = last * per_host;
    Host &writer = *hosts[last];
    std::string sum, had;
    Overflow(HostIndex count, bool drop_oldest) : IofWorld(count), last(count - 1) {
        hosts[0]->reads = false;
        OutputWish wish = all_output(400'000);
        wish.taken_over = wire::stdout_channel;
        wish.drop_oldest = drop_oldest;
        hosts[0]->output.pull(now, wish);
        run();
        for (int i = 0; sum.size() < 8 * wire::output_window; ++i) {
            std::string line = fmt::format("{} {}\n", i, std::string(1000, 'x'));
            write(rank, line);
            sum += line;
            if (i % 100 == 0)
                write(rank, "e", false, wire::stderr_channel);
            run();
        }
        had = read_at(0, rank);
    }
};

// Whatever the rule is, for nothing is dropped; and in order.
void what_cannot_be_kept_goes_back_at_once(void **) {
    for (HostIndex count : {1u, 3u}) {
        for (bool drop_oldest : {false, true}) {
            Overflow world(count, drop_oldest);
            const std::string back = world.writer.given_back;
            assert_false(back.empty());
            assert_true(back.find('e') == std::string::npos);
            world.hosts[0]->reads = true;
            world.run();
            world.write(world.rank, "", true);
            world.run();
            const std::size_t begin = world.sum.find(back);
            assert_true(begin != std::string::npos && begin >= world.had.size());
            std::string rest = world.sum;
            assert_true(world.read_at(0, world.rank) == rest.erase(begin, back.size()));
            assert_true(world.hosts[0]->ended.contains(world.rank));
            assert_in_range(world.hosts[0]->missing[world.rank], back.size(), back.size() + 100);
            assert_true(world.writer.given_back == back);
        }
    }
}

// Copies of another stream take all of the room, and are dropped.
void what_has_no_room_beside_copies_goes_back(void **) {
    IofWorld world(1);
    IofWorld::Host &host = *world.hosts[0];
    host.reads = false;
    OutputWish wish = all_output(400'000);
    wish.taken_over = wire::stdout_channel;
    host.output.pull(world.now, wish);
    for (int i = 0; i < 1000; ++i)
        world.write(0, std::string(1000, 'e'), false, wire::stderr_channel);
    std::string sum;
    for (int i = 0; i < 1000; ++i) {
        std::string line = fmt::format("{} {}\n", i, std::string(1000, 'x'));
        world.write(1, line);
        sum += line;
    }
    assert_true(host.given_back == sum);
    host.reads = true;
    world.run();
    assert_int_equal(host.missing[1], sum.size());
    assert_int_equal(world.read_at(0, 0, wire::stderr_channel).size() + host.missing[0], 1'000'000);
    world.write(1, "there is room");
    world.run();
    assert_string_equal(world.read_at(0, 1).c_str(), "there is room");
    assert_true(host.given_back == sum);
}

// The tool takes little, and copies have all of that room but for one piece at a time.
void what_waits_among_copies_goes_back_before_what_follows(void **) {
    IofWorld world(1);
    IofWorld::Host &host = *world.hosts[0];
    host.reads = false;
    OutputWish wish = all_output(400'000);
    wish.taken_over = wire::stdout_channel;
    host.output.pull(world.now, wish);
    std::string sum;
    bool waited = false;
    auto copies = [&](int count) {
        for (int i = 0; i < count; ++i)
            world.write(0, std::string(1000, 'e'), false, wire::stderr_channel);
    };
    auto line = [&] {
        std::string text = fmt::format("{:03} {}\n", sum.size() / 1005, std::string(1000, 'x'));
        world.write(1, text);
        sum += text;
        assert_true(sum.starts_with(host.given_back));
        waited = waited || host.given_back.size() < sum.size();
    };
    copies(1000);
    line();
    assert_true(host.given_back == sum); // there is nothing to give up for it
    for (int round = 0; round < 3; ++round) {
        host.output.taken(40'000); // so one or two of the first pieces go
        line();
        copies(100);
        for (int i = 0; i < 3; ++i)
            line();
    }
    assert_true(waited);
    world.hosts[0]->output.pull(world.now, {});
    assert_string_equal(world.read_at(0, 1).c_str(), "");
    assert_true(host.given_back == sum);
}

// What may have been on its way to a tool that goes comes behind it, and what was still kept.
void who_goes_when_not_all_could_be_kept_leaves_the_rest(void **) {
    for (HostIndex count : {1u, 3u}) {
        for (bool drop_oldest : {false, true}) {
            Overflow world(count, drop_oldest);
            const std::string back = world.writer.given_back;
            const std::size_t begin = world.sum.find(back), end = begin + back.size();
            assert_true(begin != std::string::npos);
            assert_true(count > 1 || begin == world.had.size());
            world.hosts[0]->output.pull(world.now, {});
            world.run();
            assert_true(world.writer.given_back ==
                        back + world.sum.substr(world.had.size(), begin - world.had.size()) + world.sum.substr(end));
        }
    }
}

// Tools of two hosts have taken over what one process of host 4 writes, and do not read.
struct TakenOverTwice : IofWorld {
    static constexpr Rank rank = 4 * per_host;
    Host &writer = *hosts[4];
    std::string sum;
    TakenOverTwice() : IofWorld(5) {
        for (HostIndex root : {0u, 3u}) {
            hosts[root]->reads = false;
            take_over(root);
            run();
        }
    }
    void take_over(HostIndex root) {
        OutputWish wish = all_output();
        wish.taken_over = wire::stdout_channel;
        hosts[root]->output.pull(now, wish);
    }
    void no_more(HostIndex root) {
        hosts[root]->output.pull(now, {});
        run();
    }
    void write_much() {
        for (const std::size_t from = sum.size(); sum.size() < from + 2 * wire::output_window;) {
            std::string line = fmt::format("{} {}\n", sum.size(), std::string(1000, 'x'));
            write(rank, line);
            sum += line;
        }
        run();
    }
};

void what_two_have_taken_over_is_given_back_once(void **) {
    for (HostIndex first : {0u, 3u}) {
        TakenOverTwice world;
        world.write_much();
        const std::size_t read = std::max(world.read_at(0, world.rank).size(), world.read_at(3, world.rank).size());
        world.no_more(first);
        assert_string_equal(world.writer.given_back.c_str(), "");
        world.no_more(3 - first);
        assert_true(world.writer.given_back == world.sum.substr(read));
    }
}

void what_one_of_two_has_got_is_not_given_back(void **) {
    for (HostIndex first : {0u, 3u}) {
        TakenOverTwice world;
        world.hosts[3]->reads = true;
        world.write_much();
        world.write(world.rank, "", true);
        world.run();
        assert_true(world.read_at(3, world.rank) == world.sum);
        assert_false(world.writer.output.may_come_back(world.rank, wire::stdout_channel));
        world.no_more(first);
        world.no_more(3 - first);
        assert_string_equal(world.writer.given_back.c_str(), "");
    }
}

// Of each line, which begins with it.
std::vector<std::size_t> numbers_of(const std::string &lines) {
    std::vector<std::size_t> numbers;
    std::istringstream in(lines);
    for (std::string line; std::getline(in, line);)
        numbers.push_back(std::stoul(line));
    return numbers;
}

// As long as there is room for it in one of the queues it is there.
void what_neither_of_two_has_room_for_is_given_back_once(void **) {
    for (bool differ : {false, true}) {
        TakenOverTwice world;
        if (differ) {
            OutputWish little = all_output(100'000);
            little.taken_over = wire::stdout_channel;
            world.hosts[0]->output.pull(world.now, little);
            world.run();
        }
        world.write_much();
        assert_string_equal(world.writer.given_back.c_str(), "");
        for (int i = 0; i < 4; ++i)
            world.write_much();
        auto back = numbers_of(world.writer.given_back);
        assert_true(!back.empty() && std::is_sorted(back.begin(), back.end()));
        world.hosts[3]->reads = true;
        world.run();
        for (HostIndex root : {0u, 3u})
            world.no_more(root);
        auto all = numbers_of(world.read_at(3, world.rank) + world.writer.given_back);
        std::sort(all.begin(), all.end());
        assert_true(all == numbers_of(world.sum));
    }
}

// Of before the other one came; or what the other one was too slow for.
void what_one_alone_of_two_has_is_given_back(void **) {
    TakenOverTwice world;
    world.no_more(3);
    world.write_much();
    const std::string before = world.sum.substr(world.read_at(0, world.rank).size());
    world.take_over(3);
    world.run();
    world.write_much();
    world.no_more(0);
    assert_true(world.writer.given_back == before);

    TakenOverTwice other;
    OutputWish little = all_output(100'000);
    little.taken_over = both;
    other.hosts[0]->output.pull(other.now, little);
    other.run();
    other.write_much();
    const std::size_t read = other.read_at(3, other.rank).size();
    other.no_more(3);
    other.no_more(0);
    assert_int_equal(read + other.writer.given_back.size(), other.sum.size());
}

void a_host_that_leaves_gives_back_once(void **) {
    TakenOverTwice world;
    for (int i = 0; i < 2; ++i) // more than is on its way to who does not read
        world.write_much();
    world.writer.output.leave();
    assert_false(world.writer.given_back.empty());
    world.leave(4, true);
    for (HostIndex root : {0u, 3u})
        world.hosts[root]->reads = true;
    world.run();
    assert_true(world.read_at(0, world.rank) + world.writer.given_back == world.sum);
}

// Of a host whose tools took the output over all hear when it goes, also those that have no link to it.
void what_was_taken_over_is_given_back(void **) {
    IofWorld world(12);
    OutputWish wish = all_output();
    wish.taken_over = {wire::stdout_channel, {20}};
    world.hosts[3]->output.pull(world.now, wish);
    world.run();
    assert_true(world.hosts[10]->output.taken_over(20, wire::stdout_channel));
    assert_false(world.hosts[10]->output.taken_over(21, wire::stdout_channel));
    assert_false(world.hosts[10]->output.taken_over(20, wire::stderr_channel));
    world.gone.insert(3);
    world.hosts[1]->output.on_host_gone(world.now, 3, false); // its neighbour in the tree
    world.run();
    for (HostIndex host : {0u, 1u, 2u, 4u, 5u, 10u, 11u})
        assert_false(world.hosts[host]->output.wanted(2 * host, wire::stdout_channel));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_was_taken_over_and_held_is_given_back),
        cmocka_unit_test(what_is_held_is_whose_it_was_when_it_was_written),
        cmocka_unit_test(who_goes_while_others_pull_leaves_what_it_has_not_got),
        cmocka_unit_test(what_a_tool_has_not_got_is_given_back),
        cmocka_unit_test(what_crosses_the_end_of_a_wish_is_given_back),
        cmocka_unit_test(the_end_of_a_stream_may_come_back),
        cmocka_unit_test(a_host_that_waits_no_longer_gives_back_what_it_has_not_sent),
        cmocka_unit_test(a_host_that_waits_no_longer_passes_on_what_others_write),
        cmocka_unit_test(what_others_have_is_not_given_back),
        cmocka_unit_test(what_cannot_be_kept_goes_back_at_once),
        cmocka_unit_test(what_has_no_room_beside_copies_goes_back),
        cmocka_unit_test(what_waits_among_copies_goes_back_before_what_follows),
        cmocka_unit_test(who_goes_when_not_all_could_be_kept_leaves_the_rest),
        cmocka_unit_test(what_two_have_taken_over_is_given_back_once),
        cmocka_unit_test(what_one_of_two_has_got_is_not_given_back),
        cmocka_unit_test(what_neither_of_two_has_room_for_is_given_back_once),
        cmocka_unit_test(what_one_alone_of_two_has_is_given_back),
        cmocka_unit_test(a_host_that_leaves_gives_back_once),
        cmocka_unit_test(what_was_taken_over_is_given_back),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
