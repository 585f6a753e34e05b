// Text of unknown origin (a task's, a peer's, a user's) as it may stand in a log, a message or on a terminal: bounded,
// and without control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pmixhost {

// The first `max` bytes, with `instead` for each control character.
inline std::string without_controls(std::string_view text, std::size_t max, char instead) {
    std::string out(text.substr(0, max));
    for (char &c : out) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = instead;
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
