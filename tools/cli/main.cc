// pmixhost: the command line.
#include "tools/cli/commands.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fmt/format.h>
#include <string_view>
#include <unistd.h>

using namespace pmixhost;

namespace {

std::string help() {
    std::string text = "Usage: pmixhost COMMAND [OPTIONS]\n\n";
    for (const Command &command : commands())
        text += fmt::format("  {:<10}  {}\n", command.name, command.text);
    return text + "\n"
                  "`pmixhost COMMAND --help` tells more; so do pmixhost(1), pmixhost-run(1) and\n"
                  "pmixhost.conf(5). Under a resource manager, jobs need none of this: srun --mpi=pmixhost.\n"
                  "\n"
                  "Exit code: 0 done, 1 failed, 2 wrong command line, 3 `stacks` or `debug` could not\n"
                  "look at some processes; that of `run` is the job's, that of `with` the tool's.\n";
}

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
    std::string_view word = words.empty() ? "" : std::string_view(words.front());
    Words rest(words.empty() ? words.begin() : words.begin() + 1, words.end());
    if (word == "--version" || word == "-V")
        word = "version";
    if (word == "help" || word == "--help" || word == "-h") {
        std::fputs(help().c_str(), stdout);
        return exit_ok;
    }
    std::string names;
    for (const Command &command : commands()) {
        if (word == command.name)
            return command.run(rest);
        names += (names.empty() ? "" : ", ") + std::string(command.name);
    }
    if (words.empty())
        std::fputs(help().c_str(), stderr);
    else
        std::fprintf(stderr, "pmixhost: error: there is no command '%s'; allowed: %s\n", words.front().c_str(),
                     names.c_str());
    return exit_usage;
}

} // namespace

// What could not be written was not done, for who has asked for it (a full disk, a pipe that nobody reads).
static int with_all_written(int code) {
    errno = 0;
    bool is_written = std::fflush(stdout) == 0;
    int why = errno;
    if (is_written && std::ferror(stdout) == 0)
        return code;
    if (code == exit_ok)
        std::fprintf(stderr, "pmixhost: error: standard output: %s\n", why != 0 ? std::strerror(why) : "write error");
    return code == exit_ok ? exit_failure : code;
}

int main(int argc, char **argv) {
    open_standard_descriptors();
    try {
        return with_all_written(dispatch(Words(argv + (argc > 0), argv + argc)));
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "pmixhost: error: %s\n", failure.what());
        return exit_failure;
    }
}
