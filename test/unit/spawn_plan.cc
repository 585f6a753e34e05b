// What PMIx_Spawn is asked, from the caller's structures to the plan, and what a spawned process
// reads of it.
#include "server-glue/spawn/plan_spawn.h"

#include "common/process/descriptor_message.h"
#include "common/start/agent_description.h"
#include "common/start/exec_words.h"
#include "server-glue/spawn/spawn_directives.h"
#include "server-glue/spawn/spawn_request.h"
#include "server-glue/tasks/local_tasks.h"

#include <algorithm>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <fstream>
#include <pmix.h>
#include <set>
#include <sstream>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test/unit/check.h"

using namespace pmixhost;

namespace {

SpawnSite three_hosts() {
    SpawnSite site;
    site.hosts = {{"n1", 2}, {"n2", 2}, {"n3", 4}};
    site.read_file = [](const std::string &path) -> Result<std::string> {
        if (path == "good")
            return std::string("# mine\nn3 slots=1\n\n\tn1\n");
        return error(ErrorKind::not_found, "no {}", path);
    };
    return site;
}

wire::SpawnDirective text(const char *key, const std::string &value, bool required = false) {
    return {key, required, static_cast<std::uint8_t>(SpawnValue::text), value, 0};
}
wire::SpawnDirective number(const char *key, std::uint64_t value) {
    return {key, 0, static_cast<std::uint8_t>(SpawnValue::number), {}, value};
}
wire::SpawnDirective flag(const char *key, bool required = false) {
    return {key, required, static_cast<std::uint8_t>(SpawnValue::flag), {}, 1};
}
wire::SpawnDirective variable(const char *key, const std::string &value, char separator) {
    return {key, 0, static_cast<std::uint8_t>(SpawnValue::variable), value, static_cast<unsigned char>(separator)};
}

wire::SpawnRequest ask(int count, std::vector<wire::SpawnDirective> directives = {}) {
    wire::SpawnRequest request;
    request.nspace = "parent";
    request.rank = 3;
    request.directives = std::move(directives);
    wire::SpawnApp app;
    app.command = "prog";
    app.argv = {"prog", "x"};
    app.count = count;
    request.apps = {app};
    return request;
}

// The hosts of the ranks, or the status.
std::string placed(const wire::SpawnRequest &request) {
    auto result = plan_spawn(request, three_hosts());
    if (auto *no = std::get_if<SpawnRefusal>(&result))
        return PMIx_Error_string(no->status);
    auto &plan = std::get<SpawnPlan>(result);
    return fmt::format("{}{}", fmt::join(plan.host_of_rank, " "), plan.oversubscribed ? " over" : "");
}

void check(const std::string &got, const char *wanted) {
    assert_string_equal(got.c_str(), wanted);
}

void hosts_are_filled_in_order(void **) {
    check(placed(ask(1)), "n1");
    check(placed(ask(5)), "n1 n1 n2 n2 n3");
    check(placed(ask(4, {text(PMIX_MAPBY, "node")})), "n1 n2 n3 n1");
    check(placed(ask(4, {text(PMIX_MAPBY, "node"), text(PMIX_RANKBY, "slot")})), "n1 n1 n2 n3");
    check(placed(ask(4, {text(PMIX_MAPBY, "slot"), text(PMIX_RANKBY, "node")})), "n1 n2 n1 n2");
    for (const char *key : {PMIX_RANKBY, PMIX_BINDTO}) { // with a modifier, which means nothing here
        auto modified = text(key, key == std::string_view(PMIX_BINDTO) ? "core:overload-allowed" : "slot:fill");
        check(placed(ask(2, {modified})), "n1 n1");
        modified.required = 1;
        check(placed(ask(2, {modified})), PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED));
    }
    check(placed(ask(2, {number(PMIX_RANKBY, 1)})), PMIx_Error_string(PMIX_ERR_BAD_PARAM));
    check(placed(ask(3, {text(PMIX_PPR, "1:node")})), "n1 n2 n3");
    check(placed(ask(3, {text(PMIX_MAPBY, "ppr:1:node")})), "n1 n2 n3");
    check(placed(ask(3, {number(PMIX_CPUS_PER_PROC, 2)})), "n1 n2 n3");
    check(placed(ask(2, {flag(PMIX_NO_PROCS_ON_HEAD)})), "n2 n2");
}

void what_does_not_fit_is_out_of_resource(void **) {
    check(placed(ask(8)), "n1 n1 n2 n2 n3 n3 n3 n3");
    check(placed(ask(9)), PMIx_Error_string(PMIX_ERR_OUT_OF_RESOURCE));
    check(placed(ask(4, {text(PMIX_PPR, "1:node")})), PMIx_Error_string(PMIX_ERR_OUT_OF_RESOURCE));
    check(placed(ask(10, {text(PMIX_MAPBY, "slot:oversubscribe")})), "n1 n1 n1 n2 n2 n2 n3 n3 n3 n3 over");
    check(placed(ask(10, {text(PMIX_MAPBY, "slot:oversubscribe"), flag(PMIX_NO_OVERSUBSCRIBE)})),
          PMIx_Error_string(PMIX_ERR_OUT_OF_RESOURCE));
    check(placed(ask(0)), PMIx_Error_string(PMIX_ERR_BAD_PARAM));
    check(placed(ask(-1)), PMIx_Error_string(PMIX_ERR_BAD_PARAM));
    check(placed(ask(INT32_MAX)), PMIx_Error_string(PMIX_ERR_OUT_OF_RESOURCE));
}

// The launcher serves its srun's other processes meanwhile: with a look at each host for each process, or at all names
// for each name, these would take minutes.
void a_hundred_thousand_are_placed_promptly(void **) {
    constexpr std::uint32_t count = 100'000, small = 10'000;
    SpawnSite site;
    site.hosts = {{"big", count - small}};
    for (std::uint32_t host = 0; host < small; ++host)
        site.hosts.push_back({fmt::format("n{}", host), 1});
    auto round = plan_spawn(ask(count, {text(PMIX_MAPBY, "node")}), site);
    const auto &placed = std::get<SpawnPlan>(round).host_of_rank;
    assert_int_equal(placed.size(), count);
    assert_string_equal(placed[small].c_str(), "n9999");
    assert_string_equal(placed[small + 1].c_str(), "big");

    site.hosts.clear();
    std::vector<std::string> names;
    for (std::uint32_t host = 0; host < count; ++host) {
        site.hosts.push_back({fmt::format("n{}", host), 1});
        names.push_back(site.hosts.back().name);
    }
    std::reverse(names.begin(), names.end());
    auto request = ask(2000, {text(PMIX_HOST, fmt::format("{}", fmt::join(names, ",")))});
    request.apps.resize(50, request.apps.front());
    auto named = plan_spawn(request, site);
    assert_string_equal(std::get<SpawnPlan>(named).host_of_rank.front().c_str(), "n99999");
    assert_string_equal(std::get<SpawnPlan>(named).host_of_rank.back().c_str(), "n0");
}

void hosts_that_are_named_are_used(void **) {
    check(placed(ask(3, {text(PMIX_HOST, "n3,n1")})), "n3 n3 n3");
    check(placed(ask(3, {text(PMIX_HOST, "n3:1,n1")})), "n3 n1 n1");
    check(placed(ask(3, {text(PMIX_HOST, "n1:3")})), "n1 n1 n1 over");
    check(placed(ask(2, {text(PMIX_HOST, "n1:1,n1:1")})), "n1 n1");
    check(placed(ask(1, {text(PMIX_HOST, "n9")})), PMIx_Error_string(PMIX_ERR_NOT_FOUND));
    check(placed(ask(3, {text(PMIX_HOSTFILE, "good")})), "n3 n1 n1");
    check(placed(ask(1, {text(PMIX_HOSTFILE, "bad")})), PMIx_Error_string(PMIX_ERR_NOT_FOUND));
    check(placed(ask(1, {text(PMIX_ADD_HOST, "n2")})), "n1");
    check(placed(ask(1, {text(PMIX_ADD_HOST, "n9")})), PMIx_Error_string(PMIX_ERR_JOB_ALLOC_FAILED));
    check(placed(ask(1, {number(PMIX_HOST, 1)})), PMIx_Error_string(PMIX_ERR_BAD_PARAM));
}

void several_programs_have_hosts_and_ranks_of_their_own(void **) {
    auto request = ask(2, {text(PMIX_HOST, "n1,n2")});
    request.apps.push_back(request.apps.front());
    request.apps[1].directives = {text(PMIX_HOST, "n3"), text(PMIX_WDIR, "/tmp")};
    request.apps.push_back(request.apps.front());
    check(placed(request), "n1 n1 n3 n3 n2 n2");
    auto result = plan_spawn(request, three_hosts());
    auto &plan = std::get<SpawnPlan>(result);
    assert_int_equal(plan.apps[2].first, 4);
    assert_string_equal(plan.apps[0].directory.c_str(), "");
    assert_string_equal(plan.apps[1].directory.c_str(), "/tmp");
}

void a_required_directive_is_met_or_refused(void **) {
    // What is required not to be there, is not there.
    wire::SpawnDirective no = flag(PMIX_PRELOAD_BIN, true);
    no.number = 0;
    assert_string_equal(placed(ask(1, {no})).c_str(), "n1");
    check(placed(ask(1, {flag("my.own", false)})), "n1");
    check(placed(ask(1, {flag("my.own", true)})), PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED));
    check(placed(ask(1, {flag(PMIX_PRELOAD_BIN, false)})), "n1");
    check(placed(ask(1, {flag(PMIX_PRELOAD_BIN, true)})), PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED));
    check(placed(ask(1, {text(PMIX_MAPBY, "board", true)})), PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED));
    check(placed(ask(1, {text(PMIX_MAPBY, "board", false)})), "n1");
    auto result = plan_spawn(ask(1, {flag(PMIX_PRELOAD_BIN, true)}), three_hosts());
    assert_non_null(std::strstr(std::get<SpawnRefusal>(result).text.c_str(), "PMIX_PRELOAD_BIN"));
}

void programs_are_process_sets(void **) {
    auto request = ask(2, {});
    request.apps.push_back(request.apps.front());
    request.apps[1].directives = {text(PMIX_PSET_NAME, "kids")};
    request.apps.push_back(request.apps.front());
    request.apps[2].directives = {text(PMIX_PSET_NAME, "kids")};
    request.apps[2].command = "/bin/ice";
    request.apps[2].argv = {"/bin/ice"};
    auto result = plan_spawn(request, three_hosts());
    auto sets = std::get<SpawnPlan>(result).process_sets;
    std::string named = format_process_sets({sets.begin(), sets.begin() + 1});
    check(named, "kids=2-5");
    check(format_process_sets({sets.end() - 1, sets.end()}), "ice=4-5");
    assert_int_equal(sets.size(), 4);
    result = plan_spawn(ask(2, {text(PMIX_PSET_NAME, "all")}), three_hosts());
    check(format_process_sets(std::get<SpawnPlan>(result).process_sets), "all=0-1");
    check(placed(ask(2, {text(PMIX_PSET_NAME, "a b")})), PMIx_Error_string(PMIX_ERR_BAD_PARAM));
    check(placed(ask(2, {flag(PMIX_PSET_NAME, false)})), PMIx_Error_string(PMIX_ERR_BAD_PARAM));
    result = plan_spawn(ask(2), three_hosts());
    assert_true(std::get<SpawnPlan>(result).process_sets.empty());
}

// The attributes that the headers list between "spawn directives" and the next heading.
void every_spawn_attribute_of_the_headers_is_in_the_table(void **) {
    std::set<std::string> known;
    for (const auto &attribute : spawn_attributes()) {
        assert_true(known.insert(std::string(attribute.name)).second);
        assert_ptr_equal(find_spawn_attribute(attribute.key), &attribute);
    }
    std::ifstream header;
    std::istringstream flags(PMIXHOST_PMIX_CFLAGS " -I/usr/include");
    for (std::string flag; !header.is_open() && flags >> flag;) {
        if (flag.starts_with("-I"))
            header.open(flag.substr(2) + "/pmix_common.h");
    }
    assert_true(header.is_open());
    bool inside = false;
    int seen = 0;
    for (std::string line; std::getline(header, line);) {
        if (line.find("\"spawn\" directives") != std::string::npos)
            inside = true;
        else if (inside && line.starts_with("/*"))
            inside = false;
        if (!inside || !line.starts_with("#define PMIX_"))
            continue;
        std::string name = line.substr(8, line.find(' ', 8) - 8);
        if (!known.contains(name))
            fail_msg("%s is not in server-glue/spawn/spawn_directives.cc", name.c_str());
        ++seen;
    }
    assert_true(seen > 40);
}

void the_environment_is_changed_in_order(void **) {
    auto request = ask(1, {variable(PMIX_PREPEND_ENVAR, "P=a", ':'), variable(PMIX_APPEND_ENVAR, "P=z", ';'),
                           variable(PMIX_ADD_ENVAR, "HAVE=new", 0), variable(PMIX_ADD_ENVAR, "NEW=new", 0),
                           text(PMIX_UNSET_ENVAR, "GO"), variable(PMIX_SET_ENVAR, "OWN=job", 0)});
    request.apps[0].environment = {"OWN=app", "E=1=2", "broken"};
    auto result = plan_spawn(request, three_hosts());
    std::vector<std::string> environment{"P=m", "HAVE=old", "GO=away", "GOING=stays"};
    apply_changes(std::get<SpawnPlan>(result).apps[0].changes, environment);
    assert_string_equal(fmt::format("{}", fmt::join(environment, " ")).c_str(),
                        "P=a:m;z HAVE=old GOING=stays OWN=job E=1=2 NEW=new");
    environment = {"L=b:a:c:a"};
    apply_changes({{EnvironmentChange::Kind::first, "L", "a", ':'}}, environment);
    assert_string_equal(environment[0].c_str(), "L=a:b:c");
}

void the_rest_of_the_directives_is_in_the_plan(void **) {
    auto request = ask(2, {number(PMIX_TIMEOUT, 7), text(PMIX_BINDTO, "core:overload-allowed"),
                           number(PMIX_STDIN_TGT, 1), flag(PMIX_IOF_TAG_OUTPUT), flag(PMIX_MERGE_STDERR_STDOUT),
                           flag(PMIX_INDEX_ARGV), text(PMIX_PREFIX, "/opt/x")});
    auto result = plan_spawn(request, three_hosts());
    auto &plan = std::get<SpawnPlan>(result);
    assert_int_equal(plan.timeout->count(), 7);
    auto spawn_timeout = plan_spawn(ask(2, {number(PMIX_SPAWN_TIMEOUT, 8)}), three_hosts());
    assert_int_equal(std::get<SpawnPlan>(spawn_timeout).timeout->count(), 8);
    assert_true(plan.binding == SpawnPlan::Binding::core);
    assert_int_equal(*plan.stdin_rank, 1);
    assert_true(plan.label_output && plan.apps[0].merge && plan.apps[0].index_argv);
    std::vector<std::string> environment{"PATH=/bin"};
    apply_changes(plan.apps[0].changes, environment);
    assert_string_equal(environment[0].c_str(), "PATH=/opt/x/bin:/bin");
    check(placed(ask(2, {number(PMIX_STDIN_TGT, 2)})), PMIx_Error_string(PMIX_ERR_BAD_PARAM));
}

void an_agent_becomes_the_program(void **) {
    auto two = ask(1, {text(PMIX_EXEC_AGENT, "/opt/agent")});
    two.apps.push_back(two.apps[0]);
    two.apps[1].argv = {two.apps[1].command = "other"};
    auto result = plan_spawn(two, three_hosts());
    const auto &plan = std::get<SpawnPlan>(result);
    check(plan.apps[0].program, "/opt/agent");
    check(fmt::format("{}", fmt::join(plan.apps[0].argv, " ")), "/opt/agent prog x");
    check(format_process_sets(plan.process_sets), "prog=0;other=1"); // named as the programs are
    check(placed(ask(1, {text(PMIX_LAUNCHER_DAEMON, "/opt/daemon")})), PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED));
}

void an_agent_starts_the_program(void **) {
    auto request = ask(2, {text(PMIX_FORKEXEC_AGENT, "/opt/agent", true)});
    auto result = plan_spawn(request, three_hosts());
    const auto &plan = std::get<SpawnPlan>(result);
    assert_true(plan.has_fork_agents());
    check(plan.apps[0].program, "prog");
    check(plan.apps[0].fork_agent, "/opt/agent");
    check(fmt::format("{}", fmt::join(plan.apps[0].argv, " ")), "prog x");
    auto encoded = encode_task_spec(plan.apps);
    auto decoded = decode_task_spec(*encoded);
    assert_true(decoded && *decoded == plan.apps);
    auto none = plan_spawn(ask(2), three_hosts());
    assert_false(std::get<SpawnPlan>(none).has_fork_agents());
    const char *bad = PMIx_Error_string(PMIX_ERR_BAD_PARAM);
    check(placed(ask(1, {number(PMIX_FORKEXEC_AGENT, 1)})), bad);
    request.apps[0].directives = {text(PMIX_EXEC_AGENT, "/opt/other")};
    check(placed(request), bad);
}

// A file in memory that nobody changes any more.
void an_agents_description_is_whole_or_refused(void **) {
    AgentDescription description{3, "/bin/prog", {"prog", "", "a\nb"}, {"A=", "B=x=y", "PMIX_RANK=3"}, "/tmp"};
    auto sealed = seal_agent_description(description);
    assert_true(sealed.ok());
    assert_int_equal(::write(sealed->get(), "x", 1), -1);
    auto read = read_agent_description(sealed->get());
    assert_true(read && *read == description);
    assert_true(*read_agent_description(sealed->get()) == description); // as often as it is asked for
    description.argv.emplace_back(max_task_spec, 'x');
    assert_false(seal_agent_description(description).ok());
    // Nothing that a process may send instead keeps who reads it waiting.
    int ends[2];
    assert_int_equal(::pipe(ends), 0);
    UniqueFd reading(ends[0]), writing(ends[1]), open(::memfd_create("open", MFD_ALLOW_SEALING));
    assert_false(read_agent_description(reading.get()).ok());
    assert_false(read_agent_description(open.get()).ok());
    constexpr int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
    assert_int_equal(::write(open.get(), "nonsense", 8), 8);
    assert_int_equal(::fcntl(open.get(), F_ADD_SEALS, seals), 0);
    assert_false(read_agent_description(open.get()).ok());
    UniqueFd large(::memfd_create("large", MFD_ALLOW_SEALING));
    assert_int_equal(::ftruncate(large.get(), max_task_spec + 1), 0);
    assert_int_equal(::fcntl(large.get(), F_ADD_SEALS, seals), 0);
    assert_false(read_agent_description(large.get()).ok());
}

void an_agents_description_comes_with_what_a_task_says(void **) {
    AgentDescription description{0, "/bin/prog", {"prog"}, {"PMIX_RANK=0"}, "/"};
    auto sealed = seal_agent_description(description);
    int ends[2];
    assert_int_equal(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ExecWords words;
    words.task.reset(ends[0]);
    UniqueFd task(ends[1]);
    assert_int_equal(::send(task.get(), "+", 1, MSG_NOSIGNAL), 1);
    assert_true(send_descriptor(task.get(), "d", sealed->get()).ok());
    assert_false(words.take());
    task.reset();
    assert_true(words.take());
    check(words.said, "+");
    auto read = read_agent_description(words.description.get());
    assert_true(read && *read == description && !words.armed);
}

// One rank of a spawned job, which is an agent: this process.
struct AgentsHost {
    std::unique_ptr<EventLoop> loop;
    Log log{2, LogLevel::error, "test"};
    StepInfo step;
    DebugStops stops;
    std::optional<LocalTasks> tasks;
    AgentsHost() {
        auto made = EventLoop::create([](const std::string &what) { fail_msg("%s", what.c_str()); });
        loop = std::move(*made);
        step.nspace = "job";
        step.map = *JobMap::create({"a"}, {{0, 1}});
        step.apps.emplace_back();
        LocalTasks::Callbacks callbacks;
        callbacks.on_gone = [](Rank, std::optional<int>) {};
        callbacks.on_all_ended = callbacks.on_launched = callbacks.on_first_runs = [] {};
        callbacks.on_launch_failed = [](const TaskStartFailure &, UniqueFd) {};
        tasks.emplace(*loop, log, step, stops, "/nonexistent", nullptr, std::move(callbacks));
    }
    static UniqueFd description() {
        auto sealed = seal_agent_description({0, "/bin/prog", {"prog"}, {"SECRET=x"}, "/"});
        assert_true(sealed.ok());
        return std::move(*sealed);
    }
    void report() {
        ExecWords words;
        words.said = "+";
        words.description = description();
        tasks->exec_report(0, std::move(words));
    }
    bool is_told() { return tasks->described_to(::getpid()).ok(); }
};

// It has a program's environment, for which whoever comes may ask.
void an_agents_description_goes_when_it_is_not_needed(void **) {
    AgentsHost host;
    host.tasks->started(0, ::getpid());
    assert_false(host.is_told());
    host.report();
    assert_true(host.is_told());
    assert_true(host.is_told()); // it may ask again
    assert_false(host.tasks->described_to(1).ok());
    assert_false(host.tasks->described_to(0).ok());
    host.tasks->client_connected(1); // another one
    assert_true(host.is_told());
    host.tasks->client_connected(0); // what the agent has started
    assert_false(host.is_told());
    host.report();
    assert_false(host.is_told());

    AgentsHost ended;
    ended.tasks->started(0, ::getpid());
    ended.report();
    assert_true(ended.is_told());
    ended.tasks->ended(0, 0);
    assert_false(ended.is_told());
}

// A program that never speaks PMIx does not say that it was started.
void an_agents_description_goes_after_a_while(void **) {
    AgentsHost host;
    AgentDescriptions kept(
        *host.loop, [](Rank rank) { return rank == 0 ? 77 : 0; }, std::chrono::milliseconds(10));
    kept.keep(0, AgentsHost::description());
    kept.keep(1, AgentsHost::description());
    auto run_past = [&host] {
        auto stop = host.loop->after(std::chrono::milliseconds(30), [&host] { host.loop->stop(); });
        assert_true(host.loop->run().ok());
    };
    run_past();
    assert_true(kept.tell(77).ok()); // an agent may be slow
    assert_false(kept.tell(0).ok());
    run_past();
    assert_false(kept.tell(77).ok());
}

void an_agent_is_no_process_of_the_job(void **) {
    for (const char *variable : {"PMIX_RANK=1", "PMIX_NAMESPACE=slurm.1.2", "PMIX_SERVER_URI41=x", "PMIX_HOSTNAME=n1"})
        assert_true(is_not_for_agents(variable));
    for (const char *variable : {"PMIX_SYSTEM_TMPDIR=/tmp", "PMIX_RANKS=1", "PATH=/bin", "PMIX_SECURITY_MODE=native"})
        assert_false(is_not_for_agents(variable));
}

void streams_are_forwarded_where_that_is_possible(void **) {
    auto request = ask(2, {flag(PMIX_FWD_STDOUT, true), number(PMIX_FWD_STDIN, 1)});
    check(placed(request), PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED));
    SpawnSite site = three_hosts();
    site.forwards_streams = true;
    auto result = plan_spawn(request, site);
    auto &plan = std::get<SpawnPlan>(result);
    assert_int_equal(plan.forwards, PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDIN_CHANNEL);
    assert_true(plan.takes_input() && !plan.stdin_rank);
    assert_int_equal(*plan.input_rank(), 1); // the others have none
    auto whoever = plan_spawn(ask(2, {number(PMIX_FWD_STDIN, PMIX_RANK_WILDCARD)}), site);
    assert_true(std::get<SpawnPlan>(whoever).takes_input() && !std::get<SpawnPlan>(whoever).input_rank());
    assert_true(std::holds_alternative<SpawnRefusal>(plan_spawn(ask(2, {number(PMIX_FWD_STDIN, 2)}), site)));
    auto nobody = plan_spawn(ask(2, {number(PMIX_FWD_STDIN, PMIX_RANK_INVALID)}), site);
    assert_false(std::get<SpawnPlan>(nobody).takes_input());
    assert_true(std::holds_alternative<SpawnRefusal>(plan_spawn(ask(2, {number(PMIX_FWD_STDERR, 1)}), site)));
    // One rank or all: srun's --input has no other.
    auto one = number(PMIX_FWD_STDIN, 1), all = flag(PMIX_FWD_STDIN, true);
    for (const auto &both : {std::vector{one, all}, std::vector{all, one}}) {
        auto named = std::get<SpawnPlan>(plan_spawn(ask(2, both), site));
        assert_true(named.takes_input() && !named.input_rank());
    }
    for (const auto &both : {std::vector{one, number(PMIX_FWD_STDIN, 0)}, std::vector{one, number(PMIX_STDIN_TGT, 0)},
                             std::vector{number(PMIX_FWD_STDIN, 2), all}, std::vector{number(PMIX_STDIN_TGT, 99), all}})
        assert_true(std::holds_alternative<SpawnRefusal>(plan_spawn(ask(2, both), site)));
    assert_int_equal(*std::get<SpawnPlan>(plan_spawn(ask(2, {one, number(PMIX_STDIN_TGT, 1)}), site)).input_rank(), 1);
    assert_int_equal(*std::get<SpawnPlan>(plan_spawn(ask(2, {one, one}), site)).input_rank(), 1);
}

void forwarded_output_may_be_gathered(void **) {
    SpawnSite site = three_hosts();
    site.forwards_streams = true;
    auto held = [&](std::vector<wire::SpawnDirective> directives) {
        directives.insert(directives.begin(), flag(PMIX_FWD_STDOUT, true));
        auto result = plan_spawn(ask(2, directives), site);
        if (auto *no = std::get_if<SpawnRefusal>(&result))
            return std::string(PMIx_Error_string(no->status));
        const auto &plan = std::get<SpawnPlan>(result);
        return fmt::format("{} {}", plan.held_bytes, plan.held_seconds);
    };
    check(held({}), "0 0");
    check(held({number(PMIX_IOF_BUFFERING_SIZE, 4096)}), "4096 5");
    check(held({number(PMIX_IOF_BUFFERING_TIME, 2)}), "131072 2");
    check(held({number(PMIX_IOF_BUFFERING_SIZE, 4096), number(PMIX_IOF_BUFFERING_TIME, 60)}), "4096 60");
    check(held({number(PMIX_IOF_BUFFERING_SIZE, 4096), number(PMIX_IOF_BUFFERING_TIME, 0)}), "0 0");
    check(held({number(PMIX_IOF_BUFFERING_SIZE, 1 << 20)}), "131072 5");
    auto required = number(PMIX_IOF_BUFFERING_SIZE, 1 << 20);
    required.required = 1;
    check(held({required}), PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED));
    check(held({text(PMIX_IOF_BUFFERING_TIME, "soon")}), PMIx_Error_string(PMIX_ERR_BAD_PARAM));
    // Nor is what is forwarded marked with its source.
    auto tag = flag(PMIX_IOF_TAG_OUTPUT);
    check(held({tag}), "0 0");
    tag.required = 1;
    check(held({tag}), PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED));
    check(placed(ask(2, {tag})), "n1 n1");
    assert_true(std::get<SpawnPlan>(plan_spawn(ask(2, {flag(PMIX_IOF_RANK_OUTPUT)}), site)).label_output);
    // Nor is anything forwarded of one program alone, where libpmix does not look.
    auto request = ask(2);
    request.apps[0].directives = {flag(PMIX_FWD_STDOUT)};
    assert_int_equal(std::get<SpawnPlan>(plan_spawn(request, site)).forwards, 0);
    request.apps[0].directives[0].required = 1;
    assert_true(std::holds_alternative<SpawnRefusal>(plan_spawn(request, site)));
    // What is not forwarded the RM takes, as it comes.
    required.number = 4096;
    check(placed(ask(2, {required})), PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED));
    check(placed(ask(2, {number(PMIX_IOF_BUFFERING_SIZE, 4096)})), "n1 n1");
}

void stops_for_debuggers_are_in_the_plan(void **) {
    auto ranks = [](const char *key, const std::string &list) {
        return wire::SpawnDirective{key, 0, static_cast<std::uint8_t>(SpawnValue::ranks), list, 0};
    };
    auto stops = [](const wire::SpawnRequest &request) {
        auto result = plan_spawn(request, three_hosts());
        auto *no = std::get_if<SpawnRefusal>(&result);
        return no ? std::string(PMIx_Error_string(no->status)) : std::get<SpawnPlan>(result).stops.text();
    };
    check(stops(ask(5, {flag(PMIX_DEBUG_STOP_IN_INIT)})), "init=0-4");
    check(stops(ask(5, {number(PMIX_DEBUG_STOP_IN_INIT, PMIX_RANK_WILDCARD)})), "init=0-4");
    check(stops(ask(5, {number(PMIX_DEBUG_STOP_IN_APP, 4), ranks(PMIX_DEBUG_STOP_ON_EXEC, "0,2,1,4")})),
          "exec=0-2,4;app=4");
    auto no = flag(PMIX_DEBUG_STOP_ON_EXEC);
    no.number = 0;
    check(stops(ask(5, {no})), "");
    const char *bad = PMIx_Error_string(PMIX_ERR_BAD_PARAM);
    check(stops(ask(5, {number(PMIX_DEBUG_STOP_IN_INIT, 5)})), bad);
    check(stops(ask(5, {ranks(PMIX_DEBUG_STOP_IN_INIT, "1,5")})), bad);
    check(stops(ask(5, {number(PMIX_DEBUG_STOP_IN_INIT, PMIX_RANK_UNDEF)})), bad);
    check(stops(ask(5, {text(PMIX_DEBUG_STOP_IN_INIT, "all")})), bad);
    auto of_app = ask(5);
    of_app.apps[0].directives = {flag(PMIX_DEBUG_STOP_IN_INIT)};
    check(stops(of_app), "init=0-4");
    auto two = ask(3, {ranks(PMIX_DEBUG_STOP_ON_EXEC, "1,2,3")});
    two.apps.push_back(two.apps[0]);
    auto result = plan_spawn(two, three_hosts());
    auto encoded = encode_task_spec(std::get<SpawnPlan>(result).apps);
    auto decoded = decode_task_spec(*encoded);
    assert_true(decoded && *decoded == std::get<SpawnPlan>(result).apps);
    using Ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;
    assert_true((*decoded)[0].stop_on_exec == Ranges({{1, 2}}) && (*decoded)[1].stop_on_exec == Ranges({{3, 3}}));
    // An agent's first instruction would be taken for the program's.
    auto agent = text(PMIX_EXEC_AGENT, "/opt/agent");
    const char *cannot = PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED);
    check(stops(ask(2, {agent, flag(PMIX_DEBUG_STOP_ON_EXEC)})), cannot);
    check(stops(ask(2, {agent, number(PMIX_DEBUG_STOP_ON_EXEC, 1)})), cannot);
    check(stops(ask(2, {agent, flag(PMIX_DEBUG_STOP_IN_INIT)})), "init=0-1");
    auto starts = text(PMIX_FORKEXEC_AGENT, "/opt/agent");
    check(stops(ask(2, {starts, flag(PMIX_DEBUG_STOP_ON_EXEC)})), cannot);
    check(stops(ask(2, {starts, flag(PMIX_DEBUG_STOP_IN_INIT)})), "init=0-1");
    auto of_one = ask(1, {number(PMIX_DEBUG_STOP_ON_EXEC, 0)});
    of_one.apps.push_back(of_one.apps[0]);
    of_one.apps[1].directives = {agent};
    check(stops(of_one), "exec=0");
    of_one.directives[0].number = 1;
    check(stops(of_one), cannot);
    assert_true(parse_start_report("+=").stops && parse_start_report("+").running);
}

void the_callers_structures_are_copied_with_bounds(void **) {
    pmix_app_t app;
    PMIX_APP_CONSTRUCT(&app);
    char command[] = "prog", one[] = "a b\nc", *argv[] = {command, one, nullptr};
    app.cmd = command;
    app.argv = argv;
    app.maxprocs = 4;
    pmix_info_t info[3];
    bool yes = true;
    pmix_rank_t rank = 5;
    PMIX_INFO_LOAD(&info[0], PMIX_NON_PMI, &yes, PMIX_BOOL);
    PMIX_INFO_REQUIRED(&info[0]);
    PMIX_INFO_LOAD(&info[1], PMIX_STDIN_TGT, &rank, PMIX_PROC_RANK);
    PMIX_INFO_LOAD(&info[2], PMIX_WDIR, "/tmp", PMIX_STRING);
    auto request = copy_spawn_request(info, 3, &app, 1);
    assert_true(request.ok());
    assert_int_equal(request->apps[0].count, 4);
    assert_string_equal(request->apps[0].argv[1].c_str(), "a b\nc");
    assert_int_equal(request->directives[0].required, 1);
    assert_int_equal(request->directives[1].number, 5);
    assert_string_equal(request->directives[2].text.c_str(), "/tmp");
    auto again = wire::decode<wire::SpawnRequest>(wire::encode(*request));
    assert_true(again.ok() && again->apps[0].argv == request->apps[0].argv);

    std::string huge(max_spawn_bytes + 1, 'x');
    argv[1] = huge.data();
    assert_false(copy_spawn_request(nullptr, 0, &app, 1).ok());
    assert_false(copy_spawn_request(nullptr, 0, nullptr, 0).ok());
    for (auto &entry : info)
        PMIX_INFO_DESTRUCT(&entry);
}

void directories_are_where_the_caller_is(void **) {
    auto request = ask(1, {text(PMIX_WDIR, "sub"), text(PMIX_PREFIX, "relative")});
    request.apps.push_back(request.apps[0]);
    request.apps[0].directory = "a/b";
    request.apps[1].directory = "/own";
    request.apps[1].directives = {text(PMIX_WDIR, "/tmp"), text(PMIX_WDIR, "..")};
    place_directories(request, "/here");
    assert_string_equal(request.directives[0].text.c_str(), "/here/sub");
    assert_string_equal(request.directives[1].text.c_str(), "relative");
    assert_string_equal(request.apps[0].directory.c_str(), "/here/a/b");
    assert_string_equal(request.apps[1].directory.c_str(), "/own");
    assert_string_equal(request.apps[1].directives[0].text.c_str(), "/tmp");
    assert_string_equal(request.apps[1].directives[1].text.c_str(), "/here/..");
    auto none = ask(1);
    place_directories(none, "/");
    assert_string_equal(none.apps[0].directory.c_str(), "");
}

void a_task_finds_its_program_again(void **) {
    TaskApp app;
    app.first = 3;
    app.count = 2;
    app.program = "/a b";
    app.argv = {"/a b", "", "two\nlines\\n", std::string(250'000, 'y')};
    app.directory = "/d";
    app.merge = app.no_input = true;
    app.prefix = {"enter", "", "a b"};
    app.output = {TaskOutput::Place::pattern, "/a b/%n\\n", true};
    app.changes = {{EnvironmentChange::Kind::set, "A", "1=2\n3", ':'},
                   {EnvironmentChange::Kind::unset, "B", "", ':'},
                   {EnvironmentChange::Kind::first, "C", "c", ';'}};
    auto text = encode_task_spec({app, app});
    assert_true(text.ok());
    auto variables = task_spec_variables(*text);
    assert_true(variables.size() > 2);
    variables.push_back("PMIXHOST_TASK_SPEC_7=left behind");
    std::vector<char *> environment;
    for (auto &entry : variables)
        environment.push_back(entry.data());
    environment.push_back(nullptr);
    auto collected = collect_task_spec(environment.data());
    assert_true(collected.ok());
    auto apps = decode_task_spec(*collected);
    assert_true(apps.ok());
    assert_int_equal(apps->size(), 2);
    assert_true((*apps)[1] == app);
    environment.erase(environment.begin() + 1);
    assert_false(collect_task_spec(environment.data()).ok());
    assert_false(decode_task_spec("program x\n").ok());
    assert_false(decode_task_spec("app 1\n").ok());
    assert_false(decode_task_spec("app 1 1\nprepend x A=1\n").ok());
    app.argv.push_back(std::string(max_task_spec, 'z'));
    assert_false(encode_task_spec({app}).ok());
}

// What the program's own directives say replaces what the job's do.
void output_goes_to_files(void **) {
    using Place = TaskOutput::Place;
    auto outputs = [](const wire::SpawnRequest &request) {
        auto result = plan_spawn(request, three_hosts());
        std::string out;
        if (auto *no = std::get_if<SpawnRefusal>(&result))
            return std::string(PMIx_Error_string(no->status));
        for (const auto &app : std::get<SpawnPlan>(result).apps)
            out += fmt::format("{} {}{} ", static_cast<int>(app.output.place), app.output.path,
                               app.output.only ? " only" : "");
        return out;
    };
    auto line = [](Place place, const char *rest) { return fmt::format("{} {} ", static_cast<int>(place), rest); };
    check(outputs(ask(1)), line(Place::nowhere, "").c_str());
    check(outputs(ask(1, {text(PMIX_IOF_OUTPUT_TO_FILE, "f", true)})), line(Place::file, "f").c_str());
    check(
        outputs(ask(1, {flag(PMIX_IOF_FILE_PATTERN, true), text(PMIX_OUTPUT_TO_FILE, "f"), flag(PMIX_OUTPUT_NOCOPY)})),
        line(Place::pattern, "f only").c_str());
    check(outputs(ask(1, {text(PMIX_IOF_OUTPUT_TO_DIRECTORY, "d"), flag(PMIX_IOF_FILE_ONLY, true)})),
          line(Place::directory, "d only").c_str());
    check(outputs(ask(1, {text(PMIX_OUTPUT_TO_DIRECTORY, "d"), text(PMIX_IOF_OUTPUT_TO_DIRECTORY, "d")})),
          line(Place::directory, "d").c_str());
    const char *bad = PMIx_Error_string(PMIX_ERR_BAD_PARAM);
    check(outputs(ask(1, {text(PMIX_IOF_OUTPUT_TO_DIRECTORY, "d"), text(PMIX_IOF_OUTPUT_TO_FILE, "d")})), bad);
    check(outputs(ask(1, {text(PMIX_IOF_OUTPUT_TO_FILE, "")})), bad);
    check(outputs(ask(1, {flag(PMIX_IOF_OUTPUT_TO_FILE)})), bad);
    check(outputs(ask(1, {text(PMIX_IOF_FILE_ONLY, "f")})), bad);
    auto pattern = [](int count, const char *name) {
        return ask(count, {text(PMIX_IOF_OUTPUT_TO_FILE, name), flag(PMIX_IOF_FILE_PATTERN)});
    };
    check(outputs(pattern(2, "f-%n")), bad); // one file of both
    check(outputs(pattern(2, "f-%r")), line(Place::pattern, "f-%r").c_str());
    auto same = pattern(1, "f-%n");
    same.apps.push_back(same.apps[0]);
    check(outputs(same), bad);
    auto two = ask(1, {text(PMIX_IOF_OUTPUT_TO_FILE, "f")});
    two.apps.push_back(two.apps[0]);
    two.apps[1].directives = {text(PMIX_IOF_OUTPUT_TO_DIRECTORY, "d")};
    check(outputs(two), (line(Place::file, "f") + line(Place::directory, "d")).c_str());
}

void a_tools_library_formats_what_is_forwarded_to_it(void **) {
    auto request = ask(1, {flag(PMIX_IOF_TIMESTAMP_OUTPUT, true), flag(PMIX_IOF_XML_OUTPUT, true)});
    const char *no = PMIx_Error_string(PMIX_ERR_NOT_SUPPORTED);
    check(placed(request), no);
    leave_formats_to_library(request);
    check(placed(request), no);
    request.directives.push_back(flag(PMIX_FWD_STDIN));
    leave_formats_to_library(request);
    request.directives.push_back(flag(PMIX_FWD_STDERR));
    leave_formats_to_library(request); // of standard output srun prints lines, and may label them
    assert_int_equal(request.directives.size(), 4);
    request.directives.push_back(flag(PMIX_FWD_STDOUT));
    request.directives.push_back(flag(PMIX_IOF_OUTPUT_RAW, true));
    leave_formats_to_library(request);
    assert_int_equal(request.directives.size(), 3);
}

void a_start_is_told_from_a_failure(void **) {
    assert_true(parse_start_report("+").running);
    auto failed = parse_start_report("+-p2 there is no program");
    assert_false(failed.running);
    assert_int_equal(failed.failure.stage, 'p');
    assert_int_equal(failed.failure.error_number, 2);
    assert_string_equal(failed.failure.text.c_str(), "there is no program");
    auto armed = parse_start_report("+=-p2 there is none");
    assert_false(armed.running);
    assert_string_equal(armed.failure.text.c_str(), "there is none");
    for (const char *said : {"", "-", "+-", "x", "+-p", "+x", "+=-", "+=x", "=-p2 none"})
        assert_false(parse_start_report(said).running);
}

void what_mpi_spawns_shares_its_parents_fate(void **) {
    auto shares = [](const wire::SpawnRequest &request) {
        auto result = plan_spawn(request, three_hosts());
        return std::get<SpawnPlan>(result).shares_fate;
    };
    auto by_mpi = ask(1, {text(PMIX_PERSONALITY, "ompi")});
    assert_true(shares(by_mpi));
    assert_false(shares(ask(1)));
    assert_false(shares(ask(1, {text(PMIX_PERSONALITY, "ompi"), flag(PMIX_NOTIFY_COMPLETION)})));
    by_mpi.lives_on = 1;
    assert_false(shares(by_mpi));
}

} // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_filled_in_order),
        cmocka_unit_test(what_does_not_fit_is_out_of_resource),
        cmocka_unit_test(hosts_that_are_named_are_used),
        cmocka_unit_test(several_programs_have_hosts_and_ranks_of_their_own),
        cmocka_unit_test(a_required_directive_is_met_or_refused),
        cmocka_unit_test(programs_are_process_sets),
        cmocka_unit_test(every_spawn_attribute_of_the_headers_is_in_the_table),
        cmocka_unit_test(the_environment_is_changed_in_order),
        cmocka_unit_test(the_rest_of_the_directives_is_in_the_plan),
        cmocka_unit_test(an_agent_becomes_the_program),
        cmocka_unit_test(an_agent_starts_the_program),
        cmocka_unit_test(an_agents_description_is_whole_or_refused),
        cmocka_unit_test(an_agents_description_comes_with_what_a_task_says),
        cmocka_unit_test(an_agents_description_goes_when_it_is_not_needed),
        cmocka_unit_test(an_agents_description_goes_after_a_while),
        cmocka_unit_test(an_agent_is_no_process_of_the_job),
        cmocka_unit_test(streams_are_forwarded_where_that_is_possible),
        cmocka_unit_test(forwarded_output_may_be_gathered),
        cmocka_unit_test(stops_for_debuggers_are_in_the_plan),
        cmocka_unit_test(the_callers_structures_are_copied_with_bounds),
        cmocka_unit_test(a_task_finds_its_program_again),
        cmocka_unit_test(directories_are_where_the_caller_is),
        cmocka_unit_test(output_goes_to_files),
        cmocka_unit_test(a_hundred_thousand_are_placed_promptly),
        cmocka_unit_test(a_tools_library_formats_what_is_forwarded_to_it),
        cmocka_unit_test(a_start_is_told_from_a_failure),
        cmocka_unit_test(what_mpi_spawns_shares_its_parents_fate),
    };
    return cmocka_run_group_tests_name("spawn plan", tests, nullptr, nullptr);
}
