// See config_values.h.
#include "common/config/config_values.h"

#include <charconv>
#include <span>

namespace pmixhost {

namespace {

struct Unit {
    std::string_view name;
    std::uint64_t factor;
};
// Largest first, as format_with() wants it.
constexpr Unit duration_units[] = {{"h", 3'600'000}, {"min", 60'000}, {"s", 1000}, {"ms", 1}};
constexpr Unit size_units[] = {{"GiB", 1u << 30}, {"MiB", 1u << 20}, {"KiB", 1u << 10}, {"B", 1}};

// A number without unit counts `plain` times.
Result<std::uint64_t> parse_with(std::string_view text, std::span<const Unit> units, std::uint64_t plain,
                                 std::string_view what) {
    std::uint64_t number = 0;
    const char *end = text.data() + text.size();
    auto [stop, code] = std::from_chars(text.data(), end, number);
    if (code == std::errc::result_out_of_range)
        return error(ErrorKind::invalid, "too large");
    if (code != std::errc())
        return error(ErrorKind::invalid, "not {}", what);
    std::string_view unit(stop, static_cast<std::size_t>(end - stop));
    std::uint64_t factor = unit.empty() ? plain : 0;
    for (const auto &known : units) {
        if (unit == known.name)
            factor = known.factor;
    }
    if (factor == 0)
        return error(ErrorKind::invalid, "not {}", what);
    std::uint64_t value = 0;
    // Milliseconds are signed.
    if (__builtin_mul_overflow(number, factor, &value) || value > INT64_MAX)
        return error(ErrorKind::invalid, "too large");
    return value;
}

std::string format_with(std::uint64_t value, std::span<const Unit> units) {
    for (const auto &unit : units) {
        if (value != 0 && value % unit.factor == 0)
            return fmt::format("{}{}", value / unit.factor, unit.name);
    }
    return "0";
}

} // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
    auto value = parse_with(text, duration_units, 1000, "a duration");
    if (!value)
        return value.failure();
    return std::chrono::milliseconds(static_cast<std::int64_t>(*value));
}

Result<std::uint64_t> parse_size(std::string_view text) {
    return parse_with(text, size_units, 1, "a size");
}

Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t max) {
    std::uint64_t number = 0;
    const char *end = text.data() + text.size();
    auto [stop, code] = std::from_chars(text.data(), end, number);
    if (code == std::errc::invalid_argument || stop != end)
        return error(ErrorKind::invalid, "not a whole number");
    if (code != std::errc() || number > max)
        return error(ErrorKind::invalid, "too large");
    return number;
}

Result<PortRange> parse_ports(std::string_view text) {
    auto dash = text.find('-');
    auto first = parse_number(text.substr(0, dash), UINT16_MAX);
    if (!first)
        return first.failure();
    auto last = dash == std::string_view::npos ? first : parse_number(text.substr(dash + 1), UINT16_MAX);
    if (!last)
        return last.failure();
    if (*last < *first)
        return error(ErrorKind::invalid, "the last port is below the first");
    return PortRange{static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

std::string format_duration(std::chrono::milliseconds value) {
    return format_with(static_cast<std::uint64_t>(value.count()), duration_units);
}

std::string format_size(std::uint64_t bytes) {
    return format_with(bytes, size_units);
}

} // namespace pmixhost
