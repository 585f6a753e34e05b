// See roff.h.
#include "common/text/roff.h"

namespace pmixhost {

std::string roff_escaped(std::string_view text) {
    std::string out;
    for (char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else if (c == '"')
            out += "\\(dq";
        else if (c == '\'')
            out += "\\(aq";
        else
            out += c;
    }
    return out;
}

std::string roff_filled(std::string_view text) {
    std::string out, line;
    auto flush = [&] {
        out += line + "\n";
        line.clear();
    };
    while (!text.empty()) {
        auto space = text.find(' ');
        std::string word = roff_escaped(text.substr(0, space));
        text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
        if (!line.empty() && line.size() + 1 + word.size() > 90)
            flush();
        if (line.empty() && word.starts_with('.'))
            line = "\\&";
        line += (line.empty() || line == "\\&" ? "" : " ") + word;
    }
    flush();
    return out;
}

} // namespace pmixhost
