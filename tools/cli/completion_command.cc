// `pmixhost completion`: what a shell reads to complete the command lines of pmixhost.
#include "common/text/printable.h"
#include "tools/cli/completion.h"
#include "tools/cli/man_options.h"
#include "tools/cli/parse.h"
#include "tools/view/server_list.h"

#include <cstdio>
#include <set>

namespace pmixhost {

namespace {

CommandShape shape_of(const Command &command) {
    try {
        command.run({describe_word});
    } catch (const DescribedCommand &described) {
        CommandShape shape = described.shape;
        shape.name = command.name;
        shape.text = command.text;
        return shape;
    }
    throw std::runtime_error(fmt::format("{} does not tell its options", command.name));
}

// Names that a shell takes for nothing else: it may expand what it completes.
int show_jobs() {
    std::set<std::string> names;
    for (const auto &one : servers_below(rendezvous_root())) {
        if (one.job.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
            std::string::npos)
            continue;
        std::size_t dot = one.job.find('.');
        names.insert(one.job);
        if (dot != one.job.npos)
            names.insert(one.job.substr(dot + 1));
    }
    for (const auto &name : names)
        fmt::print("{}\n", name);
    return exit_ok;
}

} // namespace

int completion_command(const Words &words) {
    CLI::App parser("Writes a script that completes the command lines of pmixhost.", "pmixhost completion");
    std::string shell;
    bool jobs = false, man = false;
    parser.add_option("SHELL", shell, "bash, zsh or fish");
    parser.add_flag("--jobs", jobs)->group(""); // for the scripts
    parser.add_flag("--man", man)->group("");   // writes the section OPTIONS of pmixhost(1)
    if (auto over = parse(parser, words))
        return *over;
    if (jobs)
        return show_jobs();
    std::vector<CommandShape> shapes;
    for (const Command &command : commands())
        shapes.push_back(shape_of(command));
    if (man) {
        std::fputs(man_options_section(shapes).c_str(), stdout);
        return exit_ok;
    }
    auto script = completion_script(shell, shapes);
    if (!script) {
        std::fprintf(stderr,
                     "pmixhost: error: SHELL is '%s'; allowed: bash, zsh, fish (see pmixhost completion --help)\n",
                     printable(shell).c_str());
        return exit_usage;
    }
    std::fputs(script->c_str(), stdout);
    return exit_ok;
}

} // namespace pmixhost
