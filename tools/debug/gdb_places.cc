// See gdb_places.h.
#include "tools/debug/gdb_places.h"

#include <algorithm>
#include <cstdint>

namespace pmixhost {

namespace {

constexpr std::string_view decimal_digits = "0123456789", hexadecimal_digits = "0123456789abcdef";
constexpr std::size_t shortest_address =
    6;                                    // digits without zeros in front; shorter numbers are not moved by the kernel
constexpr std::size_t digits_in_page = 3; // 4 KiB: by less than a page the kernel moves nothing

std::size_t length_of(std::string_view text, std::string_view allowed) {
    return std::min(text.find_first_not_of(allowed), text.size());
}

// Beginnings of lines, as gdb 12 to 16 write them. '%' is a number, or "1.2"; '@' is "0x" with its digits; '_' is one
// blank or more; all else stands for itself.
constexpr std::string_view lines_of_places[] = {
    "#%_",                 // calls of a stack
    "@ in ",               // where it has stopped
    "@ ()",                // as GdbDialogue says it
    "@\t%\t",              // amid a line of the source
    "Run till exit from ", // finish
    "Continuing at @",     // jump
    "Thread % \"",         // has hit a breakpoint
    "Thread % hit ",
    "Thread % (", // thread apply
    "[Switching to ",
    "[Current thread is ",
    "[New ",
    "[Thread @",
    "[LWP %",
    "[Inferior %",
    "[Attaching after ",
    "[Detaching after ",
    "process % ",  // is executing another program
    "process %: ", // may not be looked at
    "Breakpoint %",
    "Temporary breakpoint %",
    "Hardware assisted breakpoint %",
    "Note: breakpoint",
    "Catchpoint %",
    "Temporary catchpoint %",
    "Dprintf %",
    "%_breakpoint_", // info breakpoints
    "%_hw breakpoint_",
    "%_dprintf_",
    "%_y_@",
    "%_n_@",
    "@_@_Yes", // info sharedlibrary
    "@_@_No",
    "Line % of ", // info line
};
// info threads, info inferiors: their columns are as wide as the numbers in them.
constexpr std::string_view rows_of_places[] = {
    "_Id_", "_Num_", "_%_Thread @", "*_%_Thread @", "_%_LWP %", "*_%_LWP %", "_%_process %", "*_%_process %",
};

bool begins_as(std::string_view line, std::string_view pattern) {
    for (char c : pattern) {
        std::size_t length = 1;
        if (c == '%') {
            length = length_of(line, "0123456789.");
        } else if (c == '@') {
            std::size_t digits = line.starts_with("0x") ? length_of(line.substr(2), hexadecimal_digits) : 0;
            length = digits == 0 ? 0 : digits + 2;
        } else if (c == '_') {
            length = length_of(line, " ");
        } else if (line.empty() || line[0] != c) {
            return false;
        }
        if (length == 0)
            return false;
        line.remove_prefix(length);
    }
    return true;
}

// "hang.c:23".
bool is_line_of_source(std::string_view words) {
    auto colon = words.rfind(':');
    return colon != words.npos && colon > 0 && colon + 1 < words.size() &&
           words.find_first_not_of("0123456789", colon + 1) == words.npos;
}

// "works (file=0x7ffd..) at hang.c:23": where it has stopped at the beginning of a line of its source; with "from" a
// library. What somebody prints ("sum (0x5) at step 3") ends in neither.
bool is_call(std::string_view line) {
    auto arguments = line.find(" (");
    if (arguments == 0 || arguments == line.npos)
        return false;
    std::string_view name = line.substr(0, arguments);
    bool may_be_name = std::string_view(" $0123456789").find(name[0]) == line.npos;
    for (std::string_view of_others : {" = ", ": ", "\"", "\t"})
        may_be_name = may_be_name && name.find(of_others) == line.npos;
    std::string_view behind = line.substr(arguments);
    auto at = behind.rfind(") at "), from = behind.rfind(") from ");
    bool in_source = at != behind.npos && is_line_of_source(behind.substr(at + 5));
    bool in_library = from != behind.npos && behind.find(".so", from) != behind.npos;
    return may_be_name && (in_source || in_library);
}

// "=> 0x5561ef52316c <f+19>:\tmov ...", of x/i and display/i; "   0x00005561ef523159 <+0>:\tpush ...", of disassemble.
bool is_instruction(std::string_view line) {
    bool marked = line.starts_with("=> "), other = line.starts_with("   ");
    return (marked || other) && begins_as(line.substr(3), "@ <") && line.find(">:\t") != line.npos;
}

enum class LineKind : std::uint8_t { data, place, row, instruction };

LineKind kind_of(std::string_view line) {
    auto begins_line = [line](std::string_view pattern) { return begins_as(line, pattern); };
    if (is_instruction(line))
        return LineKind::instruction;
    if (std::any_of(std::begin(rows_of_places), std::end(rows_of_places), begins_line))
        return LineKind::row;
    bool place = std::any_of(std::begin(lines_of_places), std::end(lines_of_places), begins_line) || is_call(line);
    return place ? LineKind::place : LineKind::data;
}

// `text` begins with a string or a character in quotes: how long it is with them. 0: it does not.
std::size_t quoted_length(std::string_view text) {
    if (text.starts_with("'\"'"))
        return 3;
    if (!text.starts_with('"'))
        return 0;
    for (std::size_t i = 1; i < text.size(); ++i) {
        if (text[i] == '\\')
            ++i;
        else if (text[i] == '"')
            return i + 1;
    }
    return text.size();
}

// An address or the kernel's number at the beginning of `text`: how long it is, and what stands in its place in `out`.
// 0: there is none that has to go.
std::size_t replace_number(std::string_view text, LineKind kind, std::string &out) {
    for (std::string_view word : {"LWP ", "process "}) {
        std::size_t digits = text.starts_with(word) ? length_of(text.substr(word.size()), decimal_digits) : 0;
        if (digits == 0 || kind == LineKind::instruction)
            continue;
        out.append(word).append("..");
        return word.size() + digits;
    }
    if (!text.starts_with("0x"))
        return 0;
    std::string_view digits = text.substr(2, length_of(text.substr(2), hexadecimal_digits));
    if (digits.size() - length_of(digits, "0") < shortest_address)
        return 0;
    std::string_view behind = text.substr(2 + digits.size());
    if (kind == LineKind::instruction && !behind.starts_with(" <"))
        return 0;
    out += "0x..";
    if (behind.starts_with(" in ?? (") || behind.starts_with(" ()"))
        out += digits.substr(digits.size() - digits_in_page);
    return 2 + digits.size();
}

void append_place(std::string &out, std::string_view line, LineKind kind) {
    for (std::size_t i = 0; i < line.size();) {
        if (std::size_t length = quoted_length(line.substr(i)); length > 0) {
            out += line.substr(i, length);
            i += length;
        } else if (length = replace_number(line.substr(i), kind, out); length > 0) {
            i += length;
        } else if (kind == LineKind::row && line[i] == ' ') {
            std::size_t blanks = length_of(line.substr(i), " ");
            out.append(i == 0 ? blanks : 1, ' ');
            i += blanks;
        } else {
            out += line[i++];
        }
    }
}

// "$12 = 5"
void append_data(std::string &out, std::string_view line) {
    constexpr std::string_view returned = "Value returned is ";
    std::size_t at = line.starts_with(returned) ? returned.size() : 0;
    if (!begins_as(line.substr(at), "$% = ")) {
        out += line;
        return;
    }
    out.append(line.substr(0, at)).append("$..").append(line.substr(line.find(" = ", at)));
}

} // namespace

std::string without_places(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        std::string_view line = text.substr(0, text.find('\n'));
        LineKind kind = kind_of(line);
        if (kind == LineKind::data)
            append_data(out, line);
        else
            append_place(out, line, kind);
        text.remove_prefix(line.size());
        if (!text.empty()) {
            out += '\n';
            text.remove_prefix(1);
        }
    }
    return out;
}

} // namespace pmixhost
