// The table of processes: it is gathered over the tree, around hosts that are gone, in time.
#include "test/unit/table_hosts.h"

#include <ctime>
#include <limits>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

using World = TableHosts;
const TimePoint start = World::start;

void every_host_can_ask(void **) {
    for (HostIndex count : {1u, 2u, 3u, 12u}) {
        for (HostIndex from = 0; from < count; ++from) {
            World world(count);
            world.ask(from);
            world.run();
            assert_int_equal(world.answers, 1);
            assert_int_equal(world.status, PMIX_SUCCESS);
            assert_int_equal(world.entries.size(), 2 * count);
            assert_int_equal(world.delivered, 2 * (count - 1)); // one question and one answer for each
            for (Rank rank = 0; rank < 2 * count; ++rank) {
                const auto &entry = world.entries[rank];
                assert_int_equal(entry.rank, rank);
                assert_int_equal(entry.host, rank / 2);
                assert_int_equal(entry.pid, 1000 + rank);
                assert_int_equal(entry.state, PMIX_PROC_STATE_CONNECTED);
                assert_string_equal(entry.executable.c_str(), "/bin/app");
                assert_int_equal(entry.memory_kib, 100 + rank);
            }
            for (HostIndex host = 0; host < count; ++host)
                assert_int_equal(world.daemons[host], 5000 + host);
        }
    }
}

void hosts_that_are_gone_are_gone_around(void **) {
    World world(12);
    world.leave(1); // inner hosts of the tree
    world.leave(2);
    for (auto &host : world.hosts) {
        host->table.note_ended({2, PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTED_BY_SIG, 137});
        host->table.note_lost(2);
    }
    world.ask(11);
    world.run();
    assert_int_equal(world.answers, 1);
    assert_int_equal(world.status, PMIX_SUCCESS);
    assert_int_equal(world.entries[2].state, PMIX_PROC_STATE_ABORTED_BY_SIG);
    assert_int_equal(world.entries[2].exit_code, 137);
    assert_int_equal(world.entries[3].state, PMIX_PROC_STATE_TERMINATED);
    assert_int_equal(world.entries[4].state, PMIX_PROC_STATE_COMM_FAILED);
    assert_int_equal(world.entries[0].pid, 1000);
    assert_int_equal(world.entries[23].pid, 1023);
}

// At each moment in which a host can go.
void a_host_that_goes_meanwhile_does_not_stop_it(void **) {
    for (std::size_t moment = 0; moment < 22; ++moment) {
        World world(12);
        world.ask(0);
        for (std::size_t i = 0; i < moment; ++i)
            world.step();
        world.leave(1);
        world.run();
        assert_int_equal(world.answers, 1);
        assert_int_equal(world.status, PMIX_SUCCESS);
        assert_int_equal(world.entries[6].pid, 1006); // of a host behind it
        assert_int_equal(world.entries[22].pid, 1022);
    }
}

void a_silent_host_is_waited_for_in_time(void **) {
    World world(7);
    world.silent.insert(5);
    world.ask(0, 10s);
    world.run();
    assert_int_equal(world.answers, 0);
    // The host before it gives up first, and says which one is silent.
    auto &before = world.hosts[2]->table;
    assert_true(before.next_time() == start + 8s);
    before.on_time(start + 8s);
    world.run();
    assert_int_equal(world.answers, 1);
    assert_int_equal(world.status, PMIX_ERR_TIMEOUT);
    assert_true(before.next_time() == TimePoint::max());

    world.silent.insert(2);
    world.ask(0, 10s);
    world.run();
    auto &asker = world.hosts[0]->table;
    asker.on_time(start + 9s);
    assert_int_equal(world.answers, 0);
    asker.on_time(start + 10s);
    assert_int_equal(world.answers, 1);
    assert_int_equal(world.status, PMIX_ERR_TIMEOUT);
}

// However many ask: one gathering runs, and all who asked since it began share the next one.
void who_asks_meanwhile_shares_the_next(void **) {
    World world(12);
    world.ask(0);
    for (int i = 0; i < 50; ++i)
        world.ask_beside(0);
    world.hosts[11]->table.note_ended({22, PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTED_BY_SIG, 137});
    world.run();
    assert_int_equal(world.answers, 51);
    assert_int_equal(world.delivered, 2 * 2 * 11);
    assert_int_equal(world.hosts[0]->table.next_time() == TimePoint::max(), 1);

    // The next one has its own time, from when it was asked for.
    world.silent.insert(1);
    world.ask(0, 1s);
    world.ask_beside(0, 30s);
    world.run();
    world.hosts[0]->table.on_time(start + 1s);
    assert_int_equal(world.answers, 1);
    world.silent.clear();
    world.run();
    assert_int_equal(world.answers, 2);
    assert_int_equal(world.status, PMIX_SUCCESS);
}

// A program that looks at the table on each of its hosts.
void all_hosts_may_ask_at_once(void **) {
    constexpr HostIndex count = 100;
    World world(count);
    world.ask(0);
    for (HostIndex host = 1; host < count; ++host)
        world.ask_beside(host);
    world.run();
    assert_int_equal(world.answers, count);
    assert_int_equal(world.status, PMIX_SUCCESS);
    // Each by itself: 2 * 99 * 100. One message comes after the other here: they are further apart than on a network.
    assert_true(world.delivered < 12'000);
    for (const auto &host : world.hosts)
        assert_true(host->table.next_time() == TimePoint::max());
}

void an_end_is_told_with_its_code(void **) {
    World world(2);
    world.ended = {0, 1, 2, 3};
    auto &table = world.hosts[0]->table;
    assert_int_equal(table.first_bad_end(), 0);
    table.note_ended({2, PMIX_ERR_PROC_ABORTED, 0, -1});
    table.note_ended({1, PMIX_ERR_EXIT_NONZERO_TERM, PMIX_ERR_EXIT_NONZERO_TERM, 3});
    assert_int_equal(table.first_bad_end(), PMIX_ERR_PROC_ABORTED); // not the lowest rank's
    auto local = table.local().processes;
    assert_int_equal(local.size(), 2);
    assert_int_equal(local[0].state, PMIX_PROC_STATE_TERMINATED);
    assert_int_equal(local[1].state, PMIX_PROC_STATE_TERM_NON_ZERO);
    assert_int_equal(local[1].exit_code, 3);
    world.leave(1);
    world.ask(0);
    world.run();
    assert_int_equal(world.entries[2].state, PMIX_PROC_STATE_TERM_WO_SYNC);
    assert_int_equal(world.entries[2].exit_code, 0);
}

void nonsense_is_dropped(void **) {
    World world(7);
    auto &table = world.hosts[1]->table;
    table.on_request(start, 0, {1, 6, 1000}); // no neighbour
    table.on_request(start, 0, {1, 99, 1000});
    table.on_request(start, 99, {1, 0, 1000});
    table.on_reply(start, 0, {});
    assert_true(world.wire.empty());
    world.ask(0);
    wire::TableReply lie;
    lie.id = 1;
    lie.hosts.push_back({1, 1, {"x"}, {{0, 1, 6, 0, 0, 1}, {99, 1, 6, 0, 0, 1}, {2, 7, 6, 0, 5, 1}}});
    lie.hosts.push_back({77, 1, {"x"}, {{2, 1, 6, 0, 0, 1}}});
    world.hosts[0]->table.on_reply(start, 1, lie);
    world.hosts[0]->table.on_reply(start, 1, lie);
    world.hosts[0]->table.on_reply(start, 2, {1, {}, {}});
    assert_int_equal(world.answers, 1);
    assert_int_equal(world.entries[0].pid, 1000);
    assert_int_equal(world.entries[2].pid, 0);
    assert_int_equal(world.daemons.count(77), 0);
}

// 10,000 processes are gathered with one question and one answer for each other host, in a time that grows with them
// and no faster; a question for each process would be a message, and an answer, for each of them.
void a_large_job_is_one_gathering(void **) {
    auto fastest = [](HostIndex hosts) { // in CPU seconds, which other work on this machine does not take
        World world(hosts, 32, 32);
        auto best = std::numeric_limits<double>::max();
        for (int i = 0; i < 3; ++i) {
            world.delivered = 0;
            auto begin = std::clock();
            world.ask(0);
            world.run();
            best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
            assert_int_equal(world.status, PMIX_SUCCESS);
            assert_int_equal(world.entries.size(), 32 * hosts);
            assert_int_equal(world.delivered, 2 * (hosts - 1));
        }
        print_message("%u processes on %u hosts: %zu messages, %.2f ms\n", 32 * hosts, hosts, world.delivered,
                      1e3 * best);
        return best;
    };
    double small = fastest(32), large = fastest(313); // 1,024 and 10,016 processes
    print_message("%.1f times the processes take %.1f times the time\n", 313.0 / 32, large / small);
    assert_true(large < 40 * small); // measured: 9 to 12
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(every_host_can_ask),
        cmocka_unit_test(hosts_that_are_gone_are_gone_around),
        cmocka_unit_test(a_host_that_goes_meanwhile_does_not_stop_it),
        cmocka_unit_test(a_silent_host_is_waited_for_in_time),
        cmocka_unit_test(who_asks_meanwhile_shares_the_next),
        cmocka_unit_test(all_hosts_may_ask_at_once),
        cmocka_unit_test(an_end_is_told_with_its_code),
        cmocka_unit_test(nonsense_is_dropped),
        cmocka_unit_test(a_large_job_is_one_gathering),
    };
    return cmocka_run_group_tests_name("process table", tests, nullptr, nullptr);
}
