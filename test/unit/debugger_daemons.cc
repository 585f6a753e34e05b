// Debugger daemons in a spawn request: beside which processes they are started, how many, and as what job.
#include "server-glue/spawn/debugger_daemons.h"

#include "server-glue/spawn/plan_spawn.h"
#include "server-glue/spawn/spawn_request.h"

#include <fmt/ranges.h>
#include <pmix.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

using Directives = std::vector<wire::SpawnDirective>;

wire::SpawnDirective number(const char *key, std::uint64_t value) {
    return {key, 0, static_cast<std::uint8_t>(SpawnValue::number), {}, value};
}
wire::SpawnDirective flag(const char *key, bool value = true) {
    return {key, 0, static_cast<std::uint8_t>(SpawnValue::flag), {}, value ? 1u : 0u};
}
wire::SpawnDirective text(const char *key, const std::string &value) {
    return {key, 0, static_cast<std::uint8_t>(SpawnValue::text), value, 0};
}
wire::SpawnDirective target(const std::string &nspace, Rank rank = PMIX_RANK_WILDCARD) {
    return {PMIX_DEBUG_TARGET, 0, static_cast<std::uint8_t>(SpawnValue::process), nspace, rank};
}

wire::SpawnApp app(const char *program, int count, Directives directives = {}) {
    wire::SpawnApp out;
    out.command = program;
    out.count = count;
    out.directives = std::move(directives);
    return out;
}

wire::SpawnRequest request(Directives directives, std::vector<wire::SpawnApp> apps) {
    wire::SpawnRequest out;
    out.nspace = "parent";
    out.directives = std::move(directives);
    out.apps = std::move(apps);
    return out;
}

SpawnSite three_hosts() {
    SpawnSite site;
    site.hosts = {{"n1", 2}, {"n2", 2}, {"n3", 4}};
    return site;
}

std::variant<SpawnPlan, SpawnRefusal> plan(const wire::SpawnRequest &asked) {
    return plan_spawn(asked, three_hosts());
}

// Where the daemons are, or the status; two processes to debug on n1 and one on n3.
std::string placed(Directives directives, int count = 0) {
    auto asked = request(std::move(directives), {app("daemon", count)});
    asked.targets = {{"n1", 2}, {"n3", 1}};
    auto result = plan(asked);
    if (auto *no = std::get_if<SpawnRefusal>(&result))
        return PMIx_Error_string(no->status);
    return fmt::format("{}", fmt::join(std::get<SpawnPlan>(result).host_of_rank, " "));
}

void check(const std::string &got, const std::string &wanted) {
    assert_string_equal(got.c_str(), wanted.c_str());
}

void they_are_beside_what_they_debug(void **) {
    check(placed({target("job"), number(PMIX_DEBUG_DAEMONS_PER_NODE, 1)}), "n1 n3");
    check(placed({target("job"), number(PMIX_DEBUG_DAEMONS_PER_NODE, 3)}), "n1 n1 n1 n3 n3 n3");
    check(placed({target("job"), number(PMIX_DEBUG_DAEMONS_PER_PROC, 2)}), "n1 n1 n1 n1 n3 n3");
    check(placed({target("job"), number(PMIX_DEBUG_DAEMONS_PER_NODE, 1)}, 7), "n1 n3"); // the target says how many
    check(placed({target("job"), text(PMIX_MAPBY, "ppr:1:node")}), "n1 n3");
    check(placed({target("job")}, 3), "n1 n1 n3");
    check(placed({target("job"), text(PMIX_HOST, "n2")}, 1), "n2");
}

void what_makes_no_sense_is_refused(void **) {
    const std::string bad = PMIx_Error_string(PMIX_ERR_BAD_PARAM);
    check(placed({number(PMIX_DEBUG_DAEMONS_PER_NODE, 1)}), bad);
    check(placed({target("job"), number(PMIX_DEBUG_DAEMONS_PER_NODE, 1), number(PMIX_DEBUG_DAEMONS_PER_PROC, 1)}), bad);
    check(placed({target("job"), number(PMIX_DEBUG_DAEMONS_PER_NODE, 70'000)}), bad);
    check(placed({target("job"), text(PMIX_DEBUG_DAEMONS_PER_NODE, "1")}), bad);
    check(placed({target("job"), target("other"), number(PMIX_DEBUG_DAEMONS_PER_NODE, 1)}), bad);
    check(placed({text(PMIX_DEBUG_TARGET, "job"), number(PMIX_DEBUG_DAEMONS_PER_NODE, 1)}), bad);
    check(placed({target("job")}), bad); // nobody says how many
    check(placed({target("job"), number(PMIX_DEBUG_DAEMONS_PER_NODE, 60'000)}),
          PMIx_Error_string(PMIX_ERR_OUT_OF_RESOURCE));
    auto elsewhere = request({target("job"), number(PMIX_DEBUG_DAEMONS_PER_NODE, 1)}, {app("daemon", 0)});
    auto refusal = plan(elsewhere);
    assert_int_equal(std::get<SpawnRefusal>(refusal).status, PMIX_ERR_NOT_FOUND);
    elsewhere.targets = {{"n9", 1}};
    refusal = plan(elsewhere);
    assert_int_equal(std::get<SpawnRefusal>(refusal).status, PMIX_ERR_NOT_FOUND);
}

void they_do_not_stop_and_share_no_fate(void **) {
    auto asked = request({target("job"), flag(PMIX_DEBUGGER_DAEMONS), flag(PMIX_DEBUG_STOP_IN_INIT),
                          text(PMIX_PERSONALITY, "ompi"), number(PMIX_DEBUG_DAEMONS_PER_NODE, 1)},
                         {app("daemon", 0)});
    asked.targets = {{"n1", 1}};
    auto result = plan(asked);
    const auto &made = std::get<SpawnPlan>(result);
    assert_true(made.stops.empty());
    assert_false(made.shares_fate);
    check(made.debugs, "job");
    auto word = ParentWord::parse(made.parent().text());
    assert_true(word.has_value());
    check(word->debugs, "job");
    assert_int_equal(word->debugged_rank, PMIX_RANK_WILDCARD);
    check(word->nspace, "parent");
    assert_false(ParentWord::parse("parent 0 debugs job").has_value());
    assert_false(ParentWord::parse("parent 0 debugs  7").has_value());
}

void all_of_one_program_may_stop(void **) {
    auto stops = [](Directives own) {
        auto result = plan(request({}, {app("a", 2), app("b", 3, std::move(own))}));
        auto *no = std::get_if<SpawnRefusal>(&result);
        return no ? std::string(PMIx_Error_string(no->status)) : std::get<SpawnPlan>(result).stops.text();
    };
    check(stops({flag(PMIX_DEBUG_STOP_IN_INIT)}), "init=2-4");
    check(stops({flag(PMIX_DEBUG_STOP_IN_INIT, false)}), "");
    check(stops({number(PMIX_DEBUG_STOP_IN_INIT, 1)}), PMIx_Error_string(PMIX_ERR_BAD_PARAM));
}

void daemons_are_a_job_of_their_own(void **) {
    auto asked =
        request({flag(PMIX_DEBUG_STOP_ON_EXEC), number(PMIX_DEBUG_STOP_IN_INIT, 2), flag(PMIX_FWD_STDOUT),
                 flag(PMIX_IOF_FILE_ONLY), number(PMIX_IOF_BUFFERING_SIZE, 9), number(PMIX_DEBUG_DAEMONS_PER_NODE, 1)},
                {app("daemon", 0, {flag(PMIX_DEBUGGER_DAEMONS)}), app("a", 2),
                 app("other", 1, {flag(PMIX_COSPAWN_APP)}), app("b", 1)});
    auto other = take_cospawned(asked);
    assert_true(other.has_value());
    auto daemons = take_daemons(asked);
    assert_true(daemons.has_value());
    assert_int_equal(asked.apps.size(), 2);
    check(asked.apps[0].command, "a");
    check(asked.apps[1].command, "b");
    assert_int_equal(daemons->apps.size(), 1);
    check(daemons->apps[0].command, "daemon");
    assert_int_equal(other->apps.size(), 1);
    check(other->apps[0].command, "other");
    assert_false(are_daemons(*other));
    auto keys = [](const wire::SpawnRequest &which) {
        std::vector<std::string> out;
        for (const auto &d : which.directives)
            out.push_back(d.key);
        return fmt::format("{}", fmt::join(out, " "));
    };
    check(keys(asked), PMIX_DEBUG_STOP_ON_EXEC " " PMIX_DEBUG_STOP_IN_INIT " " PMIX_FWD_STDOUT " " PMIX_IOF_FILE_ONLY
                                               " " PMIX_IOF_BUFFERING_SIZE " " PMIX_NOTIFY_COMPLETION);
    check(keys(*daemons), PMIX_DEBUG_DAEMONS_PER_NODE);
    check(keys(*other), PMIX_DEBUG_STOP_ON_EXEC " " PMIX_IOF_FILE_ONLY " " PMIX_DEBUG_DAEMONS_PER_NODE);
    set_debug_target(*daemons, "slurm.1.2");
    check(debug_target_of(*daemons)->nspace, "slurm.1.2");
    set_debug_target(*daemons, "slurm.1.3");
    check(debug_target_of(*daemons)->nspace, "slurm.1.2");
}

// A wrapper, a limit of time and a name are the application's.
void some_of_a_request_is_the_applications(void **) {
    auto asked =
        request({text(PMIX_EXEC_AGENT, "/bin/wrap"), number(PMIX_JOB_TIMEOUT, 9), text(PMIX_PSET_NAME, "set"),
                 text(PMIX_WDIR, "/tmp")},
                {app("a", 2), app("daemon", 0, {flag(PMIX_DEBUGGER_DAEMONS), text(PMIX_EXEC_AGENT, "/bin/own")})});
    asked.directives.push_back(text(PMIX_FORKEXEC_AGENT, "/bin/starts"));
    auto daemons = take_daemons(asked);
    assert_true(daemons.has_value());
    assert_int_equal(asked.directives.size(), 6); // with PMIX_NOTIFY_COMPLETION
    assert_int_equal(daemons->directives.size(), 1);
    check(daemons->directives[0].key, PMIX_WDIR);
    assert_int_equal(daemons->apps[0].directives.size(), 2); // what is said of it alone is meant for it
}

void one_kind_is_one_job(void **) {
    auto alone = request({}, {app("daemon", 1, {flag(PMIX_DEBUGGER_DAEMONS)})});
    assert_false(take_daemons(alone).has_value());
    auto all = request({flag(PMIX_DEBUGGER_DAEMONS)}, {app("a", 1), app("b", 1)});
    assert_false(take_daemons(all).has_value());
    auto none = request({}, {app("a", 1), app("b", 1, {flag(PMIX_DEBUGGER_DAEMONS, false)})});
    assert_false(take_daemons(none).has_value());
    assert_false(are_daemons(none));
    assert_int_equal(alone.apps.size(), 1);
}

// Whoever counts jobs is told before the second one is taken out.
void a_request_has_two_jobs_where_one_is_taken_out(void **) {
    const auto daemon = flag(PMIX_DEBUGGER_DAEMONS), other = flag(PMIX_COSPAWN_APP);
    const std::vector<Directives> kinds{{}, {daemon}, {other}, {daemon, other}, {flag(PMIX_COSPAWN_APP, false)}};
    for (const Directives &of_all : {Directives(), Directives{daemon}, Directives{other}}) {
        for (const auto &first : kinds) {
            for (const auto &second : kinds) {
                auto asked = request(of_all, {app("a", 1, first), app("b", 1, second)});
                const bool has_two = has_two_jobs(asked);
                const bool has_other = take_cospawned(asked).has_value();
                assert_true(has_two == (take_daemons(asked).has_value() || has_other));
            }
        }
        assert_false(has_two_jobs(request(of_all, {app("a", 1)})));
    }
}

void the_hosts_of_a_target_are_known(void **) {
    StepInfo step;
    step.map = *JobMap::create({"n1", "n2", "n3"}, {{0, 1}, {}, {2}});
    auto hosts = target_hosts(step, {"job", 0, true});
    assert_int_equal(hosts.size(), 2);
    check(hosts[1].host, "n3");
    assert_int_equal(hosts[0].processes, 2);
    assert_int_equal(target_hosts(step, {"job", 2, false}).size(), 1);
    assert_true(target_hosts(step, {"job", 3, false}).empty());
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(they_are_beside_what_they_debug),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(they_do_not_stop_and_share_no_fate),
        cmocka_unit_test(all_of_one_program_may_stop),
        cmocka_unit_test(daemons_are_a_job_of_their_own),
        cmocka_unit_test(one_kind_is_one_job),
        cmocka_unit_test(some_of_a_request_is_the_applications),
        cmocka_unit_test(a_request_has_two_jobs_where_one_is_taken_out),
        cmocka_unit_test(the_hosts_of_a_target_are_known),
    };
    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
