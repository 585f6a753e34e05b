// `pmixhost version`.
#include "tools/cli/parse.h"
#include "tools/run/daemon_process.h"

#include <config.h>
#include <pmix_version.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <spawn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

// The daemon shows them, since it loads them for each step: what it cannot use is said here.
static int show_backends() {
    std::string daemon = pmixhostd_path();
    std::string option = "--backends";
    char *words[] = {daemon.data(), option.data(), nullptr};
    std::fflush(stdout);
    std::signal(SIGCHLD, SIG_DFL); // it may have been inherited otherwise: then nobody could be waited for
    pid_t pid = -1;
    int status = 0;
    int code = ::posix_spawn(&pid, daemon.c_str(), nullptr, nullptr, words, environ);
    if (code == 0 && ::waitpid(pid, &status, 0) == pid && status == 0)
        return exit_ok;
    std::fprintf(stderr, "pmixhost: %s does not tell the backends%s%s\n", daemon.c_str(), code ? ": " : "",
                 code ? std::strerror(code) : "");
    return exit_failure;
}

int version_command(const Words &words) {
    CLI::App parser("Shows the version, and the installed backends with what each can do.", "pmixhost version");
    if (auto over = parse(parser, words))
        return *over;
    std::printf("pmixhost %s\n", PACKAGE_VERSION);
    std::printf("PMIx library %ld.%ld.%ld (of the build)\n", long{PMIX_VERSION_MAJOR}, long{PMIX_VERSION_MINOR},
                long{PMIX_VERSION_RELEASE});
    return show_backends();
}

} // namespace pmixhost
