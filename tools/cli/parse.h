// Reads the words of a subcommand.
#pragma once

#include "common/text/printable.h"
#include "tools/cli/command_shape.h"
#include "tools/cli/commands.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <optional>

namespace pmixhost {

// A value is the command's exit code, and all has been said: help was asked for, or the words are wrong. `parser` has
// the command's name, such as "pmixhost ps"; help is that of the subcommand that was asked about. `program`: the
// command's words end with a program, which the caller has taken away.
inline std::optional<int> parse(CLI::App &parser, const Words &words, bool program = false) {
    if (is_to_be_described(words)) {
        auto shape = shape_of(parser);
        shape.program = program;
        throw DescribedCommand(std::move(shape));
    }
    try {
        parser.parse(Words(words.rbegin(), words.rend()));
    } catch (const CLI::CallForHelp &) {
        const CLI::App *asked = &parser;
        for (auto below = asked->get_subcommands(); !below.empty(); below = asked->get_subcommands())
            asked = below.front();
        std::fputs(asked->help().c_str(), stdout);
        return exit_ok;
    } catch (const CLI::ParseError &failure) {
        std::fprintf(stderr, "pmixhost: error: %s (see %s --help)\n", printable(failure.what(), 200).c_str(),
                     parser.get_name().c_str());
        return exit_usage;
    }
    return std::nullopt;
}

} // namespace pmixhost
