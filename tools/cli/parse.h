// Reads the words of a subcommand.
#pragma once

#include "common/text/printable.h"
#include "tools/cli/commands.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <optional>

namespace pmixhost {

// A value is the command's exit code, and all has been said: help was asked for, or the words are wrong. `parser` has
// the command's name, such as "pmixhost ps".
inline std::optional<int> parse(CLI::App &parser, const Words &words) {
    try {
        parser.parse(Words(words.rbegin(), words.rend()));
    } catch (const CLI::CallForHelp &) {
        std::fputs(parser.help().c_str(), stdout);
        return exit_ok;
    } catch (const CLI::ParseError &failure) {
        std::fprintf(stderr, "pmixhost: error: %s (see %s --help)\n", printable(failure.what(), 200).c_str(),
                     parser.get_name().c_str());
        return exit_usage;
    }
    return std::nullopt;
}

} // namespace pmixhost
