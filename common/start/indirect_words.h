// What pmixhost-indirect (server-glue/indirect/) says to the starter of a job (srun) that a debugger has started, over
// the socket between the two; one line.
//   released FILE STOPS   go on: the job's server is to be told in FILE (PMIx standard, PMIX_LAUNCHER_RNDZ_FILE), and
//                         processes stop as STOPS says (common/job/debug_stops.h), "-" where none do; behind that
//                         " ends=WORD" where the job's hosts are to tell how their processes end
//                         (common/job/told_ends.h)
//   refused TEXT          there is to be no job
// The starter says there what it would say to a launcher (common/start/spawn_channel.h), before that, perhaps while it
// still waits for the word,
//   allocated ID NSPACE   it has made an allocation of its own, for a job that will have this namespace
// and as its last word
//   exited CODE           its exit code; without it a signal has ended it
// The end is the end of either.
// Header-only, because the shims of RMs use it too.
#pragma once

#include "common/base/result.h"
#include "common/job/told_ends.h"
#include "common/text/printable.h"

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

namespace pmixhost {

// In the environment of a starter that `pmixhost launcher` has become: the words of the program that only holds the
// place, with spaces.
inline constexpr std::string_view holder_variable = "PMIXHOST_HOLDER";

inline constexpr std::string_view ends_of_released = " ends=";

struct Released {
    std::string file;
    std::string stops; // empty: nobody stops
    ToldEnds ends = ToldEnds::none;

    std::string line() const {
        return fmt::format("released {} {}{}{}\n", file, stops.empty() ? "-" : stops,
                           ends == ToldEnds::none ? "" : ends_of_released, word_of(ends));
    }
};

inline std::string refused_line(std::string_view why) {
    return fmt::format("refused {}\n", one_line(why));
}

// `line` has no line break. Fails with what was refused (denied), and (invalid) where it is no such line.
inline Result<Released> parse_released(std::string_view line) {
    constexpr std::string_view released = "released ", refused = "refused ";
    if (line.starts_with(refused))
        return error(ErrorKind::denied, "{}", one_line(line.substr(refused.size())));
    ToldEnds ends = ToldEnds::none;
    for (ToldEnds each : {ToldEnds::bad, ToldEnds::all}) {
        const std::string word = fmt::format("{}{}", ends_of_released, word_of(each));
        if (ends == ToldEnds::none && line.ends_with(word)) {
            ends = each;
            line.remove_suffix(word.size());
        }
    }
    std::size_t space = line.rfind(' ');
    if (!line.starts_with(released) || space < released.size() || space + 1 == line.size())
        return error(ErrorKind::invalid, "'{}' does not say that the debugger lets go", printable(line));
    std::string_view stops = line.substr(space + 1);
    return Released{std::string(line.substr(released.size(), space - released.size())),
                    stops == "-" ? std::string() : std::string(stops), ends};
}

struct Allocated {
    std::string id; // as the RM's users call it
    std::string nspace;

    std::string line() const { return fmt::format("allocated {} {}\n", id, nspace); }
};
// Nothing when it is no such line.
inline std::optional<Allocated> parse_allocated(std::string_view line) {
    constexpr std::string_view word = "allocated ";
    if (!line.starts_with(word))
        return {};
    line.remove_prefix(word.size());
    std::size_t space = line.find(' ');
    if (space == line.npos || space == 0 || space + 1 == line.size() || line.size() - space > 256)
        return {};
    return Allocated{std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
}

inline constexpr std::string_view exited_word = "exited ";
// Nothing when it is no such line.
inline std::optional<int> parse_exited(std::string_view line) {
    int code = 0;
    if (!line.starts_with(exited_word))
        return {};
    line.remove_prefix(exited_word.size());
    auto [end, failed] = std::from_chars(line.data(), line.data() + line.size(), code);
    if (failed != std::errc() || end != line.data() + line.size() || code < 0 || code > 255)
        return {};
    return code;
}

} // namespace pmixhost
