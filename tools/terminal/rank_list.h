// Ranks as the words of a command name them: "0-3,7".
#pragma once

#include "common/job/process_set.h"
#include "common/text/printable.h"

namespace pmixhost {

// `option` is for the text of a failure (invalid).
inline Result<std::vector<Rank>> ranks_in_words(const std::string &text, const char *option = "--ranks") {
    constexpr Rank most_ranks = 1u << 24;
    auto sets = text.find_first_of("*;=") == text.npos ? parse_process_sets("ranks=" + text, most_ranks)
                                                       : Result<std::vector<ProcessSet>>(error(ErrorKind::invalid, ""));
    if (!sets || sets->size() != 1)
        return error(ErrorKind::invalid, "{} is '{}'; allowed: ranks and ranges, such as 0-3,7", option,
                     printable(text));
    return std::move(sets->front().ranks);
}

} // namespace pmixhost
