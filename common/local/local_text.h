// The start document's values hold no line break, but arguments and variables may: in the `local.`
// keys for arguments, variables and the working directory, a line break is \n and a backslash \\.
#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>

namespace pmixhost::local {

inline std::string escape_line(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '\n')
            out += "\\n";
        else if (c == '\\')
            out += "\\\\";
        else
            out += c;
    }
    return out;
}

inline Result<std::string> unescape_line(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\') {
            out += text[i];
            continue;
        }
        ++i;
        if (i == text.size() || (text[i] != 'n' && text[i] != '\\'))
            return error(ErrorKind::invalid, "an unknown \\ sequence");
        out += text[i] == 'n' ? '\n' : '\\';
    }
    return out;
}

} // namespace pmixhost::local
