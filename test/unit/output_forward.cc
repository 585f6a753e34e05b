// The output of a spawned job on its way to who spawned it: one message after the other.
#include "server-glue/iof/output_forward.h"

#include "test/unit/check.h"

#include <optional>
#include <pmix_common.h>
#include <vector>

using namespace pmixhost;

namespace {

struct Forward {
    std::vector<wire::ForwardedOutput> sent;
    std::uint32_t taken = 0;
    std::optional<std::uint64_t> lost;
    OutputForward forward{"parent",
                          3,
                          {[this](wire::ForwardedOutput message) { sent.push_back(std::move(message)); },
                           [this](std::uint32_t cost) { taken += cost; },
                           [this](std::uint64_t bytes) { lost = bytes; }}};
    TimePoint now{};
    void add(const char *bytes) { forward.add({1, wire::stdout_channel, 0, 0, bytes}, 10); }
    void reply(int status) { forward.on_reply(now, {sent.back().id, status}); }
};

void one_message_after_the_other_is_forwarded(void **) {
    Forward f;
    f.add("early");
    assert_true(f.sent.empty() && f.forward.waits());
    f.forward.open();
    assert_int_equal(f.sent.size(), 1);
    assert_int_equal(f.sent[0].host, 3);
    f.add("a");
    f.add("b");
    assert_int_equal(f.sent.size(), 1);
    f.forward.on_reply(f.now, {77, PMIX_SUCCESS}); // of nothing that was asked
    assert_int_equal(f.taken, 0);
    f.reply(PMIX_SUCCESS);
    assert_int_equal(f.taken, 10);
    assert_int_equal(f.sent.size(), 2);
    assert_int_equal(f.sent[1].pieces.size(), 2);
    assert_true(f.sent[0].before == 0 && f.sent[1].before == 1);
    f.reply(PMIX_SUCCESS);
    assert_int_equal(f.taken, 30);
    assert_false(f.forward.waits());
}

void a_parent_that_is_still_to_come_is_asked_again(void **) {
    Forward f;
    f.forward.open();
    f.add("a");
    f.reply(PMIX_ERR_NOT_FOUND);
    f.add("b");
    assert_int_equal(f.sent.size(), 1);
    assert_true(f.forward.next_time() == f.now + OutputForward::comes_look);
    f.now = f.forward.next_time();
    f.forward.on_time(f.now);
    assert_int_equal(f.sent.size(), 2);
    assert_true(f.sent[1].pieces.size() == 2 && f.sent[1].pieces[0].bytes == "a");
    f.forward.on_session_gone(f.now);
    f.now += OutputForward::comes_within;
    f.forward.on_time(f.now);
    assert_int_equal(f.sent.size(), 3);
    f.reply(PMIX_ERR_NOT_FOUND);
    assert_true(f.lost == 2);
    assert_int_equal(f.taken, 20);
    f.add("later");
    assert_int_equal(f.taken, 30); // nobody waits for it
    assert_true(f.forward.next_time() == TimePoint::max());
}

struct ForwardToOneThatWasThere : Forward {
    ForwardToOneThatWasThere() {
        forward.open();
        add("a");
        reply(PMIX_SUCCESS);
        add("bc");
        reply(PMIX_ERR_NOT_FOUND);
        assert_false(lost.has_value());
    }
};

void a_parent_that_was_there_is_waited_for_less_long(void **) {
    ForwardToOneThatWasThere f;
    f.now += OutputForward::returns_within;
    f.forward.on_time(f.now);
    f.reply(PMIX_ERR_NOT_FOUND);
    assert_true(f.lost == 2);
    assert_false(f.forward.waits());
}

// Whether they were taken nobody knows here.
void pieces_that_are_sent_again_are_known_by_their_number(void **) {
    Forward f;
    f.forward.open();
    f.add("a");
    f.reply(PMIX_SUCCESS);
    f.add("b");
    f.forward.on_session_gone(f.now);
    f.add("c");
    f.now = f.forward.next_time();
    f.forward.on_time(f.now);
    assert_int_equal(f.sent.size(), 3);
    assert_true(f.sent[1].before == 1 && f.sent[2].before == 1 && f.sent[2].pieces.size() == 2);
    f.reply(PMIX_SUCCESS);
    f.add("d");
    assert_int_equal(f.sent.back().before, 3);
}

void a_parent_that_was_there_may_come_late_to_a_new_session(void **) {
    ForwardToOneThatWasThere f;
    f.forward.on_session_gone(f.now);
    f.now += OutputForward::returns_within;
    f.forward.on_time(f.now);
    f.reply(PMIX_ERR_NOT_FOUND);
    assert_false(f.lost.has_value());
    f.now += OutputForward::comes_within;
    f.forward.on_time(f.now);
    f.reply(PMIX_ERR_NOT_FOUND);
    assert_true(f.lost == 2);
}

void a_parent_that_has_gone_takes_nothing(void **) {
    Forward f;
    f.forward.open();
    f.add("abc");
    f.reply(PMIX_ERR_LOST_CONNECTION);
    assert_true(f.lost == 3 && f.taken == 10 && !f.forward.waits());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(one_message_after_the_other_is_forwarded),
        cmocka_unit_test(a_parent_that_is_still_to_come_is_asked_again),
        cmocka_unit_test(a_parent_that_was_there_is_waited_for_less_long),
        cmocka_unit_test(a_parent_that_was_there_may_come_late_to_a_new_session),
        cmocka_unit_test(pieces_that_are_sent_again_are_known_by_their_number),
        cmocka_unit_test(a_parent_that_has_gone_takes_nothing),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
