// Published data as the session keeps them for steps: who asked has the answer, and what was published goes with its
// publisher.
#include "server-glue/publish/session_publish.h"

#include "common/wire/session_messages.h"
#include "test/unit/fake_session.h"

#include <pmix_common.h>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct Session final : FakeSession {
    SessionPublish service{*this, 1 << 20};
    Session() {
        connected = {{1, {"a", {0, 1}}}, {2, {"b", {0, 1}}}};
        service.take_messages(messages);
    }
    static Bytes name(HostIndex host) { return "n" + std::to_string(host); }
    void publishes(HostIndex host, const Bytes &key, std::uint8_t persistence = PMIX_PERSIST_INDEF,
                   const Bytes &tool = {}, std::uint32_t rank = 0) {
        wire::PublishRequest request;
        request.id = 9;
        request.rank = tool.empty() ? host : rank;
        request.tool = tool;
        request.host = name(host);
        request.range = PMIX_RANGE_SESSION;
        request.persistence = persistence;
        request.data.push_back({key, "value"});
        says(service, 1, host, request);
    }
    bool finds(const Bytes &key) {
        looks_up(77, 0, key, -1);
        return answer(77, 2, 0) == PMIX_SUCCESS;
    }
    void looks_up(std::uint64_t id, HostIndex host, const Bytes &key, std::int32_t wait, std::uint32_t timeout_ms = 0,
                  const Bytes &tool = {}) {
        wire::LookupRequest request;
        request.tool = tool;
        request.id = id;
        request.host = name(host);
        request.range = PMIX_RANGE_SESSION;
        request.keys = {key};
        request.wait = wait;
        request.timeout_ms = timeout_ms;
        says(service, 2, host, request);
    }
    std::int32_t answer(std::uint64_t id, StepId step, HostIndex host) const {
        auto reply = last<wire::DataReply>();
        assert_int_equal(reply.id, id);
        assert_int_equal(sent.back().step, step);
        assert_int_equal(sent.back().host, host);
        return reply.status;
    }
};

void who_asked_has_the_answer(void **) {
    Session session;
    session.looks_up(5, 1, "key", 0);
    assert_true(session.sent.empty()); // it waits
    session.looks_up(6, 0, "key", -1);
    assert_int_equal(session.answer(6, 2, 0), PMIX_ERR_NOT_FOUND);
    session.publishes(1, "key");
    assert_int_equal(session.sent.size(), 3);
    assert_int_equal(session.answer(9, 1, 1), PMIX_SUCCESS);
    auto found = wire::decode<wire::DataReply>(*session.sent[1].payload);
    assert_int_equal(found->id, 5);
    assert_int_equal(session.sent[1].host, 1);
    assert_false(session.service.idle());
    wire::UnpublishRequest back;
    back.id = 10;
    back.rank = 1;
    back.range = PMIX_RANGE_UNDEF;
    session.says(session.service, 1, 1, back);
    assert_int_equal(session.answer(10, 1, 1), PMIX_SUCCESS);
    assert_true(session.service.idle());
}

void who_waits_has_a_time(void **) {
    Session session;
    session.looks_up(5, 1, "key", 0, 2000);
    session.pass(session.service, 3s);
    assert_int_equal(session.answer(5, 2, 1), PMIX_ERR_TIMEOUT);
    session.publishes(0, "key");
    assert_int_equal(session.sent.size(), 2); // it is not answered again
}

void askers_that_have_gone_are_forgotten(void **) {
    Session session;
    session.looks_up(5, 0, "key", 0);
    session.looks_up(6, 1, "key", 0);
    session.host_goes(session.service, 2, 0);
    session.service.on_step_gone(session.now, 2, "b"); // the other one goes with its step
    session.publishes(0, "key");
    assert_int_equal(session.sent.size(), 1);
}

void what_ended_processes_waited_for_is_forgotten(void **) {
    Session session;
    session.looks_up(5, 1, "key", 0);
    session.looks_up(6, 0, "key", 0);
    wire::ProcessesEnded ended;
    ended.ranks.push_back({0, 0}); // who looks up is rank 0, on whichever host
    session.says(session.service, 2, 1, ended);
    assert_int_equal(session.service.asking(), 1); // that of the host that says so
    session.publishes(0, "key");
    assert_int_equal(session.sent.size(), 1);
}

void what_is_published_goes_with_its_publisher(void **) {
    Session session;
    session.publishes(0, "of a process", PMIX_PERSIST_PROC);
    session.publishes(1, "of another host", PMIX_PERSIST_PROC);
    session.publishes(1, "of the job", PMIX_PERSIST_APP);
    session.publishes(1, "of the session", PMIX_PERSIST_SESSION);
    wire::ProcessesEnded ended;
    ended.ranks.push_back({0, 0});
    session.says(session.service, 1, 0, ended);
    session.looks_up(1, 0, "of a process", -1);
    assert_int_equal(session.answer(1, 2, 0), PMIX_ERR_NOT_FOUND);
    session.looks_up(2, 0, "of another host", -1);
    assert_int_equal(session.answer(2, 2, 0), PMIX_SUCCESS);
    session.host_goes(session.service, 1, 1);
    session.looks_up(3, 0, "of another host", -1);
    assert_int_equal(session.answer(3, 2, 0), PMIX_ERR_NOT_FOUND);
    session.looks_up(4, 0, "of the job", -1);
    assert_int_equal(session.answer(4, 2, 0), PMIX_SUCCESS);
    session.host_goes(session.service, 1, 0);
    session.looks_up(5, 0, "of the job", -1);
    assert_int_equal(session.answer(5, 2, 0), PMIX_ERR_NOT_FOUND);
    session.looks_up(6, 0, "of the session", -1);
    assert_int_equal(session.answer(6, 2, 0), PMIX_SUCCESS);
}

void what_a_tool_publishes_is_its_own(void **) {
    Session session;
    session.publishes(0, "key", PMIX_PERSIST_SESSION, "tool");
    session.looks_up(1, 0, "key", -1);
    assert_string_equal(session.last<wire::DataReply>().found.at(0).nspace.c_str(), "tool");
    wire::UnpublishRequest back;
    back.range = PMIX_RANGE_UNDEF;
    back.keys = {"key"};
    session.says(session.service, 1, 0, back); // the process that has its rank
    assert_int_equal(session.last<wire::DataReply>().status, PMIX_ERR_NOT_FOUND);
    back.tool = "tool";
    session.says(session.service, 2, 1, back); // by way of another step
    assert_int_equal(session.last<wire::DataReply>().status, PMIX_SUCCESS);
    assert_true(session.service.idle());
}

void it_goes_with_the_tool(void **) {
    Session session;
    session.publishes(0, "of a process", PMIX_PERSIST_PROC, "tool", 1);
    session.publishes(0, "of the tool", PMIX_PERSIST_APP, "tool", 1);
    session.publishes(0, "of its session", PMIX_PERSIST_SESSION, "tool", 1);
    session.publishes(0, "of its fellow", PMIX_PERSIST_APP, "tool", 2);
    session.publishes(1, "elsewhere", PMIX_PERSIST_PROC, "tool", 1);
    session.says(session.service, 1, 0, wire::ToolEnded{"tool", 1});
    assert_true(session.finds("of a process")); // another host has it still
    session.says(session.service, 1, 1, wire::ToolEnded{"tool", 1});
    assert_false(session.finds("of a process"));
    assert_false(session.finds("elsewhere"));
    assert_true(session.finds("of the tool")); // which is two
    session.says(session.service, 1, 0, wire::ToolEnded{"tool", 2});
    assert_false(session.finds("of the tool"));
    assert_false(session.finds("of its fellow"));
    assert_true(session.finds("of its session"));
    session.says(session.service, 1, 0, wire::ToolEnded{"nobody", 2});
    session.says(session.service, 1, 0, wire::ToolEnded{"tool", 1});
    assert_true(session.finds("of its session"));
}

void it_goes_with_the_tools_host(void **) {
    Session session;
    session.publishes(0, "one", PMIX_PERSIST_PROC, "one");
    session.publishes(1, "two", PMIX_PERSIST_APP, "two");
    session.host_goes(session.service, 1, 0);
    assert_false(session.finds("one"));
    assert_true(session.finds("two"));
    session.service.on_step_gone(session.now, 1, "a"); // that of the other one was not told
    assert_false(session.finds("two"));
}

void no_tool_passes_for_a_job(void **) {
    Session session;
    session.publishes(0, "of a job", PMIX_PERSIST_APP);
    for (const Bytes name : {"a", "b"}) { // "b" has published nothing yet
        session.publishes(1, "of a tool", PMIX_PERSIST_SESSION, name, 0);
        assert_int_equal(session.answer(9, 1, 1), PMIX_ERR_NO_PERMISSIONS);
        session.looks_up(5, 1, "of a job", -1, 0, name);
        assert_int_equal(session.answer(5, 2, 1), PMIX_ERR_NO_PERMISSIONS);
        wire::UnpublishRequest back;
        back.id = 6;
        back.tool = name;
        back.range = PMIX_RANGE_UNDEF;
        session.says(session.service, 1, 1, back);
        assert_int_equal(session.answer(6, 1, 1), PMIX_ERR_NO_PERMISSIONS);
        session.says(session.service, 1, 1, wire::ToolEnded{name, 0});
    }
    assert_true(session.finds("of a job"));
    assert_false(session.finds("of a tool"));
    // One whose namesake comes later leaves that one alone.
    session.publishes(1, "of c", PMIX_PERSIST_SESSION, "c", 0);
    session.connected[3] = {"c", {0}};
    session.says(session.service, 1, 1, wire::ToolEnded{"c", 0});
    assert_true(session.finds("of c"));
}

void what_a_tool_waited_for_is_forgotten(void **) {
    Session session;
    session.looks_up(5, 1, "key", 0, 0, "tool");
    session.looks_up(6, 1, "key", 0);
    session.says(session.service, 2, 1, wire::ToolEnded{"tool", 0});
    session.publishes(0, "key");
    assert_int_equal(session.sent.size(), 2);
    assert_int_equal(wire::decode<wire::DataReply>(*session.sent[0].payload)->id, 6);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(who_asked_has_the_answer),
        cmocka_unit_test(who_waits_has_a_time),
        cmocka_unit_test(askers_that_have_gone_are_forgotten),
        cmocka_unit_test(what_ended_processes_waited_for_is_forgotten),
        cmocka_unit_test(what_is_published_goes_with_its_publisher),
        cmocka_unit_test(what_a_tool_publishes_is_its_own),
        cmocka_unit_test(it_goes_with_the_tool),
        cmocka_unit_test(it_goes_with_the_tools_host),
        cmocka_unit_test(no_tool_passes_for_a_job),
        cmocka_unit_test(what_a_tool_waited_for_is_forgotten),
    };
    return cmocka_run_group_tests_name("session publish", tests, nullptr, nullptr);
}
