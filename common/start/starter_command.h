// The command that starts parallel programs under a resource manager, for whoever runs it with a user's words
// (`pmixhost debug`). Each plugin names its own; plugins/option_tables.cc lists them, and is linked with libcommon.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pmixhost {

struct StarterCommand {
    std::string_view name;          // as its users type it
    std::vector<std::string> words; // that make it use pmixhost
    // Words that make it what cannot be debugged, and why; options, which stand before its program, also with "=VALUE".
    std::vector<std::pair<std::string, std::string>> refused;

    // A launcher without a program (`pmixhost launcher`) is a job that does nothing, in whose allocation others are
    // spawned: `name`, `words`, `holds`, where `allocation` is set `holds_within`, the user's options, `holder`.
    std::vector<std::string> holds;
    std::string allocation; // a variable
    std::vector<std::string> holds_within;
    std::vector<std::string> holder;
    // A variable and its value that make it put the rank in front of each line of output.
    std::pair<std::string, std::string> labels;
    // Its options that do not take the next word for their value, by which its program is found: letters as getopt(3)
    // has them ("I::": a value may stand in the same word), and long ones without "--".
    std::string letters_alone;
    std::vector<std::string> names_alone;
};

// At least one, in the order in which they are offered.
const std::vector<StarterCommand> &starter_commands();

} // namespace pmixhost
