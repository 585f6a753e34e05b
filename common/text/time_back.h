// How long ago, as the words of a command name it: "90", "90s", "5m", "2h". Commands ask it of people, and desks and
// gates of what others ask them to run.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pmixhost {

inline constexpr std::chrono::seconds longest_time_back = std::chrono::hours(31 * 24);

// A plain number is of seconds. Nothing: it is no such time, or beyond longest_time_back.
inline std::optional<std::chrono::seconds> time_back_in_words(std::string_view text) {
    std::uint32_t number = 0;
    const char *end = text.data() + text.size();
    auto [stop, failed] = std::from_chars(text.data(), end, number);
    std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    if (failed != std::errc())
        return std::nullopt;
    std::uint64_t factor = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    std::chrono::seconds seconds(number * factor);
    return factor == 0 || seconds > longest_time_back ? std::nullopt : std::optional(seconds);
}

} // namespace pmixhost
