// `pmixhost launcher`: a launcher that is started without a program by a debugger, which then spawns by it (PMIx
// standard, "Launching Applications with Tools"; contrib/doc/decisions/debug.md). It becomes the resource manager's own
// (srun) with a job that only holds the place, and whose plugin speaks with the debugger
// (plugins/kit/indirect_launch.h).
#include "common/start/indirect_words.h"
#include "common/start/starter_command.h"
#include "tools/cli/parse.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/ranges.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr auto debugger_variable = "PMIX_LAUNCHER_RNDZ_URI";

int refuse_launcher(int code, const std::string &text) {
    std::fprintf(stderr, "pmixhost: error: %s%s\n", text.c_str(),
                 code == exit_usage ? " (see pmixhost launcher --help)" : "");
    return code;
}

// Those by which it comes here, which the user's are not to undo.
const std::string *option_of_ours(const Words &words, const StarterCommand &starter) {
    auto ours = std::find_if(words.begin(), words.end(), [&](std::string_view word) {
        return word == ":" || std::any_of(starter.words.begin(), starter.words.end(), [&](std::string_view one) {
                   std::string_view name = one.substr(0, one.find('='));
                   return word.substr(0, word.find('=')) == name;
               });
    });
    return ours == words.end() ? nullptr : &*ours;
}

bool is_set(const char *variable) {
    const char *value = std::getenv(variable);
    return value && *value;
}

} // namespace

int launcher_command(const Words &words) {
    const StarterCommand &starter = starter_commands().front();
    CLI::App parser(fmt::format("pmixhost launcher [OPTIONS OF {0}]: for a debugger, which starts this without a "
                                "program, by PMIx_Spawn with {1}, and spawns jobs by it: they run in the allocation "
                                "that this is started in, or in one that {0} asks for by the options. It ends with "
                                "the debugger.\nExit code: that of {0}; 1 no debugger has started this, or {0} cannot "
                                "be run, 2 wrong command line.",
                                starter.name, debugger_variable),
                    "pmixhost launcher");
    bool asks_for_help = words.size() == 1 && (words[0] == "--help" || words[0] == "-h");
    if (asks_for_help || is_to_be_described(words)) {
        if (auto over = parse(parser, words))
            return *over;
    }
    if (const std::string *ours = option_of_ours(words, starter))
        return refuse_launcher(exit_usage, *ours == ":"
                                               ? "a launcher without a program is no heterogeneous job"
                                               : fmt::format("{} is not for the user to say here", printable(*ours)));
    if (!is_set(debugger_variable))
        return refuse_launcher(exit_failure,
                               fmt::format("no debugger has started this: {} is not set; next: have the debugger "
                                           "start it by PMIx_Spawn, or, for a job without one, {} itself",
                                           debugger_variable, starter.name));
    Words command{std::string(starter.name)};
    auto add = [&command](const Words &more) { command.insert(command.end(), more.begin(), more.end()); };
    add(starter.words);
    add(starter.holds);
    if (is_set(starter.allocation.c_str()))
        add(starter.holds_within);
    add(words);
    add(starter.holder);
    std::vector<char *> arguments;
    for (auto &word : command)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::setenv(std::string(holder_variable).c_str(), fmt::format("{}", fmt::join(starter.holder, " ")).c_str(), 1);
    ::execvp(arguments[0], arguments.data());
    return refuse_launcher(exit_failure, fmt::format("cannot run {}: {}", starter.name, std::strerror(errno)));
}

} // namespace pmixhost
