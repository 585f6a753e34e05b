// See config_man.h.
#include "common/config/config_man.h"

#include "common/config/config_options.h"

namespace pmixhost {

namespace {

std::string escaped(std::string_view text) {
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

// Breaks text into lines of source that stay below 100 columns and never begin with a control character.
std::string filled(std::string_view text) {
    std::string out, line;
    auto flush = [&] {
        out += line + "\n";
        line.clear();
    };
    while (!text.empty()) {
        auto space = text.find(' ');
        std::string word = escaped(text.substr(0, space));
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

} // namespace

std::string config_man_section() {
    const Settings defaults;
    std::string out = ".SH OPTIONS\n";
    std::string_view section;
    for (const auto &option : config_options()) {
        auto dot = option.key.find('.');
        if (option.key.substr(0, dot) != section) {
            section = option.key.substr(0, dot);
            out += fmt::format(".SS [{}]\n", section);
        }
        out += fmt::format(".TP\n\\fB{}\\fR = {}\n", escaped(option.key.substr(dot + 1)),
                           escaped(show_option(option, defaults)));
        out += filled(option.text);
        out += ".br\n" + filled("Allowed: " + allowed_values(option) + ".");
        if (option.user)
            out += fmt::format(".br\nEnvironment: \\fB{}\\fR\n", environment_name(option));
    }
    return out;
}

} // namespace pmixhost
