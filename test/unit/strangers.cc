// Connections whose makers nobody knows yet: which of them has to go when there are too many, where they come from,
// and how much is said of them in the log.
#include "common/base/rate_limit.h"
#include "common/peer/peer_address.h"
#include "common/peer/stranger_limits.h"
#include "server-glue/gate/unknown_tools.h"

#include "test/unit/check.h"

#include <random>
#include <set>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

void there_is_room_for_some(void **) {
    StrangerLimits limits({4, 2});
    assert_false(limits.add(1, "a").has_value());
    assert_false(limits.add(2, "a").has_value());
    assert_false(limits.add(3, "b").has_value());
    assert_false(limits.add(4, "c").has_value());
    assert_int_equal(limits.size(), 4);
}

void the_oldest_silent_one_of_the_same_source_goes(void **) {
    StrangerLimits limits({100, 2});
    limits.add(1, "b");
    limits.add(2, "a");
    limits.add(3, "a");
    assert_int_equal(limits.add(4, "a").value_or(0), 2);
    limits.spare(3);
    assert_int_equal(limits.add(5, "a").value_or(0), 4);
    assert_int_equal(limits.size(), 3);
}

void a_flood_pushes_out_none_but_its_own(void **) {
    StrangerLimits limits({8, 6});
    limits.add(1, "honest");
    for (StrangerLimits::Id id = 2; id < 1000; ++id) {
        auto gone = limits.add(id, "flood");
        assert_true(!gone || (*gone != 1 && *gone != id));
        assert_true(limits.size() <= 8);
    }
    // And a newcomer of another source finds room.
    assert_true(limits.add(1000, "honest").value_or(0) < 1000);
    assert_true(limits.add(1001, "third").value_or(0) < 1000);
}

void who_has_spoken_is_spared(void **) {
    StrangerLimits limits({3, 3});
    for (StrangerLimits::Id id : {1, 2, 3}) {
        limits.add(id, "a");
        limits.spare(id);
    }
    assert_int_equal(limits.add(4, "a").value_or(0), 4); // the newcomer itself
    assert_int_equal(limits.add(5, "b").value_or(0), 5);
    limits.remove(2);
    assert_false(limits.add(6, "b").has_value());
    assert_int_equal(limits.add(7, "b").value_or(0), 6);
}

void those_that_are_expected_have_more_places(void **) {
    StrangerLimits limits({2, 1});
    assert_false(limits.add(1, "a", 3).has_value());
    assert_false(limits.add(2, "a", 3).has_value());
    assert_false(limits.add(3, "a", 3).has_value());
    assert_false(limits.add(4, "a", 3).has_value());
    assert_int_equal(limits.add(5, "a", 3).value_or(0), 1);
    assert_int_equal(limits.add(6, "b", 0).value_or(0), 2);
}

void without_a_descriptor_one_goes(void **) {
    StrangerLimits limits({10, 10});
    assert_false(limits.evict().has_value());
    limits.add(1, "a");
    limits.add(2, "b");
    limits.add(3, "b");
    assert_int_equal(limits.evict().value_or(0), 2);
    assert_int_equal(limits.evict().value_or(0), 1); // of two with one each, the older
    limits.spare(3);
    assert_false(limits.evict().has_value());
    limits.remove(3);
    limits.remove(3);
    assert_int_equal(limits.size(), 0);
}

// --- at the gate's remote door

// A user reconnects 20,000 times a second from a login host and says nothing. The library of another user's tool there
// needs 20 ms, on a busy host, to say who it is.
void beside_a_flood_of_the_own_host_there_is_time_to_speak(void **) {
    UnknownTools tools(UnknownTools::Bounds{});
    StrangerLimits::Id id = 0;
    auto flood = [&](int connections) {
        bool honest_one_stays = true;
        for (StrangerLimits::Id honest = id; connections > 0; --connections)
            honest_one_stays = tools.add(++id, "login") != honest && honest_one_stays;
        return honest_one_stays;
    };
    flood(2000);
    for (int tool = 0; tool < 100; ++tool) {
        tools.add(++id, "login");
        StrangerLimits::Id honest = id;
        assert_true(flood(20'000 * 20 / 1000));
        tools.has_spoken(honest);
        assert_int_equal(tools.ask_next().value_or(0), honest);
        tools.remove(honest);
        flood(37);
        assert_true(tools.size() <= UnknownTools::Bounds{}.places);
    }
}

// What the flood says looks like a tool's first message, and comes so many times as often as munge answers; as many
// places are asked about as at the gate. Returns how many of 400 honest tools from `source`, which say it after some
// time, munge is asked about.
int honest_tools_beside_whole_messages(unsigned times, const std::string &source) {
    UnknownTools tools(UnknownTools::Bounds{});
    std::mt19937 some(66);
    std::set<StrangerLimits::Id> asked, honest;
    StrangerLimits::Id id = 0, silent = 0;
    int asked_about = 0;
    for (int answer = 0; answer < 400 * 200; ++answer) {
        for (unsigned come = some() % (2 * times + 1); come > 0; --come) { // `times` on average
            tools.add(++id, "login");
            tools.has_spoken(id);
        }
        if (answer % 200 == 0) {
            tools.add(silent = ++id, source);
            honest.insert(silent);
        } else if (answer % 200 == 20) {
            tools.has_spoken(silent);
        }
        while (auto next = tools.ask_next()) {
            asked.insert(*next);
            asked_about += honest.contains(*next) ? 1 : 0;
        }
        if (!asked.empty())
            tools.remove(asked.extract(asked.begin()).value());
    }
    return asked_about;
}

void of_more_messages_than_munge_answers_each_has_the_same_chance(void **) {
    assert_int_equal(honest_tools_beside_whole_messages(0, "login"), 400);
    int beside_twice_as_many = honest_tools_beside_whole_messages(2, "login");
    assert_true(beside_twice_as_many > 400 * 4 / 10 && beside_twice_as_many < 400 * 6 / 10);
    assert_true(honest_tools_beside_whole_messages(4, "login") > 400 * 15 / 100);
}

void a_flood_of_another_host_holds_up_nobody(void **) {
    assert_int_equal(honest_tools_beside_whole_messages(2, "workstation"), 400);
    assert_int_equal(honest_tools_beside_whole_messages(8, "workstation"), 400);
}

void munge_is_asked_about_each_address_in_turn(void **) {
    UnknownTools tools({.places = 10, .asked_at_once = 2});
    for (StrangerLimits::Id id : {1, 2, 3, 4}) {
        assert_false(tools.add(id, id < 4 ? "a" : "b").has_value());
        tools.has_spoken(id);
    }
    tools.add(5, "c"); // and says nothing
    assert_int_equal(tools.ask_next().value_or(0), 1);
    assert_int_equal(tools.ask_next().value_or(0), 4);
    assert_false(tools.ask_next().has_value());
    tools.remove(1);
    assert_int_equal(tools.ask_next().value_or(0), 2);
    tools.remove(3); // it has gone
    tools.remove(2);
    tools.remove(4);
    assert_false(tools.ask_next().has_value());
    assert_int_equal(tools.size(), 1);
    tools.has_spoken(4); // nobody
    assert_false(tools.ask_next().has_value());
    tools.has_spoken(5);
    assert_int_equal(tools.ask_next().value_or(0), 5);
    tools.remove(5);
    assert_int_equal(tools.size(), 0);
}

// --- where they come from, and the log

PeerAddress v4(const char *text) {
    sockaddr_storage address{};
    auto &in = reinterpret_cast<sockaddr_in &>(address);
    in.sin_family = AF_INET;
    in.sin_port = htons(4711);
    assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
    return PeerAddress(address);
}
PeerAddress v6(const char *text) {
    sockaddr_storage address{};
    auto &in = reinterpret_cast<sockaddr_in6 &>(address);
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(4711);
    assert_int_equal(inet_pton(AF_INET6, text, &in.sin6_addr), 1);
    return PeerAddress(address);
}

void sources_are_addresses(void **) {
    assert_true(v4("10.0.0.1").source() == v6("::ffff:10.0.0.1").source());
    assert_true(v4("10.0.0.1").source() != v4("10.0.0.2").source());
    assert_true(v6("fd00::1").source() != v6("fd00::2").source());
    // A user of this host takes what address of the loopback network he likes.
    for (const auto &other : {v4("127.9.8.7"), v6("::1"), v6("::ffff:127.3.2.1")})
        assert_true(other.source() == v4("127.0.0.1").source());
    assert_string_equal(v6("::ffff:10.0.0.1").text().c_str(), "10.0.0.1 port 4711");
    assert_string_equal(v6("fd00::1").text().c_str(), "fd00::1 port 4711");
}

void lines_are_so_many_in_an_interval(void **) {
    RateLimit limit(2, 10s);
    RateLimit::Time::time_point begin{};
    assert_int_equal(limit.admit(begin).value_or(9), 0);
    assert_int_equal(limit.admit(begin + 9s).value_or(9), 0);
    for (int i = 0; i < 1000; ++i)
        assert_false(limit.admit(begin + 9s).has_value());
    assert_int_equal(limit.admit(begin + 10s).value_or(9), 1000);
    assert_int_equal(limit.admit(begin + 11s).value_or(9), 0);
    assert_false(limit.admit(begin + 19s).has_value());
    assert_int_equal(limit.admit(begin + 1h).value_or(9), 1);
    assert_string_equal(not_logged(0).c_str(), "");
    assert_string_equal(not_logged(17).c_str(), " (17 more were not logged)");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(there_is_room_for_some),
        cmocka_unit_test(the_oldest_silent_one_of_the_same_source_goes),
        cmocka_unit_test(a_flood_pushes_out_none_but_its_own),
        cmocka_unit_test(who_has_spoken_is_spared),
        cmocka_unit_test(those_that_are_expected_have_more_places),
        cmocka_unit_test(without_a_descriptor_one_goes),
        cmocka_unit_test(beside_a_flood_of_the_own_host_there_is_time_to_speak),
        cmocka_unit_test(of_more_messages_than_munge_answers_each_has_the_same_chance),
        cmocka_unit_test(a_flood_of_another_host_holds_up_nobody),
        cmocka_unit_test(munge_is_asked_about_each_address_in_turn),
        cmocka_unit_test(sources_are_addresses),
        cmocka_unit_test(lines_are_so_many_in_an_interval),
    };
    return cmocka_run_group_tests_name("strangers", tests, nullptr, nullptr);
}
