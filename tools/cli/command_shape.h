// The options and arguments of a command, taken from its parser: what completion is made from (completion.h).
#pragma once

#include <exception>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace pmixhost {

struct OptionShape {
    std::vector<std::string> names; // "-s", "--signal"; none: a positional argument
    std::string value;              // what its value is called: "FILE"; empty: it has none
    std::string text;
    bool many = false; // a positional argument that may be there several times
};

struct CommandShape {
    std::string name, text;
    std::vector<OptionShape> options;
    std::vector<CommandShape> subcommands;
    bool program = false; // ends with a program and its arguments, behind --
};

// Without what the help does not show.
CommandShape shape_of(const CLI::App &parser);

// Asked with this word alone, a command does nothing but throw its shape.
inline constexpr char describe_word[] = "\x01";
struct DescribedCommand : std::exception {
    explicit DescribedCommand(CommandShape of) : shape(std::move(of)) {}
    const char *what() const noexcept override { return "a word that has no meaning"; } // somebody typed it
    CommandShape shape;
};
inline bool is_to_be_described(const std::vector<std::string> &words) {
    return words.size() == 1 && words[0] == describe_word;
}

} // namespace pmixhost
