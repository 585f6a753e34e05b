// See end_lines.h.
#include "server-glue/events/end_lines.h"

#include <csignal>
#include <cstring>
#include <fmt/format.h>

namespace pmixhost {

namespace {

// "0-3,7"; not more than fits in a line.
std::string shown_ranks(const std::vector<wire::RankRange> &ranges) {
    constexpr std::size_t most = 20;
    std::string out;
    for (std::size_t i = 0; i < ranges.size() && i < most; ++i) {
        out += i > 0 ? "," : "";
        out += ranges[i].first == ranges[i].last ? fmt::format("{}", ranges[i].first)
                                                 : fmt::format("{}-{}", ranges[i].first, ranges[i].last);
    }
    return ranges.size() > most ? out + ",..." : out;
}

std::string how_it_ended(const wire::EndedProcess &ended) {
    if (ended.exit_code < 0)
        return "has ended; nobody knows how";
    if (ended.exit_code > 128 && ended.exit_code < 128 + NSIG)
        return fmt::format("was ended by signal {} ({})", ended.exit_code - 128, ::strsignal(ended.exit_code - 128));
    return fmt::format("has ended with exit code {}{}", ended.exit_code,
                       ended.exit_code == 0 ? ", and had not finalized PMIx" : "");
}

} // namespace

std::vector<std::string> end_lines(const std::vector<wire::EndedProcess> &bad,
                                   const std::vector<wire::RankRange> &well) {
    constexpr std::size_t most = 100;
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < bad.size() && i < most; ++i)
        lines.push_back(fmt::format("rank {} {}", bad[i].rank, how_it_ended(bad[i])));
    if (bad.size() > most)
        lines.push_back(fmt::format("{} more ranks have ended badly", bad.size() - most));
    if (!well.empty()) {
        bool one = well.size() == 1 && well[0].first == well[0].last;
        lines.push_back(fmt::format("{} {} {} ended with exit code 0", one ? "rank" : "ranks", shown_ranks(well),
                                    one ? "has" : "have"));
    }
    return lines;
}

} // namespace pmixhost
