// What the host's own events say of what is ended.
#include "server-glue/events/host_events.h"

#include "common/wire/codec.h"
#include "test/unit/check.h"

#include <algorithm>
#include <pmix_common.h>

using namespace pmixhost;

namespace {

const pmix_value_t *value_of(const HostEvent &event, const char *key) {
    for (const pmix_info_t &info : event.info->all()) {
        if (PMIX_CHECK_KEY(&info, key))
            return &info.value;
    }
    return nullptr;
}

std::string ended_for(const HostEvent &event) {
    std::string out;
    for (const char *key : {PMIX_EVENT_TERMINATE_SESSION, PMIX_EVENT_TERMINATE_JOB, PMIX_EVENT_TERMINATE_NODE,
                            PMIX_EVENT_TERMINATE_PROC}) {
        const pmix_value_t *value = value_of(event, key);
        if (value && value->type == PMIX_BOOL && value->data.flag)
            out += key;
    }
    return out;
}

const JobMap &two_hosts() {
    static const JobMap map = *JobMap::create({"a", "b"}, {{0, 1}, {2, 3}});
    return map;
}

void a_lost_host_ends_the_job_or_what_ran_there(void **) {
    wire::HostReport report;
    report.host = 1;
    report.lost = 1;
    for (bool lives_on : {false, true}) {
        auto events = events_of(report, two_hosts(), "job", lives_on);
        assert_int_equal(events.size(), 1);
        assert_string_equal(ended_for(events[0]).c_str(),
                            lives_on ? PMIX_EVENT_TERMINATE_NODE : PMIX_EVENT_TERMINATE_JOB);
    }
}

void ends_say_whether_the_job_is_ended(void **) {
    wire::HostReport report;
    report.processes = {{0, PMIX_ERR_PROC_ABORTED, 0, 3, 1}, {1, PMIX_ERR_PROC_ABORTED, 0, 3, 0}};
    auto events = events_of(report, two_hosts(), "job", false);
    assert_int_equal(events.size(), 2);
    assert_string_equal(ended_for(events[0]).c_str(), PMIX_EVENT_TERMINATE_JOB);
    assert_string_equal(ended_for(events[1]).c_str(), "");
    assert_true(speaks_for_rm(*events[0].info));
    assert_false(speaks_for_rm(*events[1].info));
}

void an_abort_names_who_is_ended(void **) {
    auto all = abort_events({{"job", 3, false}, {}, false, 7, "why", "b", 1}, "job");
    assert_int_equal(all.size(), 1);
    assert_int_equal(all[0].code, PMIX_ERR_PROC_REQUESTED_ABORT);
    assert_int_equal(all[0].source.rank, 3);
    assert_string_equal(ended_for(all[0]).c_str(), PMIX_EVENT_TERMINATE_JOB);
    assert_int_equal(value_of(all[0], PMIX_EVENT_AFFECTED_PROC)->data.proc->rank, PMIX_RANK_WILDCARD);
    assert_int_equal(value_of(all[0], PMIX_EXIT_CODE)->data.integer, 7);
    assert_string_equal(value_of(all[0], PMIX_EVENT_TEXT_MESSAGE)->data.string, "why");

    auto one = abort_events({{"a.tool", 0, false}, {2}, false, 0, "", "b", 1}, "job");
    assert_int_equal(one.size(), 1);
    assert_string_equal(one[0].source.nspace, "job");
    assert_int_equal(one[0].source.rank, PMIX_RANK_UNDEF);
    assert_string_equal(ended_for(one[0]).c_str(), PMIX_EVENT_TERMINATE_PROC);
    assert_int_equal(value_of(one[0], PMIX_EVENT_AFFECTED_PROC)->data.proc->rank, 2);
    assert_null(value_of(one[0], PMIX_EVENT_TEXT_MESSAGE));
    assert_string_equal(ended_for(abort_events({{"job", 0, false}, {2}, true, 0, "", "b", 1}, "job")[0]).c_str(),
                        PMIX_EVENT_TERMINATE_JOB);

    std::vector<Rank> many(300);
    auto some = abort_events({{"job", 0, false}, many, false, 0, "", "b", 1}, "job");
    assert_int_equal(some.size(), 2);
    assert_int_equal(value_of(some[1], PMIX_EVENT_AFFECTED_PROCS)->data.darray->size, 44);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_host_ends_the_job_or_what_ran_there),
        cmocka_unit_test(ends_say_whether_the_job_is_ended),
        cmocka_unit_test(an_abort_names_who_is_ended),
    };
    return cmocka_run_group_tests_name("host_events", tests, nullptr, nullptr);
}
