// Reads the words of a subcommand.
#pragma once

#include "common/text/printable.h"
#include "tools/cli/command_shape.h"
#include "tools/cli/commands.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

namespace pmixhost {

// A script whose variable is empty names no job; without this it would mean the only one that is there.
inline bool names_no_job(const CLI::App &parser) {
    auto empty = [](const CLI::Option *option) {
        const auto &words = option->results();
        return (option->get_name(true) == "JOB" || option->get_type_name() == "JOB") &&
               std::find(words.begin(), words.end(), std::string()) != words.end();
    };
    auto options = parser.get_options();
    auto below = parser.get_subcommands();
    return std::any_of(options.begin(), options.end(), empty) ||
           std::any_of(below.begin(), below.end(), [](const CLI::App *one) { return names_no_job(*one); });
}

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
    if (names_no_job(parser)) {
        std::fprintf(stderr, "pmixhost: error: JOB is ''; allowed: JOB[.STEP] or a namespace (see %s --help)\n",
                     parser.get_name().c_str());
        return exit_usage;
    }
    return std::nullopt;
}

} // namespace pmixhost
