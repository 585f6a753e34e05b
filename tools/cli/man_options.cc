// See man_options.h.
#include "tools/cli/man_options.h"

#include "common/text/roff.h"

#include <fmt/format.h>

namespace pmixhost {

namespace {

std::string names_of(const OptionShape &option) {
    std::string out;
    for (const auto &name : option.names)
        out += fmt::format("{}\\fB{}\\fR", out.empty() ? "" : ", ", roff_escaped(name));
    if (!option.value.empty())
        out += fmt::format("{}\\fI{}\\fR", out.empty() ? "" : " ", roff_escaped(option.value));
    return out + (option.many ? " ..." : "");
}

std::string section_of(const CommandShape &command, const std::string &name) {
    std::string out = fmt::format(".SS {}\n{}", roff_escaped(name), roff_filled(command.text));
    for (const auto &option : command.options) {
        bool is_help = !option.names.empty() && option.names.back() == "--help";
        if (!is_help)
            out += fmt::format(".TP\n{}\n{}", names_of(option), roff_filled(option.text));
    }
    if (command.program)
        out += ".TP\n\\fB\\-\\-\\fR \\fIPROGRAM\\fR ...\nA program and its arguments\n";
    for (const auto &subcommand : command.subcommands)
        out += section_of(subcommand, name + " " + subcommand.name);
    return out;
}

} // namespace

std::string man_options_section(const std::vector<CommandShape> &commands) {
    std::string out =
        ".SH OPTIONS\nOf each command, as its\n.B \\-\\-help\nshows them; COMMANDS, above, says more of most.\n";
    for (const auto &command : commands)
        out += section_of(command, "pmixhost " + command.name);
    return out;
}

} // namespace pmixhost
