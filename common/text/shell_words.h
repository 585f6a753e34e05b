// A setting that is a command, split into words as a shell splits plain words: at blanks, with '...', "..." and
// backslashes. Nothing is expanded, so what only a shell would act upon ($HOME, ~, a pipe) is refused where it is not
// quoted, instead of reaching a program as it stands; patterns of file names are words like others.
#pragma once

#include "common/base/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

inline constexpr std::size_t max_shell_text = 4096;

// No words for a text of blanks alone. Fails (limit, invalid) with what is wrong, for people.
inline Result<std::vector<std::string>> split_shell_words(std::string_view text) {
    if (text.size() > max_shell_text)
        return error(ErrorKind::limit, "it has {} characters, more than {}", text.size(), +max_shell_text);
    std::vector<std::string> words;
    bool in_word = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c != '\t' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f))
            return error(ErrorKind::invalid, "it has a control character");
        if (!quote && (c == ' ' || c == '\t')) {
            in_word = false;
            continue;
        }
        if (!in_word) {
            words.emplace_back();
            in_word = true;
        }
        if (c == quote) {
            quote = 0;
        } else if (!quote && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == '\\' && quote != '\'') {
            if (i + 1 == text.size())
                return error(ErrorKind::invalid, "there is nothing behind its last backslash");
            char next = text[i + 1];
            // In double quotes it is a character like others, but before those that mean something there.
            if (!quote || std::string_view("\"\\$`").find(next) != std::string_view::npos)
                ++i;
            words.back() += text[i];
        } else if (c == '~' && !quote && words.back().empty() &&
                   (i == 0 || text[i - 1] == ' ' || text[i - 1] == '\t')) {
            return error(ErrorKind::invalid,
                         "no shell reads it, so ~ is no home directory in it; write the whole path");
        } else if (std::string_view(quote == '"' ? "$`" : "$`;|&<>()").find(c) != std::string_view::npos &&
                   quote != '\'') {
            return error(ErrorKind::invalid,
                         "no shell reads it, so {} has no meaning in it; put it in single quotes, or what needs a "
                         "shell into a script",
                         c);
        } else {
            words.back() += c;
        }
    }
    if (quote)
        return error(ErrorKind::invalid, "a {} has no second one", quote);
    if (!words.empty() && words.front().empty())
        return error(ErrorKind::invalid, "its first word, the program, is empty");
    return words;
}

} // namespace pmixhost
