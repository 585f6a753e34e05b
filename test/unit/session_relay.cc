// What steps ask each other through the session: questions find their step and one of its hosts, answers their asker,
// and nobody waits for who has gone.
#include "server-glue/cross_job/session_relay.h"

#include "common/wire/all_messages.h"
#include "test/unit/fake_session.h"

#include <pmix_common.h>

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct Session final : FakeSession {
    SessionRelay relay{*this};
    Session() {
        connected = {{1, {"a", {0, 1}}}, {2, {"b", {0, 1, 2}}}};
        relay.take_messages(messages);
    }
    template <typename Message> void says(StepId step, HostIndex host, const Message &message) {
        FakeSession::says(relay, step, host, message);
    }
    void asks(std::uint64_t id, const Bytes &nspace, std::uint32_t timeout_ms = 1000) {
        wire::ModexRequest request;
        request.id = id;
        request.nspace = nspace;
        request.rank = 7;
        request.timeout_ms = timeout_ms;
        says(1, 1, request);
    }
    // The last message is the answer to (1, 1).
    std::int32_t refused(std::uint64_t id) const {
        auto reply = last<wire::ModexReply>();
        assert_int_equal(sent.back().step, 1);
        assert_int_equal(sent.back().host, 1);
        assert_int_equal(reply.id, id);
        return reply.status;
    }
};

void a_question_goes_there_and_its_answer_back(void **) {
    Session session;
    session.asks(77, "b");
    auto question = session.last<wire::ModexRequest>();
    HostIndex asked = session.sent.back().host;
    assert_int_equal(session.sent.back().step, 2);
    assert_int_equal(question.rank, 7);
    wire::ModexReply reply;
    reply.id = question.id;
    reply.data = "data";
    session.says(1, 0, reply); // who was not asked has no answer
    assert_int_equal(session.sent.size(), 1);
    session.says(2, asked, wire::JobEndReply{question.id, 0, 0}); // and this is none
    assert_int_equal(session.sent.size(), 1);
    session.says(2, asked, reply);
    assert_int_equal(session.refused(77), PMIX_SUCCESS);
    assert_true(session.last<wire::ModexReply>().data == "data");
    session.says(2, asked, reply); // once
    assert_int_equal(session.sent.size(), 2);
    assert_true(session.relay.next_time() == TimePoint::max());
}

void the_load_is_spread_but_tables_are_gathered_once(void **) {
    Session session;
    std::set<HostIndex> asked;
    for (int i = 0; i < 3; ++i) {
        session.asks(i, "b");
        asked.insert(session.sent.back().host);
    }
    assert_int_equal(asked.size(), 3);
    wire::JobTableRequest table;
    table.nspace = "b";
    for (int i = 0; i < 3; ++i) {
        session.says(1, 0, table);
        session.last<wire::JobTableRequest>();
        assert_int_equal(session.sent.back().host, 0);
    }
}

void what_names_a_host_goes_to_it(void **) {
    Session session;
    wire::ForwardedOutput output;
    output.id = 5;
    output.nspace = "b";
    output.host = 2;
    output.source = "c"; // which it is not
    session.says(1, 0, output);
    assert_true(session.last<wire::ForwardedOutput>().source == "a");
    assert_int_equal(session.sent.back().host, 2);
    assert_true(session.relay.next_time() == TimePoint::max()); // people may take any time
    output.host = 3;
    session.says(1, 0, output);
    assert_int_equal(session.last<wire::ForwardedOutputTaken>().status, PMIX_ERR_NOT_FOUND);
}

void a_step_that_is_not_here_is_called(void **) {
    Session session;
    session.asks(1, "c");
    assert_true(session.sent.empty());
    assert_true(session.calls.at(0).first == (std::set<Bytes>{"a", "b"}));
    session.calls[0].second(session.now, {true, {"c"}});
    session.connected[3] = {"c", {0}};
    session.relay.heard(session.now, session.member(3));
    session.last<wire::ModexRequest>();
    assert_int_equal(session.sent.back().step, 3);

    session.asks(2, "d"); // the RM knows of none
    session.calls.at(1).second(session.now, {true, {}});
    assert_int_equal(session.refused(2), PMIX_ERR_NOT_FOUND);

    // Whether a job has ended is not known where it cannot be told that there is none.
    session.says(1, 1, wire::JobEndRequest{3, "e"});
    session.calls.at(2).second(session.now, {});
    session.pass(session.relay, 60s);
    assert_int_equal(session.last<wire::JobEndReply>().status, PMIX_ERR_UNREACH);
    session.says(1, 1, wire::JobEndRequest{4, "f"});
    session.calls.at(3).second(session.now, {true, {}});
    assert_int_equal(session.last<wire::JobEndReply>().status, PMIX_ERR_NOT_FOUND);
}

void who_has_gone_is_not_waited_for(void **) {
    Session session;
    session.asks(1, "b");
    HostIndex asked = session.sent.back().host;
    session.host_goes(session.relay, 2, (asked + 1) % 3);
    assert_int_equal(session.sent.size(), 1);
    // Another one of its hosts knows as much; until none is left.
    session.host_goes(session.relay, 2, asked);
    assert_int_equal(session.last<wire::ModexRequest>().rank, 7);
    assert_int_equal(session.sent.back().host, (asked + 2) % 3);
    session.host_goes(session.relay, 2, (asked + 2) % 3);
    assert_int_equal(session.refused(1), PMIX_ERR_LOST_CONNECTION);
    session.connected[2] = {"b", {0, 1, 2}};
    session.asks(2, "b");
    session.relay.on_step_gone(session.now, 2, "b"); // all at once
    assert_int_equal(session.refused(2), PMIX_ERR_LOST_CONNECTION);
    // An asker that has gone hears nothing.
    session.asks(3, "b");
    auto before = session.sent.size();
    session.host_goes(session.relay, 1, 1);
    session.relay.on_step_gone(session.now, 2, "b");
    assert_int_equal(session.sent.size(), before);
    assert_true(session.relay.next_time() == TimePoint::max());
}

void an_answer_that_never_comes_is_forgotten(void **) {
    Session session;
    session.asks(1, "b", 5000);
    auto question = session.last<wire::ModexRequest>();
    HostIndex asked = session.sent.back().host;
    session.pass(session.relay, 5s + SessionRelay::find_patience + 1ms);
    wire::ModexReply reply;
    reply.id = question.id;
    session.says(2, asked, reply);
    assert_int_equal(session.sent.size(), 1);
    session.asks(2, "b", UINT32_MAX); // for ever
    assert_true(session.relay.next_time() == TimePoint::max());
}

void questions_are_bounded(void **) {
    Session session;
    for (std::size_t i = 0; i < SessionRelay::max_relayed; ++i)
        session.asks(i, "b");
    session.last<wire::ModexRequest>();
    session.asks(1, "b");
    assert_int_equal(session.refused(1), PMIX_ERR_OUT_OF_RESOURCE);
}

template <typename Reply> int is_relayed() {
    if constexpr (requires { Reply::relayed; }) {
        using Question = typename Reply::Answers;
        Session session;
        Question question;
        question.id = 5;
        question.nspace = "b";
        session.says(1, 0, question);
        Reply reply;
        reply.id = session.last<Question>().id;
        assert_int_equal(session.sent.back().step, 2);
        session.says(2, session.sent.back().host, reply);
        assert_int_equal(session.last<Reply>().id, 5);
        assert_int_equal(session.sent.back().step, 1);
        return 1;
    }
    return 0;
}
template <typename... All> int count_relayed(std::tuple<All...> *) {
    return (is_relayed<All>() + ...);
}

void what_says_that_it_answers_is_relayed(void **) {
    assert_in_range(count_relayed(static_cast<wire::AllMessages *>(nullptr)), 7, 100);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_question_goes_there_and_its_answer_back),
        cmocka_unit_test(the_load_is_spread_but_tables_are_gathered_once),
        cmocka_unit_test(what_names_a_host_goes_to_it),
        cmocka_unit_test(a_step_that_is_not_here_is_called),
        cmocka_unit_test(who_has_gone_is_not_waited_for),
        cmocka_unit_test(an_answer_that_never_comes_is_forgotten),
        cmocka_unit_test(questions_are_bounded),
        cmocka_unit_test(what_says_that_it_answers_is_relayed),
    };
    return cmocka_run_group_tests_name("session relay", tests, nullptr, nullptr);
}
