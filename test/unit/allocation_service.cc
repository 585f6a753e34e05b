// PMIx_Allocation_request: which requests make sense, that each gets one answer, and who is given up.
#include "server-glue/allocation/allocation_service.h"

#include "server-glue/library/info_list.h"

#include <cstring>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const TimePoint start{};

struct World final : AllocationPort {
    std::map<std::uint64_t, RmAllocation> asked;
    std::map<std::uint64_t, std::function<void(Result<RmAllocated>)>> done;
    std::vector<std::uint64_t> abandoned;
    TimePoint deadline;
    std::string log;
    std::vector<pmix_status_t> answers;
    std::shared_ptr<InfoList> found;
    AllocationService service{*this, 300s}; // last: it answers what still waits

    void allocate(std::uint64_t id, RmAllocation request, TimePoint until,
                  std::function<void(Result<RmAllocated>)> then) override {
        asked[id] = std::move(request);
        deadline = until;
        done[id] = std::move(then);
    }
    void abandon_allocation(std::uint64_t id) override { abandoned.push_back(id); }
    void session_began(const std::string &allocation, const std::string &request_id, std::uint32_t) override {
        sessions += allocation + " " + request_id + " begins;";
    }
    void session_over(const std::string &allocation) override { sessions += allocation + " ends;"; }
    std::string sessions;
    void refused(const Process &, pmix_status_t, const std::string &why) override { log += why + ";"; }
    void stays(const std::string &allocation, const Error &) override { log += allocation + " stays;"; }

    AllocationAsk ask(std::uint8_t directive, Rank caller = 0) {
        AllocationAsk ask;
        ask.caller = {"job", caller, false};
        ask.directive = directive;
        ask.reply = {[this](pmix_status_t status, std::shared_ptr<InfoList> list) {
                         answers.push_back(status);
                         found = std::move(list);
                     },
                     PMIX_ERROR, nullptr};
        return ask;
    }
    pmix_status_t told(AllocationAsk ask) {
        answers.clear();
        service.request(start, std::move(ask));
        return answers.size() == 1 ? answers[0] : 1;
    }
};

const pmix_value_t *value_of(InfoList &list, const char *key) {
    for (std::size_t i = 0; i < list.size(); ++i) {
        if (PMIX_CHECK_KEY(&list.data()[i], key))
            return &list.data()[i].value;
    }
    return nullptr;
}

void a_new_allocation_is_told_with_what_it_has(void **) {
    World world;
    auto ask = world.ask(PMIX_ALLOC_NEW);
    ask.request_id = "mine";
    ask.hosts = 2;
    ask.seconds = 90;
    world.service.request(start, std::move(ask));
    assert_int_equal(world.asked.size(), 1);
    const RmAllocation &request = world.asked[1];
    assert_true(request.kind == RmAllocation::Kind::create && request.hosts == 2 && request.seconds == 90);
    assert_true(world.deadline == start + 300s);
    assert_true(world.answers.empty());
    world.done[1](RmAllocated{"77", {"a", "b"}, 8, 120});
    assert_int_equal(world.answers.size(), 1);
    assert_int_equal(world.answers[0], PMIX_SUCCESS);
    assert_string_equal(value_of(*world.found, PMIX_ALLOC_ID)->data.string, "77");
    assert_string_equal(value_of(*world.found, PMIX_ALLOC_REQ_ID)->data.string, "mine");
    assert_string_equal(value_of(*world.found, PMIX_ALLOC_NODE_LIST)->data.string, "a,b");
    assert_int_equal(value_of(*world.found, PMIX_ALLOC_NUM_NODES)->data.uint64, 2);
    assert_int_equal(value_of(*world.found, PMIX_ALLOC_NUM_CPUS)->data.uint64, 8);
    assert_int_equal(value_of(*world.found, PMIX_ALLOC_TIME)->data.uint32, 120);
    world.done[1](error(ErrorKind::timeout, "late")); // an RM that speaks twice
    assert_int_equal(world.answers.size(), 1);
    assert_string_equal(world.sessions.c_str(), "77 mine begins;");
}

void the_end_of_one_that_is_given_back_is_told(void **) {
    World world;
    for (const char *hosts : {"", "a"}) {
        auto ask = world.ask(PMIX_ALLOC_RELEASE);
        ask.allocation = "77";
        ask.host_list = hosts;
        world.service.request(start, std::move(ask));
    }
    auto ask = world.ask(PMIX_ALLOC_EXTEND);
    ask.seconds = 60;
    world.service.request(start, std::move(ask));
    ask = world.ask(PMIX_ALLOC_NEW);
    world.service.request(start, std::move(ask));
    world.done[4](error(ErrorKind::timeout, "no"));
    for (std::uint64_t id : {1, 2, 3})
        world.done[id](RmAllocated{"77", {}, 0, 0});
    assert_string_equal(world.sessions.c_str(), "77 ends;");
}

void timeouts_are_the_callers(void **) {
    World world;
    auto ask = world.ask(PMIX_ALLOC_NEW);
    ask.timeout = 7s;
    world.service.request(start, std::move(ask));
    assert_true(world.deadline == start + 7s);
    ask = world.ask(PMIX_ALLOC_NEW);
    ask.timeout = 0s;
    world.service.request(start, std::move(ask));
    assert_true(world.deadline == TimePoint::max());
}

void what_makes_no_sense_is_refused_at_once(void **) {
    World world;
    assert_int_equal(world.told(world.ask(PMIX_ALLOC_REAQUIRE)), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(world.told(world.ask(PMIX_ALLOC_EXTERNAL)), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(world.told(world.ask(0)), PMIX_ERR_NOT_SUPPORTED);
    assert_int_equal(world.told(world.ask(PMIX_ALLOC_EXTEND)), PMIX_ERR_BAD_PARAM);
    assert_int_equal(world.told(world.ask(PMIX_ALLOC_RELEASE)), PMIX_ERR_BAD_PARAM);
    auto ask = world.ask(PMIX_ALLOC_NEW);
    ask.allocation = "12";
    assert_int_equal(world.told(std::move(ask)), PMIX_ERR_BAD_PARAM);
    ask = world.ask(PMIX_ALLOC_EXTEND);
    ask.seconds = 60;
    ask.hosts = 1;
    assert_int_equal(world.told(std::move(ask)), PMIX_ERR_NOT_SUPPORTED);
    ask = world.ask(PMIX_ALLOC_RELEASE);
    ask.host_list = "a";
    ask.seconds = 60;
    assert_int_equal(world.told(std::move(ask)), PMIX_ERR_NOT_SUPPORTED);
    ask = world.ask(PMIX_ALLOC_NEW);
    ask.unsupported = {PMIX_ALLOC_FABRIC};
    ask.refused = PMIX_ERR_NOT_SUPPORTED;
    world.log.clear();
    assert_int_equal(world.told(std::move(ask)), PMIX_ERR_NOT_SUPPORTED);
    assert_string_equal(world.log.c_str(), "pmix.alloc.net is not offered;");
    assert_true(world.asked.empty());
}

void failures_have_a_status(void **) {
    const std::pair<ErrorKind, pmix_status_t> all[] = {
        {ErrorKind::unsupported, PMIX_ERR_NOT_SUPPORTED}, {ErrorKind::invalid, PMIX_ERR_BAD_PARAM},
        {ErrorKind::not_found, PMIX_ERR_NOT_FOUND},       {ErrorKind::denied, PMIX_ERR_NO_PERMISSIONS},
        {ErrorKind::exists, PMIX_ERR_RESOURCE_BUSY},      {ErrorKind::limit, PMIX_ERR_OUT_OF_RESOURCE},
        {ErrorKind::timeout, PMIX_ERR_TIMEOUT},           {ErrorKind::unreachable, PMIX_ERR_UNREACH}};
    World world;
    std::uint64_t id = 0;
    for (const auto &[kind, status] : all) {
        world.answers.clear();
        auto ask = world.ask(PMIX_ALLOC_RELEASE);
        ask.allocation = "12";
        world.service.request(start, std::move(ask));
        world.done[++id](error(kind, "no"));
        assert_int_equal(world.answers.size(), 1);
        assert_int_equal(world.answers[0], status);
    }
}

void only_so_many_wait(void **) {
    World world;
    for (std::size_t i = 0; i < AllocationService::max_waiting; ++i)
        world.service.request(start, world.ask(PMIX_ALLOC_NEW));
    assert_int_equal(world.told(world.ask(PMIX_ALLOC_NEW)), PMIX_ERR_OUT_OF_RESOURCE);
    world.done[1](error(ErrorKind::timeout, "late"));
    assert_int_equal(world.told(world.ask(PMIX_ALLOC_NEW)), 1); // waits
}

void who_ends_is_given_up(void **) {
    World world;
    world.service.request(start, world.ask(PMIX_ALLOC_NEW, 0));
    world.service.request(start, world.ask(PMIX_ALLOC_NEW, 1));
    world.service.on_process_ended("other", 1);
    assert_true(world.abandoned.empty());
    world.service.on_process_ended("job", 1);
    assert_true((world.abandoned == std::vector<std::uint64_t>{2}));
    assert_int_equal(world.answers.size(), 1); // to nobody, but once
    world.done[2](RmAllocated{"77", {}, 0, 0});
    assert_int_equal(world.answers.size(), 1);
    world.done[1](RmAllocated{"78", {}, 0, 0});
    assert_int_equal(world.answers.back(), PMIX_SUCCESS);
}

// Nobody tells of it.
void what_a_tool_that_has_gone_waits_for_is_given_up(void **) {
    World world;
    assert_true(world.service.next_time() == TimePoint::max());
    world.service.request(start, world.ask(PMIX_ALLOC_NEW)); // a process, whose end is told
    assert_true(world.service.next_time() == TimePoint::max());
    bool here = true;
    world.service.request(start, world.ask(PMIX_ALLOC_NEW, 7), [&] { return here; });
    assert_true(world.service.next_time() == start + AllocationService::look_again);
    here = false;
    world.service.on_time(start + 1ms); // not yet
    assert_true(world.abandoned.empty());
    here = true;
    world.service.on_time(start + 1s);
    assert_true(world.abandoned.empty());
    assert_true(world.service.next_time() == start + 2s);
    here = false;
    world.service.on_time(start + 2s);
    assert_true(world.abandoned == std::vector<std::uint64_t>{2});
    assert_true(world.service.next_time() == TimePoint::max());
    world.done[2](RmAllocated{"77", {}, 0, 0}); // an RM that speaks nevertheless
    assert_int_equal(world.asked.size(), 2);
}

void what_a_tool_gets_that_has_gone_is_given_back(void **) {
    World world;
    bool here = true;
    world.service.request(start, world.ask(PMIX_ALLOC_NEW, 7), [&] { return here; });
    world.service.request(start, world.ask(PMIX_ALLOC_NEW, 8), [] { return true; });
    here = false;
    world.done[1](RmAllocated{"77", {"a"}, 8, 120});
    assert_int_equal(world.asked.size(), 3);
    assert_true(world.asked[3].kind == RmAllocation::Kind::release && world.asked[3].host_list.empty());
    assert_string_equal(world.asked[3].allocation.c_str(), "77");
    world.done[3](error(ErrorKind::unreachable, "slurmctld is away"));
    world.done[2](RmAllocated{"78", {"a"}, 8, 120});
    assert_int_equal(world.asked.size(), 3);
    assert_string_equal(world.sessions.c_str(), "78  begins;");
    assert_string_equal(world.log.c_str(), "77 stays;");
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(what_a_tool_that_has_gone_waits_for_is_given_up),
        cmocka_unit_test(what_a_tool_gets_that_has_gone_is_given_back),
        cmocka_unit_test(a_new_allocation_is_told_with_what_it_has),
        cmocka_unit_test(the_end_of_one_that_is_given_back_is_told),
        cmocka_unit_test(timeouts_are_the_callers),
        cmocka_unit_test(what_makes_no_sense_is_refused_at_once),
        cmocka_unit_test(failures_have_a_status),
        cmocka_unit_test(only_so_many_wait),
        cmocka_unit_test(who_ends_is_given_up),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
