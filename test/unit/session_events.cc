// Events between the steps of an allocation, as the session hands them on.
#include "server-glue/events/session_events.h"

#include "common/wire/session_messages.h"
#include "test/unit/fake_session.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

struct Session final : FakeSession {
    struct Got {
        StepId step;
        HostIndex host;
        int code;
    };
    std::vector<Got> got;
    std::vector<std::pair<StepId, HostIndex>> appointed;
    int drops = 0;
    SessionEvents events;

    explicit Session(SessionEvents::Limits limits = {}) : events(*this, limits, [this](const Bytes &) { ++drops; }) {}
    using SessionPeers::send;
    bool send(StepId step, HostIndex host, std::uint8_t type, SharedBytes payload) override {
        if (broken.contains({step, host}))
            return false;
        if (type == wire::StepDelegate::type)
            appointed.push_back({step, host});
        else
            got.push_back({step, host, wire::decode<wire::CrossJobEvent>(*payload)->status});
        return true;
    }

    void heard(StepId step, HostIndex host = 0) { events.heard(now, {step, host, name(step)}); }
    void comes_again(StepId step, StepId as, HostIndex host) { events.heard(now, {as, host, name(step)}); }
    void host_gone(StepId step, HostIndex host, std::vector<HostIndex> others) {
        connected[step] = {name(step), std::move(others)};
        events.on_host_gone(now, {step, host, name(step)}, true);
    }
    void step_gone(StepId step) { events.on_step_gone(now, step, name(step)); }
    void pass(Duration time) { FakeSession::pass(events, time); }
    void notify(StepId step, int code, std::vector<Bytes> nspaces = {}, bool related = false, Bytes once = {}) {
        wire::CrossJobEvent event;
        event.status = code;
        event.nspaces = std::move(nspaces);
        event.related = related;
        event.once = std::move(once);
        heard(step);
        events.on_event(now, step, event);
    }
    static Bytes name(StepId step) { return "step" + std::to_string(step); }
    std::vector<int> of(StepId step) const {
        std::vector<int> codes;
        for (const auto &one : got) {
            if (one.step == step)
                codes.push_back(one.code);
        }
        return codes;
    }
};

using Codes = std::vector<int>;

void all_others_get_each_once_and_in_order(void **) {
    Session session;
    for (int step : {1, 2, 3})
        session.heard(step, 7);
    for (int code : {1, 2, 3})
        session.notify(1, code);
    session.notify(2, 4);
    assert_true(session.of(1) == (Codes{4}));
    assert_true(session.of(2) == (Codes{1, 2, 3}));
    assert_true(session.of(3) == (Codes{1, 2, 3, 4}));
    for (const auto &one : session.got)
        assert_int_equal(one.host, 7); // the first that spoke
    session.heard(3, 1);
    session.notify(1, 5);
    assert_int_equal(session.got.back().host, 7);
}

void a_step_that_comes_later_gets_what_is_kept(void **) {
    Session session({3, 1 << 20, 120s, 1 << 20});
    for (int code : {1, 2, 3, 4})
        session.notify(1, code);
    session.heard(2);
    assert_true(session.of(2) == (Codes{2, 3, 4}));
    session.step_gone(2);
    session.notify(1, 5);
    session.heard(9);              // another one
    session.comes_again(2, 12, 0); // the same one, come again
    assert_true(session.of(9) == (Codes{3, 4, 5}));
    assert_true(session.of(12) == (Codes{5}));
    session.pass(121s);
    assert_true(session.events.idle());
    session.heard(10);
    assert_true(session.of(10).empty());
    assert_true(session.events.next_time() == TimePoint::max());
}

void who_has_gone_is_remembered_as_long_as_it_matters(void **) {
    Session session({3, 1 << 20, 120s, 1 << 20});
    for (int step = 10; step < 20; ++step) { // before there is any event
        session.heard(step);
        session.step_gone(step);
    }
    assert_int_equal(session.events.hearers(), 0);
    session.heard(2);
    session.notify(1, 1);
    session.step_gone(2);
    session.heard(3);
    session.step_gone(3);
    assert_int_equal(session.events.hearers(), 3);
    session.notify(1, 2);
    session.notify(1, 3);
    session.comes_again(2, 12, 0);
    assert_true(session.of(12) == (Codes{2, 3})); // not the first one again
    session.step_gone(12);
    session.notify(1, 4); // the first one is no longer kept, so it is all the same who of the two has had it
    session.comes_again(3, 13, 0);
    assert_true(session.of(13) == (Codes{2, 3, 4}));
    for (int code : {5, 6, 7})
        session.notify(1, code);
    assert_int_equal(session.events.hearers(), 2); // those that are here
    session.comes_again(2, 22, 0);
    assert_true(session.of(22) == (Codes{5, 6, 7}));
}

void steps_are_called_while_something_is_kept(void **) {
    Session session;
    session.heard(1);
    session.pass(1000s);
    assert_true(session.calls.empty()); // nothing to say
    session.notify(1, 1);
    assert_int_equal(session.calls.size(), 1);
    assert_true(session.calls[0].first == (std::set<Bytes>{"step1"}));
    assert_false(static_cast<bool>(session.calls[0].second)); // nobody waits: the RM need not be asked again
    for (int i = 0; i < 10'000; ++i)
        session.notify(1, 2);
    assert_int_equal(session.calls.size(), 1); // a storm is no reason
    session.pass(10s);
    assert_in_range(session.calls.size(), 3, 8);
    session.pass(111s);
    assert_in_range(session.calls.size(), 6, 16);
    auto before = session.calls.size();
    session.pass(1000s);
    assert_int_equal(session.calls.size(), before);
    session.notify(1, 3);
    assert_int_equal(session.calls.size(), before + 1);
    // Events that never cease: seven calls in the first half minute, then one in each.
    before = session.calls.size();
    for (int second = 0; second < 600; ++second) {
        session.notify(1, second);
        session.pass(1s);
    }
    assert_in_range(session.calls.size() - before, 20, 7 + 20);
    session.pass(30s);
    before = session.calls.size();
    session.pass(30s);
    assert_int_equal(session.calls.size(), before + 1); // and no fewer
}

void those_that_are_named_need_no_call(void **) {
    Session session;
    session.heard(2);
    session.heard(3);
    session.notify(1, 1, {"step2"});
    assert_true(session.calls.empty());
    assert_true(session.of(2) == (Codes{1}) && session.of(3).empty());
    session.notify(1, 2, {"step2", "step8"});
    assert_int_equal(session.calls.size(), 1);
    session.heard(8);
    assert_true(session.of(8) == (Codes{2}));
}

void the_next_host_hears_for_its_step(void **) {
    Session session;
    session.heard(1, 4);
    session.notify(2, 1);
    session.broken = {{1, 4}};
    session.notify(2, 2);
    session.notify(2, 3);
    session.host_gone(1, 5, {4});
    assert_true(session.of(1) == (Codes{1}));
    session.host_gone(1, 4, {4, 6});
    assert_true(session.of(1) == (Codes{1, 2, 3}));
    assert_int_equal(session.got.back().host, 6);
    session.notify(2, 4);
    assert_true(session.of(1) == (Codes{1, 2, 3, 4}));
    // It speaks for its step, too.
    std::vector<std::pair<Session::StepId, HostIndex>> speakers{{1, 4}, {2, 0}, {1, 6}};
    assert_true(session.appointed == speakers);

    // None is left, but one is just connecting.
    session.broken.insert({1, 6});
    session.host_gone(1, 6, {});
    session.notify(2, 5);
    session.heard(1, 7);
    assert_true(session.of(1) == (Codes{1, 2, 3, 4, 5}));
    assert_int_equal(session.got.back().host, 7);
    speakers.push_back({1, 7});
    assert_true(session.appointed == speakers);
}

void what_is_told_once_is_bounded(void **) {
    Session session;
    session.heard(2);
    session.events.connected("step1", "step2");
    for (int i = 0; i < 20'000; ++i)
        session.notify(1, i, {}, true, std::to_string(i));
    assert_int_equal(session.of(2).size(), 20'000); // none is lost
    session.notify(1, 7, {}, true, "19999");
    assert_int_equal(session.of(2).size(), 20'000);
    RecentNames names(2);
    assert_true(names.insert("z") && names.insert("a") && !names.insert("z") && names.insert("m"));
    assert_true(!names.contains("z") && names.contains("a") && names.contains("m")); // the oldest went
}

void only_those_who_are_connected(void **) {
    Session session;
    for (int step : {1, 2, 3})
        session.heard(step);
    session.notify(1, 1, {}, true, "a");
    assert_true(session.got.empty() && session.events.idle());
    session.events.connected("step1", "step2");
    session.events.connected("step2", "step1");
    session.notify(1, 2, {}, true, "b");
    session.notify(1, 2, {}, true, "b"); // as another host saw it
    assert_true(session.of(2) == (Codes{2}) && session.of(3).empty());
    session.notify(2, 3, {}, true, "b"); // another namespace's
    assert_true(session.of(1) == (Codes{3}));
    session.events.disconnected("step1", "step2");
    session.notify(1, 4, {}, true, "c");
    assert_true(session.of(2) == (Codes{2}));
    assert_true(session.calls.empty());
}

// As when the end of a step's last process is told by a host whose connection was being made while the others left.
void a_step_that_comes_again_is_still_connected(void **) {
    Session session({512, 1 << 20, 120s, 1 << 20});
    session.heard(1);
    session.heard(2);
    session.events.connected("step1", "step2");
    session.events.connected("step2", "step1");
    session.step_gone(1);
    session.comes_again(1, 11, 1);
    wire::CrossJobEvent event;
    event.status = 1;
    event.related = 1;
    session.events.on_event(session.now, 11, event);
    assert_true(session.of(2) == (Codes{1}));
    session.notify(2, 2, {}, true);
    assert_true(session.of(11) == (Codes{2}));
    // It is remembered as long as events are, and not while it is there.
    session.now += 1000s;
    session.heard(3);
    session.step_gone(3);
    session.notify(2, 3, {}, true);
    assert_true(session.of(11) == (Codes{2, 3}));
    session.step_gone(11);
    session.now += 121s;
    session.events.connected("step3", "step2");
    session.heard(4);
    session.events.connected("step4", "step2");
    session.step_gone(4);
    session.comes_again(1, 12, 1);
    auto before = session.got.size();
    session.events.on_event(session.now, 12, event);
    session.notify(2, 4, {}, true);
    assert_int_equal(session.got.size(), before);
}

void a_step_that_does_not_read_holds_nobody_up(void **) {
    Session session({10'000, 1 << 20, 120s, 1 << 20});
    session.heard(2);
    session.heard(3);
    session.waiting[2] = 1 << 20;
    for (int i = 0; i < 100; ++i)
        session.notify(1, i);
    assert_true(session.of(2).empty());
    assert_int_equal(session.of(3).size(), 100);
    assert_int_equal(session.drops, 100);
    session.waiting[2] = 0;
    session.notify(1, 100);
    assert_true(session.of(2) == (Codes{100}));
}

void what_is_kept_has_a_size(void **) {
    Session session({10'000, 1000, 120s, 1 << 20});
    for (int i = 0; i < 1000; ++i)
        session.notify(1, i);
    session.heard(2);
    auto codes = session.of(2);
    assert_in_range(codes.size(), 5, 30);
    assert_int_equal(codes.back(), 999);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(all_others_get_each_once_and_in_order),
        cmocka_unit_test(a_step_that_comes_later_gets_what_is_kept),
        cmocka_unit_test(who_has_gone_is_remembered_as_long_as_it_matters),
        cmocka_unit_test(steps_are_called_while_something_is_kept),
        cmocka_unit_test(those_that_are_named_need_no_call),
        cmocka_unit_test(the_next_host_hears_for_its_step),
        cmocka_unit_test(what_is_told_once_is_bounded),
        cmocka_unit_test(only_those_who_are_connected),
        cmocka_unit_test(a_step_that_comes_again_is_still_connected),
        cmocka_unit_test(a_step_that_does_not_read_holds_nobody_up),
        cmocka_unit_test(what_is_kept_has_a_size),
    };
    return cmocka_run_group_tests_name("session events", tests, nullptr, nullptr);
}
