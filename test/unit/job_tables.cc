// Tables of other jobs: each question is answered once, whatever becomes of the way to the session.
#include "server-glue/query/job_tables.h"

#include "server-glue/query/process_table.h"

#include <pmix_common.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const TimePoint start{};

struct World {
    bool there = true;
    std::vector<wire::JobTableRequest> sent;
    std::vector<std::int32_t> answers;
    JobTables tables{[this](std::uint8_t, SharedBytes payload) {
        sent.push_back(*wire::decode<wire::JobTableRequest>(*payload));
        return there;
    }};
    void ask(const std::string &host = "", Duration timeout = 10s) {
        tables.ask(start, "job", host, timeout, [this](std::int32_t status, const auto &hosts) {
            answers.push_back(status == PMIX_SUCCESS ? static_cast<std::int32_t>(hosts.size()) : status);
        });
    }
    void reply(std::size_t which, std::int32_t status, std::size_t hosts) {
        wire::JobTableReply message;
        message.id = sent[which].id;
        message.status = status;
        message.hosts.resize(hosts);
        tables.on_reply(start, message);
    }
};

void a_question_is_answered_once(void **) {
    World world;
    world.ask("n1");
    world.ask();
    assert_string_equal(world.sent[0].only_on.c_str(), "n1");
    assert_string_equal(world.sent[1].nspace.c_str(), "job");
    assert_int_equal(world.sent[1].timeout_ms, 10'000);
    world.reply(1, PMIX_SUCCESS, 3);
    world.reply(1, PMIX_SUCCESS, 4);
    world.reply(0, PMIX_ERR_NOT_FOUND, 5);
    assert_true((world.answers == std::vector<std::int32_t>{3, PMIX_ERR_NOT_FOUND}));
    assert_true(world.tables.next_time() == TimePoint::max());
}

void nobody_waits_for_ever(void **) {
    World world;
    world.ask();
    assert_true(world.tables.next_time() == start + 10s);
    world.tables.on_time(start + 9s);
    assert_true(world.answers.empty());
    world.tables.on_time(start + 10s);
    world.ask();
    world.tables.on_session_gone();
    world.there = false;
    world.ask();
    assert_true(
        (world.answers == std::vector<std::int32_t>{PMIX_ERR_TIMEOUT, PMIX_ERR_LOST_CONNECTION, PMIX_ERR_NOT_FOUND}));
}

void who_asks_meanwhile_is_the_next_question(void **) {
    World world;
    world.ask();
    world.ask("n1");
    for (int i = 0; i < 3; ++i)
        world.ask();
    assert_int_equal(world.sent.size(), 2);
    world.reply(0, PMIX_SUCCESS, 1);
    assert_true((world.answers == std::vector<std::int32_t>{1}));
    assert_int_equal(world.sent.size(), 3);
    world.reply(2, PMIX_SUCCESS, 2);
    assert_true((world.answers == std::vector<std::int32_t>{1, 2, 2, 2}));
    // Who waits longer than the first one is asked for when its time is over.
    world.ask("n2", 1s);
    world.ask("n2", 5s);
    world.tables.on_time(start + 1s);
    assert_int_equal(world.sent.size(), 5);
    assert_int_equal(world.sent[4].timeout_ms, 4000);
    world.reply(4, PMIX_SUCCESS, 7);
    assert_true((world.answers == std::vector<std::int32_t>{1, 2, 2, 2, PMIX_ERR_TIMEOUT, 7}));
    world.ask("n3");
    world.ask("n3");
    world.tables.on_session_gone();
    assert_int_equal(world.answers.size(), 9); // with the one of n1
    assert_true(world.tables.next_time() == TimePoint::max());
}

void ranks_come_in_order_and_once(void **) {
    JobTable table{{{3, 1, 7, 0, 6, "", 0}, {0, 0, 8, 0, 6, "", 0}, {3, 1, 9, 0, 6, "", 0}, {2, 0, 1, 0, 6, "", 0}},
                   {}};
    in_order_of_ranks(table);
    assert_int_equal(table.processes.size(), 3);
    assert_int_equal(table.processes[0].rank, 0);
    assert_int_equal(table.processes[1].rank, 2);
    assert_int_equal(table.processes[2].pid, 7);
}

void there_are_bounds(void **) {
    World world;
    for (std::size_t i = 0; i <= JobTables::max_waiting; ++i)
        world.ask();
    assert_true((world.answers == std::vector<std::int32_t>{PMIX_ERR_OUT_OF_RESOURCE}));
}

void a_table_is_the_same_behind_the_wire(void **) {
    JobMap map = *JobMap::create({"a", "b"}, {{0, 2}, {1}});
    JobTable table{{{0, 0, 7, 0, 6, "/bin/x", 1}, {2, 0, 8, 3, 62, "/bin/x", 2}, {1, 1, 9, 0, 6, "/bin/y", 3}},
                   {{0, 100}, {1, 200}}};
    auto hosts = table_hosts(table);
    assert_int_equal(hosts.size(), 2);
    assert_int_equal(hosts[0].executables.size(), 1);
    JobTable again = table_of(hosts, map);
    assert_true(again.daemons == table.daemons);
    for (std::size_t i = 0; i < 3; ++i) {
        assert_int_equal(again.processes[i].rank, table.processes[i].rank);
        assert_int_equal(again.processes[i].exit_code, table.processes[i].exit_code);
        assert_string_equal(again.processes[i].executable.c_str(), table.processes[i].executable.c_str());
    }
    // A host that there is not, a rank of another host, an executable that there is not.
    hosts[0].processes[0].rank = 1;
    hosts[0].processes[1].executable = 1;
    hosts[1].host = 2;
    assert_true(table_of(hosts, map).processes.empty());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_answered_once),
        cmocka_unit_test(nobody_waits_for_ever),
        cmocka_unit_test(who_asks_meanwhile_is_the_next_question),
        cmocka_unit_test(ranks_come_in_order_and_once),
        cmocka_unit_test(there_are_bounds),
        cmocka_unit_test(a_table_is_the_same_behind_the_wire),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
