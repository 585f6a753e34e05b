// What the PMIx library takes from a file of its settings (pmix-mca-params.conf and others): for comparing what there
// was when pmixhost was built with what there is.
#pragma once

#include <algorithm>
#include <fstream>
#include <string>
#include <string_view>

namespace pmixhost {

// The lines of the text that are neither empty nor comments, without the spaces around them.
inline std::string settings_in(std::string_view text) {
    constexpr std::string_view spaces = " \t\r";
    std::string out;
    while (!text.empty()) {
        auto end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        auto first = line.find_first_not_of(spaces);
        if (first == line.npos || line[first] == '#')
            continue;
        out += line.substr(first, line.find_last_not_of(spaces) - first + 1);
        out += '\n';
    }
    return out;
}

// Of its first 64 KiB; empty where there is no such file. May wait for a file system.
inline std::string settings_in_file(const std::string &path) {
    std::string text(64 << 10, '\0');
    std::ifstream file(path, std::ios::binary);
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return settings_in(text);
}

} // namespace pmixhost
