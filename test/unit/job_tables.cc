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
    void ask(const std::string &host = "") {
        tables.ask(start, "job", host, 10s, [this](std::int32_t status, const auto &hosts) {
            answers.push_back(status == PMIX_SUCCESS ? static_cast<std::int32_t>(hosts.size()) : status);
        });
    }
    void reply(std::size_t which, std::int32_t status, std::size_t hosts) {
        wire::JobTableReply message;
        message.id = sent[which].id;
        message.status = status;
        message.hosts.resize(hosts);
        tables.on_reply(message);
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
        cmocka_unit_test(there_are_bounds),
        cmocka_unit_test(a_table_is_the_same_behind_the_wire),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
