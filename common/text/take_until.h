// Takes a text to pieces at a separator: the lines of a file, the words of a line, the entries of a list.
#pragma once

#include <string_view>

namespace pmixhost {

// What stands before the first `separator`, or all when there is none; `rest` is then what stands behind it. In a loop
// until `rest` is empty, an end with or without the separator gives the same pieces.
inline std::string_view take_until(std::string_view &rest, char separator) {
    const std::size_t end = rest.find(separator);
    const std::string_view piece = rest.substr(0, end);
    rest = end == rest.npos ? std::string_view() : rest.substr(end + 1);
    return piece;
}

} // namespace pmixhost
