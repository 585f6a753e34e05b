// Who shall stop for a debugger, and who has: the text that a job's daemons read, and the count over the hosts.
#include "common/start/spawn_channel.h"
#include "server-glue/debug/stop_board.h"

#include "test/unit/fake_hosts.h"

using namespace pmixhost;

namespace {

std::string text_of(const RankRanges &ranks) {
    DebugStops stops;
    stops.at(StopPlace::exec) = ranks;
    return stops.text();
}

DebugStops stops_at(const char *text) {
    auto stops = DebugStops::parse(text);
    assert_true(stops.has_value());
    return *stops;
}

// Three hosts: 0 and 1, 2 and 3, 4. What one sends comes to the other at once, while `deliver` is set.
struct Hosts {
    struct Host final : StopPort, FakeHosts {
        Hosts *all = nullptr;
        HostIndex self = 0;
        std::unique_ptr<StopBoard> board;
        bool send(HostIndex to, std::uint8_t type, SharedBytes payload) override {
            assert_int_equal(type, wire::RanksStopped::type);
            ++all->sent;
            if (!all->lost.contains(to))
                all->hosts[to].board->on_stopped(self, *wire::decode<wire::RanksStopped>(*payload));
            return true;
        }
        void all_stopped(StopPlace place, std::uint32_t round, const Bytes &breakpoint,
                         const RankRanges &ranks) override {
            all->rounds += fmt::format("{} ", round);
            all->told += fmt::format("[{} {} {} by {}]", static_cast<int>(place), breakpoint, text_of(ranks), self);
            for (auto &each : all->hosts) // as the event of it comes to all
                each.board->was_told(place, round);
        }
    };
    explicit Hosts(const char *text) : map(*JobMap::create({"n1", "n2", "n3"}, {{0, 1}, {2, 3}, {4}})) {
        for (HostIndex h = 0; h < 3; ++h) {
            hosts[h].all = this;
            hosts[h].self = h;
            hosts[h].board = std::make_unique<StopBoard>(hosts[h], hosts[h], map, h, stops_at(text));
        }
    }
    StopBoard &of(Rank rank) { return *hosts[map.host_of(rank)].board; }
    void stopped(StopPlace place, Rank rank, const char *breakpoint = "here") {
        of(rank).stopped(place, rank, breakpoint);
    }
    void all_released() {
        for (Rank rank = 0; rank < map.rank_count(); ++rank)
            of(rank).released(rank);
    }
    void ended(Rank rank) { of(rank).ended(rank); }
    void lose(HostIndex host) {
        lost.insert(host);
        for (auto &each : hosts) {
            if (!lost.contains(each.self))
                each.board->on_host_gone(host);
        }
    }
    JobMap map;
    std::array<Host, 3> hosts;
    std::set<HostIndex> lost;
    std::string told, rounds;
    int sent = 0;
};

void the_text_is_read_as_it_was_written(void **) {
    for (const char *text : {"", "exec=0", "init=0-4294967294", "exec=1,3-5;init=0-7;app=2"})
        assert_string_equal(stops_at(text).text().c_str(), text);
    assert_true(stops_at("").empty());
    assert_true(stops_at("init=2-4").at(StopPlace::init).contains(3));
    for (const char *text : {"here=1", "exec=", "exec=1;exec=2", "exec=3-1", "exec=1-", "exec=1-2x", "exec=a",
                             "exec=-1", "exec=4294967296", "exec=1;", ";", "init=1 "})
        assert_int_equal(DebugStops::parse(text).has_value(), std::string(text) == "exec=1;");
    assert_false(DebugStops::parse("exec=" + std::string(DebugStops::max_text, '1')).has_value());
}

void the_childs_daemons_are_told_with_their_parent(void **) {
    for (bool fate : {false, true}) {
        ParentWord word{"slurm.7.0", 4, fate, "exec=1,3-5;init=0-7"};
        auto read = ParentWord::parse(word.text());
        assert_true(read.has_value());
        assert_string_equal(read->nspace.c_str(), "slurm.7.0");
        assert_string_equal(read->stops.c_str(), "exec=1,3-5;init=0-7");
        assert_int_equal(read->shares_fate, fate);
        assert_int_equal(read->rank, 4);
    }
}

void it_is_told_once_when_all_hosts_have_theirs(void **) {
    Hosts hosts("init=0-4");
    for (Rank rank : {4, 0, 2, 1})
        hosts.stopped(StopPlace::init, rank);
    assert_string_equal(hosts.told.c_str(), "");
    hosts.stopped(StopPlace::init, 3);
    assert_string_equal(hosts.told.c_str(), "[1 here exec=0-4 by 0]");
    hosts.stopped(StopPlace::init, 3);
    hosts.stopped(StopPlace::init, 0);
    assert_string_equal(hosts.told.c_str(), "[1 here exec=0-4 by 0]");
    assert_int_equal(hosts.sent, 2);
}

void only_those_who_are_asked_for_count(void **) {
    Hosts hosts("exec=3;init=2,4");
    assert_false(hosts.of(0).is_wanted(StopPlace::init, 0));
    hosts.stopped(StopPlace::init, 0);
    hosts.stopped(StopPlace::init, 3);
    hosts.stopped(StopPlace::exec, 3);
    assert_string_equal(hosts.told.c_str(), "[0 here exec=3 by 1]");
    hosts.stopped(StopPlace::init, 4);
    hosts.stopped(StopPlace::init, 2);
    assert_string_equal(hosts.told.c_str(), "[0 here exec=3 by 1][1 here exec=2,4 by 1]");
}

void who_ends_is_not_waited_for(void **) {
    Hosts hosts("init=0-4");
    hosts.stopped(StopPlace::init, 0);
    hosts.ended(0); // while it was stopped
    hosts.ended(3); // before
    hosts.stopped(StopPlace::init, 2);
    hosts.ended(4); // the only one of its host
    assert_string_equal(hosts.told.c_str(), "");
    hosts.stopped(StopPlace::init, 1);
    assert_string_equal(hosts.told.c_str(), "[1 here exec=1-2 by 0]");
    Hosts gone("init=0-4");
    for (Rank rank = 0; rank < 5; ++rank)
        gone.ended(rank);
    assert_string_equal(gone.told.c_str(), "");
}

void a_lost_host_is_not_waited_for(void **) {
    Hosts hosts("init=0-4");
    for (Rank rank : {0, 1, 4})
        hosts.stopped(StopPlace::init, rank);
    hosts.lose(1);
    assert_string_equal(hosts.told.c_str(), "[1 here exec=0-1,4 by 0]");
}

void the_next_host_takes_over(void **) {
    Hosts hosts("init=0-4");
    for (Rank rank : {2, 3, 0})
        hosts.stopped(StopPlace::init, rank);
    hosts.lose(0);
    assert_string_equal(hosts.told.c_str(), "");
    hosts.stopped(StopPlace::init, 4);
    assert_string_equal(hosts.told.c_str(), "[1 here exec=2-4 by 1]");
}

void who_takes_over_does_not_tell_again(void **) {
    Hosts hosts("init=0-4");
    for (Rank rank = 0; rank < 5; ++rank)
        hosts.stopped(StopPlace::init, rank);
    hosts.lose(0);
    hosts.lose(1);
    assert_string_equal(hosts.told.c_str(), "[1 here exec=0-4 by 0]");
}

void a_host_speaks_for_its_own_alone(void **) {
    Hosts hosts("init=0-4");
    wire::RanksStopped message;
    message.place = message.round = 1;
    message.ranks = {{3, 3}, {4, 4}};
    hosts.hosts[0].board->on_stopped(1, message);
    message.ranks = {{2, 3}};
    hosts.hosts[0].board->on_stopped(1, message);
    message.ranks = {{77, 77}};
    hosts.hosts[0].board->on_stopped(1, message);
    message.place = 3;
    hosts.hosts[0].board->on_stopped(1, message);
    for (Rank rank : {0, 1, 4})
        hosts.stopped(StopPlace::init, rank);
    assert_string_equal(hosts.told.c_str(), "");
    for (Rank rank : {2, 3})
        hosts.stopped(StopPlace::init, rank);
    assert_string_equal(hosts.told.c_str(), "[1 here exec=0-4 by 0]");
}

// A program with two places of its own: who was let go from the first one is counted anew.
void who_was_let_go_and_stops_again_is_told_again(void **) {
    Hosts hosts("app=0-4");
    for (Rank rank = 0; rank < 5; ++rank)
        hosts.stopped(StopPlace::app, rank, "first");
    hosts.all_released();
    hosts.told.clear();
    for (Rank rank : {4, 0, 2, 1})
        hosts.stopped(StopPlace::app, rank, "second");
    assert_string_equal(hosts.told.c_str(), "");
    hosts.stopped(StopPlace::app, 3, "second");
    assert_string_equal(hosts.told.c_str(), "[2 second exec=0-4 by 0]");
    assert_string_equal(hosts.rounds.c_str(), "1 2 ");
}

// Who is let go alone, and who ends, is no second stop of the others.
void a_second_round_is_of_all_who_live(void **) {
    Hosts hosts("app=0-4");
    for (Rank rank = 0; rank < 5; ++rank)
        hosts.stopped(StopPlace::app, rank);
    hosts.told.clear();
    hosts.of(0).released(0);
    hosts.stopped(StopPlace::app, 0);
    hosts.of(2).released(2);
    hosts.ended(2);
    assert_string_equal(hosts.told.c_str(), "");
    hosts.all_released();
    for (Rank rank : {1, 4})
        hosts.stopped(StopPlace::app, rank);
    assert_string_equal(hosts.told.c_str(), "");
    hosts.ended(3); // others of its host, that need not stop, may live on
    assert_string_equal(hosts.told.c_str(), "[2 here exec=0-1,4 by 0]");
}

// A host may be ahead of the others, since its processes were let go before all had stopped.
void rounds_are_not_mixed(void **) {
    Hosts hosts("app=0-4");
    for (int round : {1, 2}) {
        hosts.stopped(StopPlace::app, 4);
        hosts.of(4).released(4);
        assert_int_equal(hosts.sent, round);
    }
    for (Rank rank = 0; rank < 4; ++rank)
        hosts.stopped(StopPlace::app, rank);
    assert_string_equal(hosts.rounds.c_str(), "1 ");
    hosts.all_released();
    for (Rank rank = 0; rank < 4; ++rank)
        hosts.stopped(StopPlace::app, rank);
    assert_string_equal(hosts.rounds.c_str(), "1 2 ");
}

void who_takes_over_tells_the_next_round(void **) {
    Hosts hosts("app=0-4");
    for (Rank rank = 0; rank < 5; ++rank)
        hosts.stopped(StopPlace::app, rank);
    hosts.all_released();
    hosts.lose(0);
    hosts.told.clear();
    for (Rank rank : {2, 3, 4})
        hosts.stopped(StopPlace::app, rank);
    assert_string_equal(hosts.told.c_str(), "[2 here exec=2-4 by 1]");
}

// The first host goes before all have heard of it, and the next one tells it again.
void what_is_told_again_is_no_further_round(void **) {
    Hosts hosts("app=0-4");
    for (int round : {1, 2}) {
        for (Rank rank = 0; rank < 5; ++rank)
            hosts.stopped(StopPlace::app, rank);
        hosts.all_released();
        for (auto &each : hosts.hosts)
            each.board->was_told(StopPlace::app, 1);
        assert_int_equal(hosts.rounds.size(), 2 * round);
    }
    hosts.lose(0);
    hosts.rounds.clear();
    for (Rank rank : {2, 3, 4})
        hosts.stopped(StopPlace::app, rank);
    assert_string_equal(hosts.rounds.c_str(), "3 ");
}

void whom_nobody_lets_go_is_counted_all_the_same(void **) {
    Hosts hosts("app=0-4");
    assert_false(hosts.of(0).is_left_alone());
    hosts.of(0).leave_alone();
    assert_true(hosts.of(0).is_left_alone());
    for (Rank rank = 0; rank < 5; ++rank)
        hosts.stopped(StopPlace::app, rank);
    assert_string_equal(hosts.told.c_str(), "[2 here exec=0-4 by 0]");
}

void a_user_may_leave_out_who(void **) {
    auto stops = stops_at("exec;init=all;app=0,2");
    assert_true(stops.fit(3).ok());
    assert_string_equal(stops.text().c_str(), "exec=0-2;init=0-2;app=0,2");
    auto late = stops_at("app=0-3");
    assert_string_equal(late.fit(3).failure().text.c_str(), "there is no rank 3 to stop; the job has 3 processes");
    for (const char *text : {"never", "exec=", "exec=a", "exec=3-1", "exec;exec", "=1"})
        assert_false(DebugStops::parse(text).has_value());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(the_text_is_read_as_it_was_written),
        cmocka_unit_test(the_childs_daemons_are_told_with_their_parent),
        cmocka_unit_test(it_is_told_once_when_all_hosts_have_theirs),
        cmocka_unit_test(only_those_who_are_asked_for_count),
        cmocka_unit_test(who_ends_is_not_waited_for),
        cmocka_unit_test(a_lost_host_is_not_waited_for),
        cmocka_unit_test(the_next_host_takes_over),
        cmocka_unit_test(who_takes_over_does_not_tell_again),
        cmocka_unit_test(a_host_speaks_for_its_own_alone),
        cmocka_unit_test(who_was_let_go_and_stops_again_is_told_again),
        cmocka_unit_test(a_second_round_is_of_all_who_live),
        cmocka_unit_test(rounds_are_not_mixed),
        cmocka_unit_test(who_takes_over_tells_the_next_round),
        cmocka_unit_test(what_is_told_again_is_no_further_round),
        cmocka_unit_test(whom_nobody_lets_go_is_counted_all_the_same),
        cmocka_unit_test(a_user_may_leave_out_who),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
