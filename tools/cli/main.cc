// pmixhost: the command line.
#include "tools/cli/commands.h"

#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

using namespace pmixhost;

namespace {

constexpr char help[] = "Usage: pmixhost COMMAND [OPTIONS]\n"
                        "\n"
                        "  run       run a program on virtual hosts of this machine\n"
                        "  config    show the configuration and where each value comes from, or check a file\n"
                        "  policy    show the rules for tools, and what they decide\n"
                        "  version   show the version and what it was built with\n"
                        "\n"
                        "`pmixhost COMMAND --help` tells more; so do pmixhost(1), pmixhost-run(1) and\n"
                        "pmixhost.conf(5). Under a resource manager, jobs need none of this: srun --mpi=pmixhost.\n"
                        "\n"
                        "Exit code: 0 done, 1 failed, 2 wrong command line; that of `run` is the job's.\n";

// Sees to it that descriptors 0 to 2 are open, whatever we were started with, so that no pipe of ours takes their
// place.
void open_standard_descriptors() {
    int fd;
    do
        fd = ::open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        ::close(fd);
}

int dispatch(const Words &words) {
    std::string_view command = words.empty() ? "" : std::string_view(words.front());
    Words rest(words.empty() ? words.begin() : words.begin() + 1, words.end());
    if (command == "run")
        return run_command(rest);
    if (command == "config")
        return config_command(rest);
    if (command == "policy")
        return policy_command(rest);
    if (command == "version" || command == "--version" || command == "-V")
        return version_command(rest);
    if (command == "help" || command == "--help" || command == "-h") {
        std::fputs(help, stdout);
        return exit_ok;
    }
    if (words.empty())
        std::fputs(help, stderr);
    else
        std::fprintf(stderr, "pmixhost: error: there is no command '%s'; allowed: run, config, policy, version\n",
                     words.front().c_str());
    return exit_usage;
}

} // namespace

int main(int argc, char **argv) {
    open_standard_descriptors();
    try {
        return dispatch(Words(argv + (argc > 0), argv + argc));
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "pmixhost: error: %s\n", failure.what());
        return exit_failure;
    }
}
