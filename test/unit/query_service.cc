// PMIx_Query_info: each key on its own, one answer for all.
#include "server-glue/query/query_service.h"

#include <algorithm>
#include <cstring>
#include <pmix.h>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const TimePoint start{};

struct World final : QueryPort, ProcessSetPort, RmQuestions {
    StepInfo info;
    ProcessSets sets{*this};
    GroupRegistry known_groups;
    std::function<void(Result<RmAnswer>)> rm;
    bool has_rm = true;
    std::optional<RmQuestion::Kind> unknown; // what the RM does not tell
    ProcessTable::Done table;
    std::int32_t bad_end = 0;
    std::string log;
    QueryService service{*this};
    int answered = 0;
    pmix_status_t status = 0;
    std::shared_ptr<InfoList> found;

    World() {
        info.nspace = "job";
        info.map = *JobMap::create({"a", "b"}, {{0, 1}, {2}});
        info.apps = {{{"ocean", "-x"}, {0, 1}}, {{"ice"}, {2}}};
        sets.define("job", {{"ocean", {0, 1}}, {"ice", {2}}});
        sets.connected("other", {{"guests", {0}}});
        known_groups.add({"g", {{"job", 0, false}, {"job", 2, false}}, {}, false});
        known_groups.add({"all", {{"job", 0, true}, {"other", 0, false}}, {}, false});
    }
    void define_set(const std::string &, const Bytes &, const std::vector<Rank> &) override {}
    void delete_set(const std::string &) override {}
    void name_taken(const std::string &, const Bytes &) override {}
    const StepInfo &step() const override { return info; }
    const ProcessSets &process_sets() const override { return sets; }
    const GroupRegistry &groups() const override { return known_groups; }
    std::vector<Bytes> other_namespaces() const override { return {"other"}; }
    std::vector<ProcessEntry> local_table() override { return {{0, 0, 77, 0, 6, "/bin/ocean"}, {1, 0, 0, 0, 20, ""}}; }
    void gather_table(Duration, ProcessTable::Done done) override { table = std::move(done); }
    std::int32_t first_bad_end() const override { return bad_end; }
    RmQuestions *rm_questions() override { return has_rm ? this : nullptr; }
    bool spawns() override { return has_rm; }
    bool answers(RmQuestion::Kind kind) const override { return kind != unknown; }
    void ask(RmQuestion, TimePoint, std::function<void(Result<RmAnswer>)> done) override { rm = std::move(done); }
    void unanswered(const std::string &key, pmix_status_t s, const std::string &why) override {
        log += fmt::format("{} {} {};", key, PMIx_Error_string(s), why);
    }

    void ask(std::vector<QueryAsk::Query> queries) {
        QueryAsk ask;
        ask.queries = std::move(queries);
        answered = 0;
        log.clear();
        ask.reply = {[this](pmix_status_t s, std::shared_ptr<InfoList> list) {
                         ++answered;
                         status = s;
                         found = std::move(list);
                     },
                     PMIX_ERROR, nullptr};
        service.query(start, std::move(ask));
    }
    QueryAsk::Query one(std::vector<std::string> keys) {
        QueryAsk::Query query;
        query.keys = std::move(keys);
        return query;
    }
    const pmix_value_t *value(const char *key) {
        for (std::size_t i = 0; found && i < found->size(); ++i) {
            if (PMIX_CHECK_KEY(&found->data()[i], key))
                return &found->data()[i].value;
        }
        return nullptr;
    }
    // The status of one key alone.
    pmix_status_t status_of(QueryAsk::Query query) {
        ask({std::move(query)});
        assert_int_equal(answered, 1);
        return status;
    }
};

std::string strings(const pmix_value_t *value) {
    assert_non_null(value);
    assert_int_equal(value->type, PMIX_DATA_ARRAY);
    assert_int_equal(value->data.darray->type, PMIX_STRING);
    std::string out;
    for (std::size_t i = 0; i < value->data.darray->size; ++i)
        out += std::string(static_cast<char **>(value->data.darray->array)[i]) + " ";
    return out;
}
std::string members(const pmix_value_t *value) {
    assert_non_null(value);
    assert_int_equal(value->data.darray->type, PMIX_PROC);
    std::string out;
    for (std::size_t i = 0; i < value->data.darray->size; ++i) {
        const auto &proc = static_cast<pmix_proc_t *>(value->data.darray->array)[i];
        out += fmt::format("{}:{} ", proc.nspace, proc.rank);
    }
    return out;
}

void sets_and_groups_are_told(void **) {
    World world;
    auto membership = world.one({PMIX_QUERY_PSET_MEMBERSHIP});
    membership.process_set = "guests";
    auto group = world.one({PMIX_QUERY_GROUP_MEMBERSHIP});
    group.group = "all";
    world.ask({world.one({PMIX_QUERY_NUM_PSETS, PMIX_QUERY_PSET_NAMES, PMIX_QUERY_NUM_GROUPS, PMIX_QUERY_GROUP_NAMES}),
               membership, group});
    assert_int_equal(world.answered, 1);
    assert_int_equal(world.status, PMIX_SUCCESS);
    assert_int_equal(world.found->size(), 6);
    assert_int_equal(world.value(PMIX_QUERY_NUM_PSETS)->type, PMIX_SIZE);
    assert_int_equal(world.value(PMIX_QUERY_NUM_PSETS)->data.size, 3);
    assert_int_equal(world.value(PMIX_QUERY_PSET_NAMES)->type, PMIX_STRING);
    assert_string_equal(world.value(PMIX_QUERY_PSET_NAMES)->data.string, "ocean,ice,guests");
    assert_string_equal(members(world.value(PMIX_QUERY_PSET_MEMBERSHIP)).c_str(), "other:0 ");
    assert_int_equal(world.value(PMIX_QUERY_NUM_GROUPS)->data.size, 2);
    assert_string_equal(strings(world.value(PMIX_QUERY_GROUP_NAMES)).c_str(), "all g ");
    assert_string_equal(members(world.value(PMIX_QUERY_GROUP_MEMBERSHIP)).c_str(), "job:0 job:1 job:2 other:0 ");

    auto own = world.one({PMIX_QUERY_NUM_PSETS, PMIX_QUERY_NUM_GROUPS});
    own.range = PMIX_RANGE_NAMESPACE;
    world.ask({own});
    assert_int_equal(world.value(PMIX_QUERY_NUM_PSETS)->data.size, 2);
    assert_int_equal(world.value(PMIX_QUERY_NUM_GROUPS)->data.size, 1);
    assert_int_equal(world.status_of(world.one({PMIX_QUERY_PSET_MEMBERSHIP})), PMIX_ERR_BAD_PARAM);
    membership.process_set = "nobody";
    assert_int_equal(world.status_of(membership), PMIX_ERR_NOT_FOUND);
    assert_int_equal(world.status_of(world.one({PMIX_QUERY_GROUP_MEMBERSHIP})), PMIX_ERR_BAD_PARAM);
    group.group = "nobody";
    assert_int_equal(world.status_of(group), PMIX_ERR_NOT_FOUND);
}

// One is as large as the job, and nobody needs it twice.
void the_same_table_twice_in_a_call_is_refused(void **) {
    World world;
    auto table = world.one({PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE});
    world.ask({table, table, world.one({PMIX_QUERY_PROC_TABLE})});
    assert_true(world.table != nullptr);
    world.table(PMIX_SUCCESS, {});
    assert_int_equal(world.answered, 1);
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(world.found->size(), 2);
    assert_int_equal(std::count(world.log.begin(), world.log.end(), ';'), 3);
}

void each_key_has_a_status_of_its_own(void **) {
    World world;
    assert_int_equal(world.status_of(world.one({"my.own"})), PMIX_ERR_NOT_SUPPORTED);
    assert_non_null(std::strstr(world.log.c_str(), "my.own "));
    world.ask({world.one({PMIX_QUERY_NUM_PSETS, "my.own"})});
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(world.found->size(), 1);
    auto required = world.one({PMIX_QUERY_NUM_PSETS});
    required.unsupported = "my.qualifier";
    assert_int_equal(world.status_of(required), PMIX_ERR_NOT_SUPPORTED);
}

// What is listed as supported is answered, and nothing else, whatever the RM has.
void what_is_supported_is_answered(void **) {
    const char *const all[] = {PMIX_TIME_REMAINING, PMIX_QUERY_ALLOC_STATUS, PMIX_QUERY_QUEUE_LIST,
                               PMIX_QUERY_QUEUE_STATUS, PMIX_QUERY_SPAWN_SUPPORT};
    auto check = [&](bool has_rm, std::optional<RmQuestion::Kind> unknown, std::size_t offered) {
        World world;
        world.has_rm = has_rm;
        world.unknown = unknown;
        auto query_of = [&](const std::string &key) {
            auto query = world.one({key});
            query.process_set = "ocean";
            query.group = "g";
            query.local_only = true;
            query.allocation = "7";
            return query;
        };
        auto keys = world.service.supported_keys();
        for (const auto &key : keys) {
            world.ask({query_of(key)});
            if (world.answered == 0 && world.rm)
                std::exchange(world.rm, nullptr)(RmAnswer{1, "up", {{"main", "up"}}});
            if (world.answered != 1 || world.status != PMIX_SUCCESS)
                fail_msg("%s is not answered", key.c_str());
        }
        for (const char *key : all) {
            if (std::find(keys.begin(), keys.end(), key) == keys.end())
                assert_int_equal(world.status_of(query_of(key)), PMIX_ERR_NOT_SUPPORTED);
            else
                --offered;
        }
        assert_int_equal(offered, 0);
    };
    check(true, std::nullopt, 5);
    check(true, RmQuestion::Kind::queues, 3);
    check(true, RmQuestion::Kind::time_remaining, 4);
    check(false, std::nullopt, 0);
}

void namespaces_are_told(void **) {
    World world;
    world.ask({world.one({PMIX_QUERY_NAMESPACES, PMIX_QUERY_NAMESPACE_INFO, PMIX_QUERY_JOB_STATUS})});
    assert_string_equal(world.value(PMIX_QUERY_NAMESPACES)->data.string, "job,other");
    const auto *array = world.value(PMIX_QUERY_NAMESPACE_INFO)->data.darray;
    assert_int_equal(array->size, 2);
    const auto *own = static_cast<pmix_info_t *>(array->array)[0].value.data.darray;
    const auto *details = static_cast<pmix_info_t *>(own->array);
    assert_string_equal(details[0].value.data.string, "job");
    assert_string_equal(details[1].value.data.string, "ocean -x : ice");
    assert_int_equal(world.value(PMIX_QUERY_JOB_STATUS)->data.status, PMIX_SUCCESS);
    world.bad_end = PMIX_ERR_PROC_ABORTED;
    world.ask({world.one({PMIX_QUERY_JOB_STATUS})});
    assert_int_equal(world.value(PMIX_QUERY_JOB_STATUS)->data.status, PMIX_ERR_PROC_ABORTED);
    for (const char *key :
         {PMIX_QUERY_JOB_STATUS, PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_TIME_REMAINING}) {
        auto query = world.one({key});
        query.nspace = "other";
        assert_int_equal(world.status_of(query), PMIX_ERR_NOT_SUPPORTED);
        query.nspace = "nobody";
        assert_int_equal(world.status_of(query), PMIX_ERR_NOT_FOUND);
    }
    auto query = world.one({PMIX_QUERY_NAMESPACE_INFO});
    query.nspace = "nobody";
    assert_int_equal(world.status_of(query), PMIX_ERR_NOT_FOUND);
}

void the_table_is_waited_for(void **) {
    World world;
    world.ask({world.one({PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE})});
    assert_int_equal(world.answered, 0);
    world.table(PMIX_SUCCESS, {{0, 0, 77, 0, 6, "/bin/ocean"}, {1, 0, 0, 3, 62, ""}, {2, 1, 78, 0, 6, ""}});
    assert_int_equal(world.answered, 1);
    const auto *array = world.value(PMIX_QUERY_PROC_TABLE)->data.darray;
    assert_int_equal(array->type, PMIX_PROC_INFO);
    assert_int_equal(array->size, 3);
    const auto *table = static_cast<pmix_proc_info_t *>(array->array);
    assert_string_equal(table[0].hostname, "a");
    assert_string_equal(table[0].executable_name, "/bin/ocean");
    assert_int_equal(table[1].exit_code, 3);
    assert_string_equal(table[1].executable_name, "ocean"); // from the command line
    assert_string_equal(table[2].executable_name, "ice");
    assert_string_equal(table[2].hostname, "b");
    assert_int_equal(table[2].pid, 78);
    assert_int_equal(world.value(PMIX_QUERY_LOCAL_PROC_TABLE)->data.darray->size, 2);
    world.ask({world.one({PMIX_QUERY_PROC_TABLE})});
    world.table(PMIX_ERR_TIMEOUT, {});
    assert_int_equal(world.status, PMIX_ERR_TIMEOUT);
}

void the_rm_is_asked_with_a_deadline(void **) {
    World world;
    world.ask({world.one({PMIX_TIME_REMAINING})});
    assert_int_equal(world.answered, 0);
    world.rm(RmAnswer{90, "", {}});
    assert_int_equal(world.value(PMIX_TIME_REMAINING)->data.uint32, 90);
    world.ask({world.one({PMIX_QUERY_QUEUE_LIST})});
    world.rm(RmAnswer{0, "", {{"main", "up"}, {"big", "down"}}});
    assert_string_equal(world.value(PMIX_QUERY_QUEUE_LIST)->data.string, "main,big");
    auto query = world.one({PMIX_QUERY_QUEUE_STATUS});
    query.queue = "big";
    world.ask({query});
    world.rm(RmAnswer{0, "", {{"main", "up"}, {"big", "down"}}});
    const auto *array = world.value(PMIX_QUERY_QUEUE_STATUS)->data.darray;
    assert_int_equal(array->size, 1);
    assert_string_equal(static_cast<pmix_info_t *>(array->array)[0].key, "big");
    assert_string_equal(static_cast<pmix_info_t *>(array->array)[0].value.data.string, "down");
    query.queue = "none";
    world.ask({query});
    world.rm(RmAnswer{0, "", {{"main", "up"}}});
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);

    assert_int_equal(world.status_of(world.one({PMIX_QUERY_ALLOC_STATUS})), PMIX_ERR_BAD_PARAM);
    auto allocation = world.one({PMIX_QUERY_ALLOC_STATUS});
    allocation.allocation = "7";
    world.ask({allocation});
    world.rm(error(ErrorKind::not_found, "job 7: there is none"));
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    assert_non_null(std::strstr(world.log.c_str(), "there is none"));

    auto timed = world.one({PMIX_QUERY_NUM_PSETS, PMIX_TIME_REMAINING});
    timed.timeout = 3s;
    world.ask({timed});
    assert_true(world.service.next_time() == start + 3s);
    world.service.on_time(start + 2s);
    assert_int_equal(world.answered, 0);
    world.service.on_time(start + 3s);
    assert_int_equal(world.answered, 1);
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    world.rm(RmAnswer{90, "", {}}); // too late, and of no effect
    assert_int_equal(world.answered, 1);
    assert_true(world.service.next_time() == TimePoint::max());
}

void too_many_questions_are_refused(void **) {
    World world;
    for (std::size_t i = 0; i < QueryService::max_waiting; ++i) {
        QueryAsk ask;
        ask.queries = {world.one({PMIX_TIME_REMAINING})};
        world.service.query(start, std::move(ask));
    }
    assert_int_equal(world.status_of(world.one({PMIX_QUERY_NUM_PSETS})), PMIX_ERR_OUT_OF_RESOURCE);
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(sets_and_groups_are_told),
        cmocka_unit_test(the_same_table_twice_in_a_call_is_refused),
        cmocka_unit_test(each_key_has_a_status_of_its_own),
        cmocka_unit_test(what_is_supported_is_answered),
        cmocka_unit_test(namespaces_are_told),
        cmocka_unit_test(the_table_is_waited_for),
        cmocka_unit_test(the_rm_is_asked_with_a_deadline),
        cmocka_unit_test(too_many_questions_are_refused),
    };
    return cmocka_run_group_tests_name("query service", tests, nullptr, nullptr);
}
