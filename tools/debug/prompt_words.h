// What is typed at the prompt of `pmixhost debug`: the few words of our own, and all else is gdb's. Pure.
#pragma once

#include "common/job/job_map.h"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pmixhost {

struct PromptNothing {};
struct PromptHelp {};
struct PromptRanks {}; // `ranks`: who does what
struct PromptFocus {
    std::optional<std::vector<Rank>> ranks;
};                         // `focus RANKS`; nothing: `all`
struct PromptInterrupt {}; // `interrupt`
struct PromptWait {};      // `wait`: until all of the focus have stopped or ended
struct PromptInput {
    std::string text; // with its newline
    bool ends = false;
}; // `input TEXT`, for the job's standard input; `eof`
struct PromptQuit {
    bool kills = false;
}; // `quit`, `quit kill`
struct PromptRefused {
    std::string why;
};
struct PromptSay {
    std::string text;
    bool background = false; // "continue &": the prompt comes back while they run
};
using PromptWord = std::variant<PromptNothing, PromptHelp, PromptRanks, PromptFocus, PromptInterrupt, PromptWait,
                                PromptInput, PromptQuit, PromptRefused, PromptSay>;

PromptWord parse_prompt(std::string_view line);
// What an empty line says behind this one, as at gdb's prompt: a step is taken once more, a list goes on. Empty:
// nothing, as behind `continue`, since a line that was typed while ranks ran would take them past where they stop.
std::string once_more(std::string_view line);
// Of our own words, those that begin so.
std::vector<std::string> own_words(std::string_view begin);
extern const char prompt_help[];

} // namespace pmixhost
