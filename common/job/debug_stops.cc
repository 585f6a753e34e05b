// See debug_stops.h.
#include "common/job/debug_stops.h"

#include "common/text/take_until.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <utility>

namespace pmixhost {

bool DebugStops::empty() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const RankRanges &ranks) { return ranks.empty(); });
}

std::string DebugStops::text() const {
    std::string out;
    for (std::size_t i = 0; i < stop_place_count; ++i) {
        if (ranks_[i].empty())
            continue;
        out += fmt::format("{}{}=", out.empty() ? "" : ";", stop_place_words[i]);
        const char *separator = "";
        for (auto [first, last] : ranks_[i].ranges()) {
            out += separator;
            out += first == 0 && last == all_ranks ? "all"
                   : first == last                 ? fmt::format("{}", first)
                                                   : fmt::format("{}-{}", first, last);
            separator = ",";
        }
    }
    return out;
}

static bool parse_stop_ranges(std::string_view text, RankRanges &out) {
    while (!text.empty()) {
        std::string_view part = take_until(text, ',');
        const char *end = part.data() + part.size();
        Rank first = 0;
        auto [stop, code] = std::from_chars(part.data(), end, first);
        if (code != std::errc())
            return false;
        Rank last = first;
        if (stop != end) {
            if (*stop != '-')
                return false;
            auto [final_stop, bad] = std::from_chars(stop + 1, end, last);
            if (bad != std::errc() || final_stop != end || last < first)
                return false;
        }
        out.add(first, last);
    }
    return !out.empty();
}

std::optional<DebugStops> DebugStops::parse(std::string_view text) {
    DebugStops stops;
    if (text.size() > max_text)
        return std::nullopt;
    while (!text.empty()) {
        std::string_view part = take_until(text, ';');
        std::size_t equals = part.find('=');
        auto word = std::find(stop_place_words.begin(), stop_place_words.end(), part.substr(0, equals));
        if (word == stop_place_words.end())
            return std::nullopt;
        RankRanges &ranks = stops.ranks_[static_cast<std::size_t>(word - stop_place_words.begin())];
        if (!ranks.empty())
            return std::nullopt;
        if (equals == part.npos || part.substr(equals + 1) == "all")
            ranks.add(0, all_ranks);
        else if (!parse_stop_ranges(part.substr(equals + 1), ranks))
            return std::nullopt;
    }
    return stops;
}

Result<void> DebugStops::fit(Rank count) {
    for (RankRanges &ranks : ranks_) {
        RankRanges wanted = std::exchange(ranks, {});
        for (auto [first, last] : wanted.ranges()) {
            Rank missing = first < count ? last : first;
            if (missing >= count && missing != all_ranks)
                return error(ErrorKind::not_found, "there is no rank {} to stop; the job has {} processes", missing,
                             count);
            ranks.add(first, std::min(last, count - 1));
        }
    }
    return {};
}

} // namespace pmixhost
