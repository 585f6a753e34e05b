// Words as people and commands write them, with blanks around them.
#pragma once

#include <string_view>

namespace pmixhost {

// Without the blanks at both ends, and without a carriage return behind it, as lines of other systems have.
constexpr std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
        text.remove_suffix(1);
    return text;
}

} // namespace pmixhost
