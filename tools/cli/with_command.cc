// `pmixhost with JOB -- TOOL ...`: runs any PMIx tool so that it finds exactly that job. Tools look for names of files
// that may be the beginning of several (common/rendezvous/rendezvous_files.h); in a directory with the files of one
// server there is no doubt.
#include "common/process/exit_code.h"
#include "common/text/printable.h"
#include "tools/cli/parse.h"
#include "tools/terminal/terminal.h"
#include "tools/view/desk.h"
#include "tools/view/held_directory.h"
#include "tools/view/tool_process.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

int complain(int code, const std::string &text) {
    std::fprintf(stderr, "pmixhost: error: %s\n", text.c_str());
    return code;
}

// Whom a signal for us is meant for.
volatile sig_atomic_t tool_pid = 0;
void pass_on(int number) {
    if (tool_pid > 0)
        ::kill(static_cast<pid_t>(tool_pid), number);
}

// What whoever started us wants ignored (nohup(1), a script's background job), the tool ignores, too.
bool is_ignored(int number) {
    struct sigaction now {};
    return ::sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// The terminal's signals reach the tool as well; the others are passed on. Those that come before it runs wait.
int run(char *const words[], char *const environment[]) {
    sigset_t passed, before, defaults;
    sigemptyset(&passed);
    for (int number : {SIGTERM, SIGHUP}) {
        if (!is_ignored(number))
            sigaddset(&passed, number);
    }
    sigprocmask(SIG_BLOCK, &passed, &before);
    defaults = passed;
    for (int number : {SIGINT, SIGQUIT}) {
        if (!is_ignored(number))
            sigaddset(&defaults, number);
        std::signal(number, SIG_IGN);
    }
    std::signal(SIGCHLD, SIG_DFL);
    struct sigaction action {};
    action.sa_handler = pass_on;
    for (int number : {SIGTERM, SIGHUP}) {
        if (sigismember(&passed, number) == 1)
            sigaction(number, &action, nullptr);
    }
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &before);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    pid_t pid = -1;
    int code = ::posix_spawnp(&pid, words[0], nullptr, &attributes, words, environment), status = 0;
    posix_spawnattr_destroy(&attributes);
    if (code != 0)
        return complain(exit_failure, fmt::format("cannot run {}: {}", printable(words[0]), std::strerror(code)));
    tool_pid = pid;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return exit_code_of(status);
}

} // namespace

int with_command(const Words &words) {
    CLI::App parser(
        "pmixhost with JOB[.STEP] -- TOOL [ARGUMENTS]: runs a PMIx tool so that it finds that job's server, "
        "on this host or another.\nExit code: the tool's (128 and its number for a signal); 1 there is no such job "
        "here, or "
        "the tool cannot be run, 2 wrong command line.",
        "pmixhost with");
    std::string job;
    parser.add_option("JOB", job, "JOB[.STEP] or a namespace, as `pmixhost servers` lists them")->required();
    auto dashes = std::find(words.begin(), words.end(), "--");
    if (auto over = parse(parser, Words(words.begin(), dashes), true))
        return *over;
    if (dashes == words.end() || dashes + 1 == words.end())
        return complain(exit_usage, "which tool? It stands behind -- (see pmixhost with --help)");
    auto found = [&job] {
        ProgressLine progress("calling job " + printable(job));
        return find_server(job, desk_patience);
    }();
    if (!found)
        return complain(exit_failure, found.failure().text);
    char host[HOST_NAME_MAX + 1] = "";
    ::gethostname(host, sizeof host - 1);
    auto directory = HeldDirectory::make("pmixhost-with");
    if (!directory)
        return complain(exit_failure, directory.failure().text);
    const std::string path = directory->path();
    directory->share(); // where we are killed, the tool may still look there
    const RendezvousServer &server = found->server.server;
    auto written =
        write_rendezvous_files(path, rendezvous_names(host, server, found->server.job), rendezvous_text(server));
    if (!written)
        return complain(exit_failure, written.failure().text);

    std::string root = "PMIX_SYSTEM_TMPDIR=" + path, root_of_server = "PMIX_SERVER_TMPDIR=" + path;
    std::string security = fmt::format("{}={}", security_variable, gives_no_credential);
    std::vector<char *> environment{root.data(), root_of_server.data()}, arguments;
    bool is_anothers = found->desk && found->desk->is_anothers();
    if (is_anothers)
        environment.push_back(security.data());
    for (char **variable = environ; *variable; ++variable) {
        std::string_view name(*variable, std::strcspn(*variable, "="));
        if (!leads_tools_elsewhere(name) && !(is_anothers && name == security_variable))
            environment.push_back(*variable);
    }
    environment.push_back(nullptr);
    Words tool(dashes + 1, words.end());
    for (auto &word : tool)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    return run(arguments.data(), environment.data());
}

} // namespace pmixhost
