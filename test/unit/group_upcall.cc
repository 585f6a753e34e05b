// The destruction of a group that libpmix 4.2.3 to 5 hands on twice for one answer (contrib/doc/decisions/groups.md):
// it is asked once, answered once, and not before all hosts have come.
//
// libpmix itself is not started; what the upcall needs of it stands here, with the version of one that does so.
#include "test/unit/upcall_fixture.h"

#include "server-glue/library/library_version.h"

using namespace pmixhost;

extern "C" const char *PMIx_Get_version(void) {
    return "OpenPMIx 5.0.7, repo rev: v5.0.7";
}

namespace {

// The library's object for one answer.
struct Tracker {
    int answers = 0;
    pmix_status_t status = PMIX_SUCCESS;
};

void on_answer(pmix_status_t status, pmix_info_t *, std::size_t, void *data, pmix_release_cbfunc_t release,
               void *object) {
    auto *tracker = static_cast<Tracker *>(data);
    ++tracker->answers;
    tracker->status = status;
    if (release)
        release(object);
}

struct Fixture : UpcallFixture {
    std::vector<GroupAsk> asks;
    Fixture() {
        progress_thread.waits = true;
        take<GroupAsk>([this](GroupAsk &ask) { asks.push_back(std::move(ask)); });
    }
    pmix_status_t destruct(Tracker &tracker, bool local_only = true) {
        pmix_proc_t everyone;
        PMIX_LOAD_PROCID(&everyone, "job", PMIX_RANK_WILDCARD);
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_GROUP_LOCAL_ONLY, nullptr, PMIX_BOOL);
        char name[] = "friends";
        return module_table()->group(PMIX_GROUP_DESTRUCT, name, &everyone, 1, &info, local_only ? 1 : 0, on_answer,
                                     &tracker);
    }
    void answer(std::size_t which, pmix_status_t status) {
        asks[which].reply(status, {});
        through();
    }
};

void two_calls_are_one(void **) {
    assert_true(library_destructs_local_groups_twice());
    Fixture f;
    Tracker tracker;
    assert_int_equal(f.destruct(tracker), PMIX_SUCCESS);
    assert_int_equal(f.destruct(tracker), PMIX_SUCCESS);
    f.through();
    assert_int_equal(f.asks.size(), 1);
    progress_thread.goes_on();
    assert_int_equal(tracker.answers, 0); // other hosts have not come
    f.answer(0, PMIX_ERR_TIMEOUT);
    progress_thread.goes_on();
    assert_int_equal(tracker.answers, 1);
    assert_int_equal(tracker.status, PMIX_ERR_TIMEOUT);
}

// Only libpmix' own thread can answer: it is still between the two calls.
void an_answer_between_the_two_calls(void **) {
    Fixture f;
    Tracker tracker;
    assert_int_equal(f.destruct(tracker), PMIX_SUCCESS);
    f.through();
    f.answer(0, PMIX_SUCCESS);
    assert_int_equal(f.destruct(tracker), PMIX_SUCCESS);
    f.through();
    assert_int_equal(f.asks.size(), 1);
    assert_int_equal(tracker.answers, 0);
    progress_thread.goes_on();
    assert_int_equal(tracker.answers, 1);
}

// A program has given the flag for a group of several hosts: that is handed on once. The library's next object may
// have the same address.
void a_later_one_with_the_same_object(void **) {
    Fixture f;
    Tracker tracker, other;
    for (int i = 1; i <= 3; ++i) {
        assert_int_equal(f.destruct(tracker), PMIX_SUCCESS);
        f.through();
        assert_int_equal(f.asks.size(), i);
        f.answer(f.asks.size() - 1, PMIX_SUCCESS);
        progress_thread.goes_on();
        assert_int_equal(tracker.answers, i);
    }
    // Two of them at a time, each twice.
    for (Tracker *each : {&tracker, &tracker, &other, &other})
        assert_int_equal(f.destruct(*each), PMIX_SUCCESS);
    f.through();
    assert_int_equal(f.asks.size(), 5);
    f.answer(3, PMIX_SUCCESS);
    f.answer(4, PMIX_SUCCESS);
    progress_thread.goes_on();
    assert_int_equal(tracker.answers, 4);
    assert_int_equal(other.answers, 1);
}

void without_the_flag_each_call_is_one(void **) {
    Fixture f;
    Tracker tracker, other;
    assert_int_equal(f.destruct(tracker, false), PMIX_SUCCESS);
    assert_int_equal(f.destruct(other, false), PMIX_SUCCESS);
    f.through();
    assert_int_equal(f.asks.size(), 2);
    f.answer(0, PMIX_SUCCESS);
    f.answer(1, PMIX_SUCCESS);
    assert_int_equal(tracker.answers + other.answers, 2);
    assert_true(progress_thread.given.empty());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(two_calls_are_one),
        cmocka_unit_test(an_answer_between_the_two_calls),
        cmocka_unit_test(a_later_one_with_the_same_object),
        cmocka_unit_test(without_the_flag_each_call_is_one),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
