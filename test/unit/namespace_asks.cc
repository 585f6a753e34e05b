// What is known of another namespace: asked for once for all who wait, and found in the session, which calls
// those that have not come.
#include "server-glue/cross_job/namespace_asks.h"
#include "server-glue/cross_job/step_finder.h"

#include <pmix_common.h>
#include <set>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const TimePoint start = TimePoint() + 1000s;

struct Asker {
    std::vector<wire::NamespaceRequest> sent;
    bool session = true;
    std::vector<std::pair<std::int32_t, Bytes>> answers; // status, namespace
    NamespaceAsks asks{[this](std::uint8_t type, SharedBytes payload) {
        assert_int_equal(type, wire::NamespaceRequest::type);
        if (session)
            sent.push_back(*wire::decode<wire::NamespaceRequest>(*payload));
        return session;
    }};
    void ask(const Bytes &nspace, TimePoint deadline = TimePoint::max()) {
        asks.ask(nspace, deadline, [this](std::int32_t status, const wire::NamespaceInfo *info) {
            answers.emplace_back(status, info ? info->nspace : Bytes());
        });
    }
    void reply(std::size_t question, std::int32_t status, const Bytes &nspace) {
        wire::NamespaceReply message;
        message.id = sent.at(question).id;
        message.status = status;
        message.info.nspace = nspace;
        asks.on_reply(message);
    }
};

void one_question_for_all(void **) {
    Asker asker;
    asker.ask("b");
    asker.ask("b");
    asker.ask("c");
    assert_int_equal(asker.sent.size(), 2);
    asker.reply(0, PMIX_SUCCESS, "b");
    assert_int_equal(asker.answers.size(), 2);
    assert_true(asker.answers[1] == std::pair(std::int32_t{PMIX_SUCCESS}, Bytes("b")));
    asker.reply(0, PMIX_SUCCESS, "b"); // a second answer is nobody's
    asker.reply(1, PMIX_ERR_NOT_FOUND, "");
    assert_int_equal(asker.answers.size(), 3);
    assert_int_equal(asker.answers[2].first, PMIX_ERR_NOT_FOUND);
    asker.ask("b"); // it may have come to be
    assert_int_equal(asker.sent.size(), 3);
}

void what_speaks_of_another_is_not_believed(void **) {
    Asker asker;
    asker.ask("b");
    asker.reply(0, PMIX_SUCCESS, "c");
    assert_int_equal(asker.answers.at(0).first, PMIX_ERR_NOT_FOUND);
}

void every_wait_ends(void **) {
    Asker asker;
    asker.ask("b", start + 1s);
    asker.ask("b", start + 3s);
    assert_true(asker.asks.next_time() == start + 1s);
    asker.asks.on_time(start + 1s);
    assert_int_equal(asker.answers.size(), 1);
    assert_int_equal(asker.answers[0].first, PMIX_ERR_TIMEOUT);
    asker.asks.on_session_gone();
    assert_int_equal(asker.answers.at(1).first, PMIX_ERR_LOST_CONNECTION);
    assert_true(asker.asks.next_time() == TimePoint::max());
    asker.session = false;
    asker.ask("b");
    assert_int_equal(asker.answers.at(2).first, PMIX_ERR_NOT_FOUND);
}

using enum StepFinder::Where;
using Places = std::vector<StepFinder::Where>;

struct Session {
    std::set<Bytes> present;
    std::vector<std::function<void(TimePoint, CalledSteps)>> calls;
    std::vector<StepFinder::Where> found;
    StepFinder finder{{[this](const Bytes &nspace) { return present.contains(nspace); },
                       [this](auto done) { calls.push_back(std::move(done)); }}};
    void find(const Bytes &nspace, TimePoint deadline = TimePoint::max()) {
        finder.find(start, nspace, deadline, [this](StepFinder::Where where) { found.push_back(where); });
    }
};

void who_is_here_is_found_at_once(void **) {
    Session session;
    session.present = {"b"};
    session.find("b");
    assert_true((session.found == Places{here}));
    assert_true(session.calls.empty());
}

void who_is_called_comes(void **) {
    Session session;
    session.find("b");
    session.find("b");
    assert_int_equal(session.calls.size(), 1);
    session.calls[0](start, {true, {"b", "c"}});
    assert_true(session.found.empty());
    session.present = {"b"};
    session.finder.heard("b");
    assert_true(session.found == (Places{here, here}));
    assert_true(session.finder.next_time() == TimePoint::max());
}

void who_does_not_exist_is_not_waited_for(void **) {
    Session session;
    session.find("b");
    session.calls[0](start, {true, {"c"}, {"c"}});
    assert_true((session.found == Places{none}));
    session.find("b"); // nobody tells who exists
    session.calls[1](start, {});
    assert_true(session.finder.next_time() == start + StepFinder::short_grace);
    session.finder.on_time(start + StepFinder::short_grace);
    assert_true((session.found == Places{none, unknown}));
    session.find("b"); // called, and does not come
    session.calls[2](start, {true, {"b"}});
    session.finder.on_time(start + StepFinder::grace);
    session.find("b"); // runs, and cannot be called
    session.calls[3](start, {true, {"c"}, {"b", "c"}});
    assert_true((session.found == Places{none, unknown, unknown, unknown}));
}

void a_call_that_is_not_answered_ends_with_the_deadline(void **) {
    Session session;
    session.find("b", start + 1s);
    session.finder.on_time(start + 1s);
    assert_true((session.found == Places{unknown}));
    session.calls[0](start + 2s, {true, {"b"}}); // for nobody
    assert_int_equal(session.found.size(), 1);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_question_for_all),
        cmocka_unit_test(what_speaks_of_another_is_not_believed),
        cmocka_unit_test(every_wait_ends),
        cmocka_unit_test(who_is_here_is_found_at_once),
        cmocka_unit_test(who_is_called_comes),
        cmocka_unit_test(who_does_not_exist_is_not_waited_for),
        cmocka_unit_test(a_call_that_is_not_answered_ends_with_the_deadline),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
