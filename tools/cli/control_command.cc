// `pmixhost signal`, `kill`, `pause` and `resume`: PMIx_Job_control for processes of one's own job, wherever they run.
#include "common/text/printable.h"
#include "tools/cli/parse.h"
#include "tools/terminal/rank_list.h"
#include "tools/terminal/terminal.h"
#include "tools/view/desk.h"
#include "tools/view/failed_call.h"
#include "tools/view/run_by_owner.h"
#include "tools/view/tool_process.h"

#include <pmix_tool.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

namespace pmixhost {

namespace {

struct Verb {
    const char *name, *text, *attribute; // of PMIx_Job_control
};
constexpr Verb signal_verb{"signal", "Sends a signal to processes of a job.", PMIX_JOB_CTRL_SIGNAL};
constexpr Verb kill_verb{"kill", "Kills processes of a job, or all of it.", PMIX_JOB_CTRL_KILL};
constexpr Verb pause_verb{"pause", "Stops processes of a job (SIGSTOP) until they are resumed.", PMIX_JOB_CTRL_PAUSE};
constexpr Verb resume_verb{"resume", "Lets stopped processes of a job go on (SIGCONT).", PMIX_JOB_CTRL_RESUME};

struct Order {
    const Verb *verb;
    std::string job; // namespace
    int signal = SIGTERM;
    std::vector<Rank> ranks; // empty: all
};

// TERM, SIGTERM or 15; 0 where it is none.
int signal_of(std::string name) {
    if (name.starts_with("SIG"))
        name.erase(0, 3);
    for (int number = 1; number < NSIG; ++number) {
        const char *abbreviation = sigabbrev_np(number);
        if (name == std::to_string(number) || (abbreviation && name == abbreviation))
            return number;
    }
    return 0;
}

std::string carry_out(const Order &order) {
    std::vector<pmix_proc_t> targets;
    auto add = [&](Rank rank) {
        pmix_proc_t process; // the macro uses it more than once
        PMIX_LOAD_PROCID(&process, order.job.c_str(), rank);
        targets.push_back(process);
    };
    for (Rank rank : order.ranks)
        add(rank);
    if (targets.empty())
        add(PMIX_RANK_WILDCARD);
    pmix_info_t directive;
    bool yes = true;
    if (std::strcmp(order.verb->attribute, PMIX_JOB_CTRL_SIGNAL) == 0)
        PMIX_INFO_LOAD(&directive, order.verb->attribute, &order.signal, PMIX_INT);
    else
        PMIX_INFO_LOAD(&directive, order.verb->attribute, &yes, PMIX_BOOL);
    pmix_info_t *results = nullptr;
    std::size_t count = 0;
    pmix_status_t status = PMIx_Job_control(targets.data(), targets.size(), &directive, 1, &results, &count);
    if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED)
        return {};
    return status == PMIX_ERR_NOT_FOUND ? std::string("!there is no such process (any more); next: pmixhost ps JOB")
                                        : failed_call("PMIx_Job_control", status, "control");
}

int complain(int code, const Verb &verb, const std::string &text) {
    std::fprintf(stderr, "pmixhost: error: %s%s\n", text.c_str(),
                 code == exit_usage ? fmt::format(" (see pmixhost {} --help)", verb.name).c_str() : "");
    return code;
}

int carry_out(Order order, const std::string &name, unsigned patience, const AskedRun &run) {
    const Verb &verb = *order.verb;
    std::optional<ProgressLine> progress("waiting for job " + printable(name));
    auto found = find_server(name, std::chrono::seconds(patience), &run);
    if (!found || found->is_run())
        progress.reset();
    if (!found)
        return complain(exit_failure, verb, found.failure().text);
    if (found->is_run())
        return show_run(std::move(*found->desk));
    order.job = found->server.job;
    auto done = as_tool(found->server, std::chrono::seconds(patience), [&order] { return carry_out(order); });
    progress.reset();
    return done ? exit_ok
                : complain(exit_failure, verb, fmt::format("job {}: {}", printable(name), done.failure().text));
}

int control_command(const Verb &verb, const Words &words) {
    Order order;
    order.verb = &verb;
    CLI::App parser(verb.text, fmt::format("pmixhost {}", verb.name));
    std::string job, ranks, signal;
    unsigned patience = 30;
    parser.add_option("JOB", job, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them")->required();
    parser.add_option("--ranks", ranks, "Only these, such as 0-3,7 [all]");
    const CLI::Option *given = nullptr;
    if (std::strcmp(verb.attribute, PMIX_JOB_CTRL_SIGNAL) == 0)
        given = parser.add_option("-s,--signal", signal, "Its name or number [TERM]")->type_name("SIGNAL");
    parser.add_option("--timeout", patience, "Seconds to wait for the answer [30]")->check(CLI::Range(1u, 3600u));
    if (auto over = parse(parser, words))
        return *over;
    if (parser.count("--ranks") > 0) {
        auto parsed = ranks_in_words(ranks);
        if (!parsed)
            return complain(exit_usage, verb, parsed.failure().text);
        order.ranks = std::move(*parsed);
    }
    if (given && given->count() > 0 && (order.signal = signal_of(signal)) == 0)
        return complain(exit_usage, verb,
                        fmt::format("there is no signal '{}'; allowed: numbers, and names as `kill -l` has them",
                                    printable(signal)));
    AskedRun run{verb.name, {fmt::format("--timeout={}", patience)}};
    if (!ranks.empty())
        run.words.push_back("--ranks=" + ranks);
    if (!signal.empty())
        run.words.push_back("--signal=" + signal);
    return carry_out(std::move(order), job, patience, run);
}

} // namespace

int signal_command(const Words &words) {
    return control_command(signal_verb, words);
}
int kill_command(const Words &words) {
    return control_command(kill_verb, words);
}
int pause_command(const Words &words) {
    return control_command(pause_verb, words);
}
int resume_command(const Words &words) {
    return control_command(resume_verb, words);
}

} // namespace pmixhost
