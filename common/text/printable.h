// Text of unknown origin (a task's, a peer's, a user's) as it may stand in a log, a message or on a terminal: bounded,
// and without control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pmixhost {

// U+0080 to U+009F are controls as well (U+009B begins a sequence of a terminal), of two bytes in UTF-8. Does one begin
// at `at`? So does the half of one at the end, which what comes behind could complete.
inline bool long_control_begins(std::string_view text, std::size_t at) {
    auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0x80;
    return static_cast<unsigned char>(text[at]) == 0xc2 && next >= 0x80 && next < 0xa0;
}

// The first `max` bytes, with `instead` for each byte of a control character.
inline std::string without_controls(std::string_view text, std::size_t max, char instead) {
    std::string out(text.substr(0, max));
    for (std::size_t i = 0; i < out.size(); ++i) {
        auto byte = static_cast<unsigned char>(out[i]);
        if (long_control_begins(out, i)) {
            out[i] = instead;
            if (i + 1 < out.size())
                out[++i] = instead;
        } else if (byte < 0x20 || byte == 0x7f) {
            out[i] = instead;
        }
    }
    return out;
}

// For the middle of a message: shows what was replaced, and that there was more.
inline std::string printable(std::string_view text, std::size_t max = 80) {
    std::string out = without_controls(text, max, '?');
    return text.size() > max ? out + "..." : out;
}

// For a line of its own: line breaks become spaces.
inline std::string one_line(std::string_view text, std::size_t max = 1024) {
    return without_controls(text, max, ' ');
}

} // namespace pmixhost
