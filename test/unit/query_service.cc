// PMIx_Query_info: each key on its own, one answer for all.
#include "server-glue/query/query_service.h"

#include "server-glue/query/newer_keys.h"
#include "server-glue/query/table_answers.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <numeric>
#include <pmix.h>
#include <regex>
#include <set>

#include "test/unit/check.h"

using namespace pmixhost;
using namespace std::chrono_literals;

namespace {

const TimePoint start{};

struct World final : QueryPort, ProcessSetPort, RmQuestions {
    StepInfo info, other;
    HostAbilities all_abilities{facets_of_all(), true, true, true};
    static constexpr Facets facets_of_all() {
        Facets all = 0;
        for (const auto &row : facet_table)
            all |= pmixhost::facets(row.facet);
        return all;
    }
    ProcessSets sets{*this};
    GroupRegistry known_groups;
    std::function<void(Result<RmAnswer>)> rm;
    bool has_rm = true;
    std::optional<RmQuestion::Kind> unknown; // what the RM does not tell
    ProcessTable::Done table;
    std::function<void(const ToolActions &)> rights;
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
        info.session_id = 12;
        info.job_id = "12.0";
        info.allocated_hosts = {"a", "b", "c"};
        other.nspace = "other";
        other.map = *JobMap::create({"b", "z"}, {{0}, {1}});
        other.apps.emplace_back();
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
    const StepInfo *job(const Bytes &nspace) const override {
        return nspace == "job" ? &info : nspace == "other" ? &other : nullptr;
    }
    JobTable local_table() override {
        return {{{0, 0, 77, 0, 6, "/bin/ocean", 2048}, {1, 0, 0, 0, 20, "", 0}}, {{0, 10240}}};
    }
    Duration table_time{};
    void gather_table(Duration time, ProcessTable::Done done) override {
        table_time = time;
        table = std::move(done);
    }
    std::function<void(pmix_status_t)> job_found;
    HostIndex asked_host = 0;
    void find_job(const Bytes &, Duration, std::function<void(pmix_status_t)> then) override {
        job_found = std::move(then);
    }
    void gather_table_of(const StepInfo &job, HostIndex host, Duration, ProcessTable::Done done) override {
        assert_string_equal(job.nspace.c_str(), "other");
        asked_host = host;
        table = std::move(done);
    }
    std::int32_t first_bad_end() const override { return bad_end; }
    RmQuestions *rm_questions() override { return has_rm ? this : nullptr; }
    HostAbilities abilities() override { return has_rm ? all_abilities : HostAbilities{}; }
    void ask_rights(std::function<void(const ToolActions &)> done) override { rights = std::move(done); }
    bool answers(RmQuestion::Kind kind) const override { return kind != unknown; }
    void ask(RmQuestion, TimePoint, std::function<void(Result<RmAnswer>)> done) override { rm = std::move(done); }
    std::vector<std::string> agents_environment = {"PMIX_RANK=1"};
    Result<AgentDescription> described_to(pid_t agent) override {
        if (agent < 1000 && agent != 77)
            return error(ErrorKind::not_found, "process {} is no agent", agent);
        return AgentDescription{1, "/bin/ocean", {"ocean", ""}, agents_environment, "/tmp"};
    }
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

void the_groups_of_a_process_are_told(void **) {
    World world;
    auto names = [&](const Bytes &nspace, Rank rank) {
        auto query = world.one({PMIX_GROUP_NAMES});
        query.processes = {{nspace, rank, false}};
        world.ask({query});
        assert_int_equal(world.status, PMIX_SUCCESS);
        return strings(world.value(PMIX_GROUP_NAMES));
    };
    assert_string_equal(names("job", 2).c_str(), "all g ");
    assert_string_equal(names("", 1).c_str(), "all "); // of the own job
    assert_string_equal(names("other", 0).c_str(), "all ");
    assert_string_equal(names("other", 1).c_str(), "");

    auto query = world.one({PMIX_GROUP_NAMES});
    assert_int_equal(world.status_of(query), PMIX_ERR_BAD_PARAM); // of whom?
    query.processes = {{"job", 0, true}};
    assert_int_equal(world.status_of(query), PMIX_ERR_BAD_PARAM);
    query.processes = {{"job", 3, false}};
    assert_int_equal(world.status_of(query), PMIX_ERR_NOT_FOUND);
    query.processes = {{"nobody", 0, false}};
    assert_int_equal(world.status_of(query), PMIX_ERR_NOT_FOUND);
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

// What is asked for a thousand times in one call is told until there is too much of it.
void a_call_is_told_so_much(void **) {
    World world;
    world.ask({world.one({PMIX_HOST_ATTRIBUTES})});
    const auto *array = world.value(PMIX_HOST_ATTRIBUTES)->data.darray;
    std::size_t each = 1 + array->size;
    for (std::size_t i = 0; i < array->size; ++i)
        each += static_cast<pmix_info_t *>(array->array)[i].value.data.darray->size;
    std::size_t times = 200'000 / each + 1; // with which there is more than that
    world.ask({world.one(std::vector<std::string>(times, PMIX_HOST_ATTRIBUTES))});
    assert_int_equal(world.status, PMIX_SUCCESS);
    world.ask({world.one(std::vector<std::string>(times + 2, PMIX_HOST_ATTRIBUTES))});
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(world.found->size(), times);
    assert_int_equal(std::count(world.log.begin(), world.log.end(), ';'), 2);
}

// A program's environment may be as large as the table of a job, and each of a host's agents has one.
void what_agents_start_is_told_so_often(void **) {
    World world;
    constexpr std::size_t large = 1 << 20;
    auto of_agent = [&](std::size_t number) {
        auto query = world.one({PMIX_FORKEXEC_AGENT});
        query.pid = static_cast<std::uint32_t>(1000 + number);
        return query;
    };
    auto ask_of = [&](std::size_t agents) {
        std::vector<QueryAsk::Query> queries;
        for (std::size_t i = 0; i < agents; ++i)
            queries.push_back(of_agent(i));
        world.ask(std::move(queries));
    };
    // The same one once more is of no use to anybody.
    world.ask({of_agent(0), of_agent(0), of_agent(1)});
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(world.found->size(), 2);
    assert_int_equal(std::count(world.log.begin(), world.log.end(), ';'), 1);
    assert_non_null(std::strstr(world.log.c_str(), "already"));
    // Few long strings.
    world.agents_environment = {"A=" + std::string(large, 'x')};
    ask_of(48);
    assert_int_equal(world.status, PMIX_SUCCESS);
    ask_of(60);
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    assert_in_range(world.found->size(), 48, 50);
    // Many short ones, each of which takes a place of its own.
    world.agents_environment.assign(50'000, "A=");
    ask_of(3);
    assert_int_equal(world.status, PMIX_SUCCESS);
    ask_of(10);
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(world.found->size(), 4);
}

void each_key_has_a_status_of_its_own(void **) {
    World world;
    assert_int_equal(world.status_of(world.one({"my.own"})), PMIX_ERR_NOT_SUPPORTED);
    assert_non_null(std::strstr(world.log.c_str(), "my.own "));
    world.ask({world.one({PMIX_QUERY_NUM_PSETS, "my.own"})});
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(world.found->size(), 1);
    assert_int_equal(world.status_of(world.one({PMIX_QUERY_STORAGE_LIST})), PMIX_ERR_NOT_FOUND);
    auto malformed = world.one({PMIX_QUERY_NUM_PSETS, PMIX_QUERY_NUM_GROUPS});
    malformed.malformed = PMIX_HOSTNAME;
    assert_int_equal(world.status_of(malformed), PMIX_ERR_BAD_PARAM);
    world.ask({malformed, world.one({PMIX_QUERY_NUM_PSETS})}); // no other query's
    assert_int_equal(world.status, PMIX_ERR_PARTIAL_SUCCESS);
    assert_int_equal(world.found->size(), 1);
    assert_non_null(std::strstr(world.log.c_str(), PMIX_HOSTNAME));
    auto required = world.one({PMIX_QUERY_NUM_PSETS});
    required.required = {"my.qualifier"};
    assert_int_equal(world.status_of(required), PMIX_ERR_NOT_SUPPORTED);
}

// libpmix does not say who asks, so an agent says which process it is.
void an_agent_is_told_what_it_is_to_start(void **) {
    World world;
    auto query = world.one({PMIX_FORKEXEC_AGENT});
    assert_int_equal(world.status_of(query), PMIX_ERR_BAD_PARAM);
    query.pid = 0;
    assert_int_equal(world.status_of(query), PMIX_ERR_BAD_PARAM);
    query.pid = 78;
    assert_int_equal(world.status_of(query), PMIX_ERR_NOT_FOUND);
    query.pid = 77;
    query.required = {PMIX_PROC_PID};
    assert_int_equal(world.status_of(query), PMIX_SUCCESS);
    const auto *value = world.value(PMIX_FORKEXEC_AGENT);
    assert_int_equal(value->type, PMIX_DATA_ARRAY);
    assert_int_equal(value->data.darray->type, PMIX_APP);
    assert_int_equal(value->data.darray->size, 1);
    const auto &app = *static_cast<pmix_app_t *>(value->data.darray->array);
    assert_string_equal(app.cmd, "/bin/ocean");
    assert_string_equal(app.argv[0], "ocean");
    assert_string_equal(app.argv[1], "");
    assert_null(app.argv[2]);
    assert_string_equal(app.env[0], "PMIX_RANK=1");
    assert_null(app.env[1]);
    assert_string_equal(app.cwd, "/tmp");
    world.has_rm = false; // nothing is spawned here
    assert_int_equal(world.status_of(query), PMIX_ERR_NOT_SUPPORTED);
}

// What is listed as supported is answered, and nothing else, whatever the RM has.
void what_is_supported_is_answered(void **) {
    const char *const all[] = {PMIX_TIME_REMAINING,     PMIX_QUERY_ALLOC_STATUS,    PMIX_QUERY_QUEUE_LIST,
                               PMIX_QUERY_QUEUE_STATUS, PMIX_QUERY_AVAILABLE_SLOTS, PMIX_QUERY_SPAWN_SUPPORT};
    auto check = [&](bool has_rm, std::optional<RmQuestion::Kind> unknown, std::size_t offered) {
        World world;
        world.has_rm = has_rm;
        world.unknown = unknown;
        auto query_of = [&](const std::string &key) {
            auto query = world.one({key});
            query.process_set = "ocean";
            query.group = "g";
            if (key == PMIX_GROUP_NAMES)
                query.processes = {{"job", 0, false}};
            query.local_only = true;
            query.allocation = "12";
            query.pid = 77;
            return query;
        };
        auto keys = world.service.supported_keys();
        for (const auto &key : keys) {
            world.ask({query_of(key)});
            if (world.answered == 0 && world.rm)
                std::exchange(world.rm, nullptr)(RmAnswer{1, 1, "up", {{"main", "up"}}});
            if (world.answered == 0 && world.rights)
                std::exchange(world.rights, nullptr)({{"observe", true}});
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
    check(true, std::nullopt, 6);
    check(true, RmQuestion::Kind::queues, 4);
    check(true, RmQuestion::Kind::time_remaining, 5);
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
    for (const char *key : {PMIX_QUERY_JOB_STATUS, PMIX_TIME_REMAINING}) {
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

// PMIX_TIMEOUT may be the largest number there is.
void no_time_is_too_long(void **) {
    World world;
    auto table = world.one({PMIX_QUERY_PROC_TABLE});
    table.timeout = std::chrono::seconds(INT32_MAX);
    world.ask({table});
    assert_true(world.table_time > 21h && world.table_time <= 24h);
    assert_true(world.service.next_time() == start + 24h);
    world.table(PMIX_SUCCESS, {});
    assert_int_equal(world.answered, 1);
}

void the_table_is_waited_for(void **) {
    World world;
    world.ask({world.one({PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE})});
    assert_int_equal(world.answered, 0);
    world.table(PMIX_SUCCESS, {{{0, 0, 77, 0, 6, "/bin/ocean"}, {1, 0, 0, 3, 62, ""}, {2, 1, 78, 0, 6, ""}}, {}});
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
    world.rm(RmAnswer{90, 0, "", {}});
    assert_int_equal(world.value(PMIX_TIME_REMAINING)->data.uint32, 90);
    world.ask({world.one({PMIX_QUERY_QUEUE_LIST})});
    world.rm(RmAnswer{0, 0, "", {{"main", "up"}, {"big", "down"}}});
    assert_string_equal(world.value(PMIX_QUERY_QUEUE_LIST)->data.string, "main,big");
    auto query = world.one({PMIX_QUERY_QUEUE_STATUS});
    query.queue = "big";
    world.ask({query});
    world.rm(RmAnswer{0, 0, "", {{"main", "up"}, {"big", "down"}}});
    const auto *array = world.value(PMIX_QUERY_QUEUE_STATUS)->data.darray;
    assert_int_equal(array->size, 1);
    assert_string_equal(static_cast<pmix_info_t *>(array->array)[0].key, "big");
    assert_string_equal(static_cast<pmix_info_t *>(array->array)[0].value.data.string, "down");
    query.queue = "none";
    world.ask({query});
    world.rm(RmAnswer{0, 0, "", {{"main", "up"}}});
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
    world.rm(RmAnswer{90, 0, "", {}}); // too late, and of no effect
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

// The elements of an array of info, as "key=value ".
std::string words(const pmix_value_t *value) {
    assert_non_null(value);
    assert_int_equal(value->type, PMIX_DATA_ARRAY);
    assert_int_equal(value->data.darray->type, PMIX_INFO);
    std::string out;
    for (std::size_t i = 0; i < value->data.darray->size; ++i) {
        const auto &info = static_cast<pmix_info_t *>(value->data.darray->array)[i];
        out += std::string(info.key) + "=";
        switch (info.value.type) {
        case PMIX_STRING:
            out += info.value.data.string;
            break;
        case PMIX_FLOAT:
            out += fmt::format("{}", info.value.data.fval);
            break;
        case PMIX_UINT32:
            out += fmt::format("{}", info.value.data.uint32);
            break;
        case PMIX_BOOL:
            out += info.value.data.flag ? "yes" : "no";
            break;
        case PMIX_PROC:
            out += fmt::format("{}:{}", info.value.data.proc->nspace, info.value.data.proc->rank);
            break;
        case PMIX_DATA_ARRAY:
            out += "[" + words(&info.value) + "]";
            break;
        default:
            fail_msg("type %d", info.value.type);
        }
        out += " ";
    }
    return out;
}

const JobTable whole{{{0, 0, 77, 0, 6, "ocean", 2048}, {1, 0, 0, 0, 20, "", 0}, {2, 1, 78, 0, 6, "ice", 6144}},
                     {{0, 10240}, {1, 20480}}};

#define HOST_MEMORY(name, daemon, clients)                                                                             \
    PMIX_HOSTNAME "=" name " " PMIX_DAEMON_MEMORY "=" daemon " " PMIX_CLIENT_AVG_MEMORY "=" clients " "

void memory_is_told_of_hosts_and_processes(void **) {
    World world;
    auto ask = [&](QueryAsk::Query query) {
        query.keys = {PMIX_QUERY_MEMORY_USAGE};
        world.table = nullptr;
        world.ask({query});
        if (world.table)
            world.table(PMIX_SUCCESS, whole);
        assert_int_equal(world.answered, 1);
        return world.status == PMIX_SUCCESS ? words(world.value(PMIX_QUERY_MEMORY_USAGE))
                                            : fmt::format("{}", world.status);
    };
    const std::string not_found = fmt::format("{}", PMIX_ERR_NOT_FOUND);
    QueryAsk::Query query;
    assert_string_equal(ask(query).c_str(),
                        PMIX_NODE_INFO_ARRAY "=[" HOST_MEMORY("a", "10", "2") "] " PMIX_NODE_INFO_ARRAY
                                                                              "=[" HOST_MEMORY("b", "20", "6") "] ");
    query.average = query.minmax = true;
    assert_string_equal(ask(query).c_str(), PMIX_DAEMON_MEMORY
                        "=15 " PMIX_DAEMON_MEMORY "=10 " PMIX_DAEMON_MEMORY "=20 " PMIX_CLIENT_AVG_MEMORY
                        "=4 " PMIX_CLIENT_AVG_MEMORY "=2 " PMIX_CLIENT_AVG_MEMORY "=6 ");
    query = {};
    query.local_only = true; // without asking anybody
    assert_string_equal(ask(query).c_str(), HOST_MEMORY("a", "10", "2"));
    assert_true(world.table == nullptr);
    query = {};
    query.node = 1;
    assert_string_equal(ask(query).c_str(), HOST_MEMORY("b", "20", "6"));
    query = {};
    query.nspace = "job";
    query.processes = {{"job", 2}, {"job", 1}};
    assert_string_equal(ask(query).c_str(),
                        PMIX_PROC_INFO_ARRAY "=[" PMIX_PROCID "=job:1 " PMIX_HOSTNAME "=a " PMIX_CLIENT_AVG_MEMORY
                                             "=0 ] " PMIX_PROC_INFO_ARRAY "=[" PMIX_PROCID "=job:2 " PMIX_HOSTNAME
                                             "=b " PMIX_CLIENT_AVG_MEMORY "=6 ] ");
    query.average = true; // one that has ended has no memory
    assert_string_equal(ask(query).c_str(), PMIX_CLIENT_AVG_MEMORY "=6 ");
    query.processes = {{"job", PMIX_RANK_WILDCARD}};
    assert_string_equal(ask(query).c_str(), PMIX_DAEMON_MEMORY "=15 " PMIX_CLIENT_AVG_MEMORY "=4 ");
    query.processes = {{"job", 3}};
    assert_string_equal(ask(query).c_str(), not_found.c_str());
    query = {};
    query.host = "nowhere";
    assert_string_equal(ask(query).c_str(), not_found.c_str());
}

// With a look at all programs or at all who are asked for, for each process, this would take minutes.
void a_hundred_thousand_are_told_promptly(void **) {
    constexpr Rank count = 100'000, of_a_program = 20;
    StepInfo job;
    job.nspace = "job";
    std::vector<Rank> ranks(count);
    std::iota(ranks.begin(), ranks.end(), 0);
    job.map = *JobMap::create({"a"}, {ranks});
    for (Rank rank = 0; rank < count; rank += of_a_program)
        job.apps.push_back(
            {{fmt::format("p{}", rank / of_a_program)}, {ranks.begin() + rank, ranks.begin() + rank + of_a_program}});
    JobTable table;
    QueryAsk::Query query;
    for (Rank rank = 0; rank < count; ++rank) {
        table.processes.push_back({rank, 0, 0, 0, PMIX_PROC_STATE_TERMINATED, "", 1024});
        query.processes.push_back({"job", count - 1 - rank});
    }
    InfoList out;
    assert_int_equal(process_table_answer(job, query, table, PMIX_QUERY_PROC_TABLE, out), PMIX_SUCCESS);
    const auto *array = out.data()[0].value.data.darray;
    assert_int_equal(array->size, count);
    assert_string_equal(static_cast<pmix_proc_info_t *>(array->array)[count - 1].executable_name, "p4999");
    assert_int_equal(memory_answer(job, query, table, PMIX_QUERY_MEMORY_USAGE, out), PMIX_SUCCESS);
    assert_int_equal(out.data()[1].value.data.darray->size, count);
}

void the_table_of_another_host_can_be_asked_for(void **) {
    World world;
    auto query = world.one({PMIX_QUERY_LOCAL_PROC_TABLE});
    auto second = query;
    second.host = "b";
    world.ask({query, second});
    assert_int_equal(world.answered, 0);
    world.table(PMIX_SUCCESS, whole);
    assert_int_equal(world.status, PMIX_SUCCESS);
    assert_int_equal(world.found->size(), 2);
    assert_int_equal(world.found->data()[0].value.data.darray->size, 2);
    const auto *others = world.found->data()[1].value.data.darray;
    assert_int_equal(others->size, 1);
    assert_int_equal(static_cast<pmix_proc_info_t *>(others->array)->proc.rank, 2);
    second.node = 0; // that is "a"
    assert_int_equal(world.status_of(second), PMIX_ERR_NOT_FOUND);
}

void the_table_of_another_job_is_asked_there(void **) {
    World world;
    auto query = world.one({PMIX_QUERY_PROC_TABLE});
    query.nspace = "other";
    world.ask({query});
    world.job_found(PMIX_SUCCESS);
    assert_int_equal(world.asked_host, no_host);
    world.table(PMIX_SUCCESS, {{{0, 0, 5, 0, 6, "/bin/x"}, {1, 1, 6, 0, 6, "/bin/y"}}, {}});
    assert_int_equal(world.status, PMIX_SUCCESS);
    const auto *array = world.found->data()[0].value.data.darray;
    assert_int_equal(array->size, 2);
    const auto *procs = static_cast<pmix_proc_info_t *>(array->array);
    assert_string_equal(procs[1].proc.nspace, "other");
    assert_string_equal(procs[1].hostname, "z");

    // Of this host: "a", which that job does not have; then of one that it has, by its name and by its number.
    query.keys = {PMIX_QUERY_LOCAL_PROC_TABLE};
    world.ask({query});
    world.job_found(PMIX_SUCCESS);
    assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
    query.host = "b";
    world.ask({query});
    world.job_found(PMIX_SUCCESS);
    assert_int_equal(world.asked_host, 0);
    world.table(PMIX_ERR_LOST_CONNECTION, {});
    assert_int_equal(world.status, PMIX_ERR_LOST_CONNECTION);
    query.host.clear();
    query.node = 1;
    world.ask({query});
    world.job_found(PMIX_SUCCESS);
    assert_int_equal(world.asked_host, 1);
    world.table(PMIX_SUCCESS, {{{1, 1, 6, 0, 6, "/bin/y"}}, {}});
    assert_int_equal(world.found->data()[0].value.data.darray->size, 1);
}

void another_job_that_is_not_there_has_no_table(void **) {
    for (const char *key : {PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_QUERY_MEMORY_USAGE}) {
        World world;
        auto query = world.one({key});
        query.nspace = "nobody";
        world.ask({query});
        world.job_found(PMIX_ERR_NOT_FOUND);
        assert_int_equal(world.status, PMIX_ERR_NOT_FOUND);
        query.nspace = "other"; // it comes too late
        world.ask({query});
        world.service.on_time(start + 1h);
        assert_int_equal(world.status, PMIX_ERR_TIMEOUT);
        world.job_found(PMIX_SUCCESS);
        if (world.table)
            world.table(PMIX_SUCCESS, {});
        assert_int_equal(world.answered, 1);
        query.processes = {{"other", 2, false}};
        world.ask({query});
        world.job_found(PMIX_SUCCESS);
        assert_int_equal(world.status, PMIX_ERR_NOT_FOUND); // such a rank it has not
    }
}

void peers_and_hosts_are_resolved(void **) {
    World world;
    auto query = world.one({PMIX_QUERY_RESOLVE_PEERS});
    world.ask({query});
    assert_string_equal(members(world.value(query.keys[0].c_str())).c_str(), "job:0 job:1 ");
    query.host = "b";
    world.ask({query});
    assert_string_equal(members(world.value(query.keys[0].c_str())).c_str(), "job:2 other:0 ");
    query.nspace = "other";
    world.ask({query});
    assert_string_equal(members(world.value(query.keys[0].c_str())).c_str(), "other:0 ");
    query.host = "a";
    world.ask({query});
    assert_string_equal(members(world.value(query.keys[0].c_str())).c_str(), "");
    query.nspace = "nobody";
    assert_int_equal(world.status_of(query), PMIX_ERR_NOT_FOUND);
    auto nodes = world.one({PMIX_QUERY_RESOLVE_NODE});
    world.ask({nodes});
    assert_string_equal(world.value(nodes.keys[0].c_str())->data.string, "a,b,z");
    nodes.nspace = "other";
    world.ask({nodes});
    assert_string_equal(world.value(nodes.keys[0].c_str())->data.string, "b,z");
}

void the_allocation_is_told(void **) {
    World world;
    auto query = world.one({PMIX_QUERY_ALLOCATION});
    query.allocation = "12";
    world.ask({query});
    assert_string_equal(words(world.value(query.keys[0].c_str())).c_str(),
                        PMIX_NODE_INFO "=[" PMIX_HOSTNAME "=a " PMIX_NODEID "=0 " PMIX_LOCAL_SIZE "=2 ] " PMIX_NODE_INFO
                                       "=[" PMIX_HOSTNAME "=b " PMIX_NODEID "=1 " PMIX_LOCAL_SIZE "=1 ] " PMIX_NODE_INFO
                                       "=[" PMIX_HOSTNAME "=c ] ");
    query.allocation = "13";
    assert_int_equal(world.status_of(query), PMIX_ERR_NOT_FOUND);
    auto slots = world.one({PMIX_QUERY_AVAILABLE_SLOTS});
    slots.session = 12;
    world.ask({slots});
    world.rm(RmAnswer{0, 7, "", {}});
    assert_int_equal(world.value(slots.keys[0].c_str())->data.uint32, 7);
    slots.session = 13;
    assert_int_equal(world.status_of(slots), PMIX_ERR_NOT_FOUND);
}

void rights_of_tools_are_told_when_they_are_known(void **) {
    World world;
    world.ask({world.one({PMIX_QUERY_AUTHORIZATIONS})});
    assert_int_equal(world.answered, 0);
    world.rights({{"observe", true}, {"control", false}});
    assert_string_equal(words(world.value(PMIX_QUERY_AUTHORIZATIONS)).c_str(), "observe=yes control=no ");
}

using Names = std::set<std::string>;

// By function.
std::map<std::string, Names> host_attributes(World &world) {
    world.ask({world.one({PMIX_HOST_ATTRIBUTES})});
    const auto *array = world.value(PMIX_HOST_ATTRIBUTES)->data.darray;
    std::map<std::string, Names> out;
    for (std::size_t i = 0; i < array->size; ++i) {
        const auto &info = static_cast<pmix_info_t *>(array->array)[i];
        const auto *inner = info.value.data.darray;
        assert_int_equal(inner->type, PMIX_REGATTR);
        for (std::size_t j = 0; j < inner->size; ++j)
            out[info.key].insert(static_cast<pmix_regattr_t *>(inner->array)[j].name);
    }
    return out;
}

// Which functions and attributes there are depends on the RM.
void what_the_host_has_is_told(void **) {
    World world;
    auto functions = [&] {
        world.ask({world.one({PMIX_HOST_FUNCTIONS})});
        return "," + std::string(world.value(PMIX_HOST_FUNCTIONS)->data.string) + ",";
    };
    auto support = world.one({PMIX_QUERY_ATTRIBUTE_SUPPORT});
    assert_int_equal(world.status_of(support), PMIX_ERR_NOT_FOUND); // of clients and servers the host knows nothing
    support.host_functions = support.host_attributes = true;
    support.functions = "PMIx_Spawn,PMIx_Fence";
    world.ask({support});
    assert_int_equal(world.value(PMIX_QUERY_ATTRIBUTE_SUPPORT)->data.darray->size, 3);
    auto attributes = [&](const char *function) {
        auto all = host_attributes(world);
        std::string out = ",";
        for (const auto &name : all[function])
            out += name + ",";
        return out;
    };
    assert_true(functions().find(",PMIx_Spawn,") != std::string::npos);
    assert_true(functions().find(",PMIx_Query_info,") != std::string::npos);
    assert_true(attributes("PMIx_Log").find(",PMIX_LOG_JOB_RECORD,") != std::string::npos);
    assert_true(attributes("PMIx_Spawn").find(",PMIX_WDIR,") != std::string::npos);
    assert_true(attributes("PMIx_Query_info").find(",PMIX_TIME_REMAINING,") != std::string::npos);
    assert_true(attributes("PMIx_Query_info").find(",PMIX_QUERY_STORAGE_LIST,") == std::string::npos);
    world.has_rm = false;
    assert_true(functions().find("PMIx_Spawn") == std::string::npos);
    assert_true(functions().find("PMIx_Publish") == std::string::npos);
    assert_true(functions().find(",PMIx_Fence,") != std::string::npos);
    assert_true(attributes("PMIx_Log").find("PMIX_LOG_JOB_RECORD") == std::string::npos);
    assert_true(attributes("PMIx_Query_info").find("PMIX_TIME_REMAINING") == std::string::npos);
}

// What of jobs' streams there is depends on who holds them, and on who spawned them.
void streams_are_told_of(void **) {
    World world;
    auto of = [&](Facets facets, bool is_read, bool are_held) {
        world.all_abilities = {facets, is_read, are_held, true};
        std::string functions;
        world.ask({world.one({PMIX_HOST_FUNCTIONS})});
        std::string all = "," + std::string(world.value(PMIX_HOST_FUNCTIONS)->data.string) + ",";
        for (const char *each : {"pull", "push", "deregister"}) {
            if (all.find(fmt::format(",PMIx_IOF_{},", each)) != std::string::npos)
                functions += std::string(each) + " ";
        }
        return functions + (host_attributes(world)["PMIx_IOF_pull"].contains("PMIX_IOF_REDIRECT") ? "redirect" : "");
    };
    assert_string_equal(of(0, false, false).c_str(), "");
    assert_string_equal(of(0, true, false).c_str(), "pull deregister ");
    assert_string_equal(of(0, true, true).c_str(), "pull push deregister redirect");
    assert_string_equal(of(facets(Facet::spawned_step), false, false).c_str(), "pull push deregister ");
}

// Formats that the library of a tool would write twice with this one are not offered.
void formats_depend_on_the_library(void **) {
    World world;
    auto spawns = [&](const char *key) {
        world.ask({world.one({PMIX_QUERY_SPAWN_SUPPORT})});
        return ("," + std::string(world.value(PMIX_QUERY_SPAWN_SUPPORT)->data.string) + ",")
                   .find(fmt::format(",{},", key)) != std::string::npos;
    };
    assert_true(spawns(PMIX_IOF_XML_OUTPUT));
    world.all_abilities.tools_library_marks = false;
    assert_false(spawns(PMIX_IOF_XML_OUTPUT));
    assert_true(spawns(PMIX_WDIR));
    assert_false(host_attributes(world)["PMIx_Spawn"].contains("PMIX_IOF_XML_OUTPUT"));
}

// --- contrib/doc/coverage.md ------------------------------------------------------------------------

// What there works by section, without what has no name of an attribute.
std::map<std::string, Names> covered() {
    std::ifstream file(PMIXHOST_TOP_SRCDIR "/contrib/doc/coverage.md");
    assert_true(file.good());
    std::map<std::string, Names> out;
    std::string section;
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("## "))
            section = line.substr(3);
        auto end = line.find(" | ");
        if (!line.starts_with("| ") || end == std::string::npos || !line.substr(end).starts_with(" | works |"))
            continue;
        static const std::regex name("`(PMIX_[A-Z0-9_]+)");
        const std::string first = line.substr(0, end);
        for (std::sregex_iterator each(first.begin(), first.end(), name), none; each != none; ++each)
            out[section].insert((*each)[1]);
    }
    return out;
}

struct Section {
    const char *title, *prefix; // of names that are looked at
    std::vector<const char *> functions;
    bool whole = true; // all that these functions obey is there
    Names exceptions = {};
};
// clang-format off
const Section sections[] = {
    // Nobody can have an algorithm: who insists is refused.
    {"Fence", "", {"PMIx_Fence"}, true, {"PMIX_COLLECTIVE_ALGO", "PMIX_COLLECTIVE_ALGO_REQD"}},
    {"Direct modex", "", {"PMIx_Get"}},
    {"Publish and lookup", "", {"PMIx_Publish", "PMIx_Lookup", "PMIx_Unpublish"}},
    {"Process sets", "PMIX_PSET_NAME", {"PMIx_Spawn"}, false},
    // What the host says of its own events.
    {"Events: attributes", "PMIX_EVENT_", {"PMIx_Notify_event", "PMIx_Spawn"}, false,
     {"PMIX_EVENT_AFFECTED_PROC", "PMIX_EVENT_AFFECTED_PROCS", "PMIX_EVENT_NON_DEFAULT", "PMIX_EVENT_TIMESTAMP",
      "PMIX_EVENT_DO_NOT_CACHE", "PMIX_EVENT_TERMINATE_SESSION", "PMIX_EVENT_TERMINATE_JOB",
      "PMIX_EVENT_TERMINATE_NODE", "PMIX_EVENT_TERMINATE_PROC", "PMIX_EVENT_ACTION_TIMEOUT", "PMIX_EVENT_PROXY",
      "PMIX_EVENT_TEXT_MESSAGE"}},
    // What is told in answers and events; a group of one host, which is the library's; what each member gives, which
    // comes to the host in PMIX_GROUP_ENDPT_DATA.
    {"Groups: attributes", "", {"PMIx_Group_construct", "PMIx_Group_destruct", "PMIx_Query_info"}, false,
     {"PMIX_GROUP_ID", "PMIX_GROUP_MEMBERSHIP", "PMIX_GROUP_CONTEXT_ID", "PMIX_GROUP_LOCAL_ONLY", "PMIX_GROUP_INFO",
      "PMIX_GROUP_LOCAL_CID"}},
    // What is in answers; qualifiers, which each key tells (PMIX_QUERY_SUPPORTED_QUALIFIERS); what a host has none of;
    // what the library finds; a status.
    {"Queries", "", {"PMIx_Query_info"}, false,
     {"PMIX_DAEMON_MEMORY", "PMIX_CLIENT_AVG_MEMORY", "PMIX_QUERY_SUPPORTED_QUALIFIERS", "PMIX_QUERY_LOCAL_ONLY",
      "PMIX_QUERY_REPORT_AVG", "PMIX_QUERY_REPORT_MINMAX", "PMIX_QUERY_STORAGE_LIST", "PMIX_QUERY_AVAIL_SERVERS",
      "PMIX_ERR_PARTIAL_SUCCESS"}},
    // Events; what the library removes.
    {"Job control", "", {"PMIx_Job_control"}, true,
     {"PMIX_JCTRL_CHECKPOINT", "PMIX_JCTRL_CHECKPOINT_COMPLETE", "PMIX_REGISTER_CLEANUP", "PMIX_REGISTER_CLEANUP_DIR",
      "PMIX_CLEANUP_RECURSIVE", "PMIX_CLEANUP_LEAVE_TOPDIR"}},
    // What the answer has.
    {"Credentials", "", {"PMIx_Get_credential", "PMIx_Validate_credential"}, true, {"PMIX_USERID", "PMIX_GRPID"}},
    // The library puts equal lines together.
    {"Log", "", {"PMIx_Log", "PMIx_Spawn"}, false, {"PMIX_LOG_KEY", "PMIX_LOG_VAL", "PMIX_LOG_AGG"}},
    // What a child is told; an event.
    {"Spawn", "", {"PMIx_Spawn"}, false, {"PMIX_SPAWNED", "PMIX_READY_FOR_DEBUG"}},
    // What a tool tells its own library.
    {"Tools", "PMIX_IOF_", {"PMIx_IOF_pull", "PMIx_IOF_push"}, true, {"PMIX_IOF_PUSH_STDIN"}},
    // Which request it is.
    {"Allocation", "", {"PMIx_Allocation_request"}, true,
     {"PMIX_ALLOC_NEW", "PMIX_ALLOC_EXTEND", "PMIX_ALLOC_RELEASE"}},
};
// clang-format on

void what_is_told_is_what_works(void **) {
    World world;
    auto told = host_attributes(world);
    auto works = covered();
    std::string wrong;
    auto complain = [&](const Section &section, const std::string &name, const char *what) {
        wrong += fmt::format("{}: {} {}\n", section.title, name, what);
    };
    for (const Section &section : sections) {
        const Names &rows = works[section.title];
        Names obeyed;
        for (const char *function : section.functions)
            obeyed.insert(told.at(function).begin(), told.at(function).end());
        for (const auto &name : rows) {
            if (name.starts_with(section.prefix) && !section.exceptions.contains(name) && !obeyed.contains(name))
                complain(section, name, "works, and no function has it");
        }
        for (const auto &name : section.exceptions) {
            if (obeyed.contains(name) || !rows.contains(name))
                complain(section, name, "is no exception");
        }
        for (const auto &name : section.whole ? obeyed : Names()) {
            if (!rows.contains(name))
                complain(section, name, "is told, and has no row that works");
        }
    }
    // Of PMIx_Spawn and PMIx_Query_info there may be more than the table has; of the others in these sections not.
    for (const auto &[title, function] :
         {std::pair{"Log", "PMIx_Log"}, {"Groups: attributes", "PMIx_Group_construct"}}) {
        for (const auto &name : told.at(function)) {
            if (!works[title].contains(name))
                wrong += fmt::format("{}: {} of {} has no row that works\n", title, name, function);
        }
    }
    assert_string_equal(wrong.c_str(), "");
}

// A qualifier that must be obeyed is refused where the key does not obey it, and each key says which it does.
void qualifiers_are_told_and_kept(void **) {
    World world;
    for (const auto &key : world.service.supported_keys()) {
        auto query = world.one({key});
        query.asks_qualifiers = true;
        world.ask({query});
        assert_int_equal(world.status, PMIX_SUCCESS);
        std::string list = "," + std::string(world.value(key.c_str())->data.string) + ",";
        assert_true(list.find("," PMIX_TIMEOUT ",") != std::string::npos);
        query.asks_qualifiers = false;
        query.required = {PMIX_ALLOC_QUEUE};
        bool has = list.find("," PMIX_ALLOC_QUEUE ",") != std::string::npos;
        assert_int_equal(has, key == PMIX_QUERY_QUEUE_STATUS);
        if (!has) {
            assert_int_equal(world.status_of(query), PMIX_ERR_NOT_SUPPORTED);
            assert_non_null(std::strstr(world.log.c_str(), PMIX_ALLOC_QUEUE));
        }
    }
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(sets_and_groups_are_told),
        cmocka_unit_test(the_groups_of_a_process_are_told),
        cmocka_unit_test(the_same_table_twice_in_a_call_is_refused),
        cmocka_unit_test(a_call_is_told_so_much),
        cmocka_unit_test(what_agents_start_is_told_so_often),
        cmocka_unit_test(each_key_has_a_status_of_its_own),
        cmocka_unit_test(an_agent_is_told_what_it_is_to_start),
        cmocka_unit_test(what_is_supported_is_answered),
        cmocka_unit_test(namespaces_are_told),
        cmocka_unit_test(no_time_is_too_long),
        cmocka_unit_test(the_table_is_waited_for),
        cmocka_unit_test(the_rm_is_asked_with_a_deadline),
        cmocka_unit_test(too_many_questions_are_refused),
        cmocka_unit_test(memory_is_told_of_hosts_and_processes),
        cmocka_unit_test(the_table_of_another_host_can_be_asked_for),
        cmocka_unit_test(a_hundred_thousand_are_told_promptly),
        cmocka_unit_test(the_table_of_another_job_is_asked_there),
        cmocka_unit_test(another_job_that_is_not_there_has_no_table),
        cmocka_unit_test(peers_and_hosts_are_resolved),
        cmocka_unit_test(the_allocation_is_told),
        cmocka_unit_test(rights_of_tools_are_told_when_they_are_known),
        cmocka_unit_test(what_the_host_has_is_told),
        cmocka_unit_test(streams_are_told_of),
        cmocka_unit_test(formats_depend_on_the_library),
        cmocka_unit_test(what_is_told_is_what_works),
        cmocka_unit_test(qualifiers_are_told_and_kept),
    };
    return cmocka_run_group_tests_name("query service", tests, nullptr, nullptr);
}
