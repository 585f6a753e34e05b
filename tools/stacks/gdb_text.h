// What gdb says on its machine interface (GDB/MI, "gdb --interpreter=mi2"). Pure. Names in it come from the program
// that is looked at, so nothing is taken for well formed.
#pragma once

#include "common/base/result.h"
#include "tools/stacks/stack_frames.h"

#include <nlohmann/json.hpp>

#include <string_view>

namespace pmixhost {

struct GdbRecord {
    char kind = 0;         // '^' result, '*' '=' '+' what happened, '~' '@' '&' text, '(' the prompt
    std::string token;     // the digits before it
    std::string word;      // "done", "error", "stopped"; of text, the text
    nlohmann::json values; // an object; a list of results ("frame={},frame={}") is an array of the values
};

// One line without its end. Fails (invalid) where it is none of these, or nested more than 32 deep.
Result<GdbRecord> parse_gdb_line(std::string_view line);

// The text of that name in an object of values; empty where there is none.
std::string gdb_word(const nlohmann::json &values, const char *name);
// The list of that name; empty where there is none.
const nlohmann::json &gdb_list(const nlohmann::json &values, const char *name);

struct GdbThread {
    std::string gdb_id; // digits
    long id = 0;        // the kernel's; 0: unknown
    std::string name;
};
// Of the answer to -thread-info.
std::vector<GdbThread> threads_of_gdb(const nlohmann::json &values);
// Of the answer to -stack-list-frames, the innermost first; at most max_frames + 1.
std::vector<StackFrame> frames_of_gdb(const nlohmann::json &values);

// As one word of a command.
std::string gdb_quoted(std::string_view text);
// Is it one word of a command of gdb's console, as it is? Some of these divide it at any blank, unlike gdb_quoted(),
// and evaluate as an expression, which may call functions and commands, what then stands behind an option.
bool is_gdb_word(std::string_view text);

} // namespace pmixhost
