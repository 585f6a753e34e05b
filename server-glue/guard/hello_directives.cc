// See hello_directives.h.
#include "server-glue/guard/hello_directives.h"

#include <algorithm>

namespace pmixhost {

namespace {

constexpr std::uint8_t describes_all = 2;                   // PMIX_BFROP_BUFFER_FULLY_DESC
constexpr std::uint64_t type_uint32 = 14, type_uint64 = 15; // PMIX_UINT32, PMIX_UINT64

constexpr std::uint64_t one_value = 2; // signed numbers are doubled, and then say whether they are below 0

using Number = std::optional<std::uint64_t>;

Number fixed(std::string_view &rest, std::size_t size) {
    if (rest.size() < size)
        return std::nullopt;
    std::uint64_t value = 0;
    for (char c : rest.substr(0, size))
        value = value << 8 | static_cast<unsigned char>(c);
    rest.remove_prefix(size);
    return value;
}

// Eight bytes of seven bits, and a ninth of eight, make 64.
Number flexible(std::string_view &rest) {
    constexpr std::size_t most = 9;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < std::min(rest.size(), most); ++i) {
        const std::uint64_t byte = static_cast<unsigned char>(rest[i]);
        const bool is_last = byte < 128 || i == most - 1;
        value |= (is_last ? byte : byte & 127) << 7 * i;
        if (is_last) {
            rest.remove_prefix(i + 1);
            return value;
        }
    }
    return std::nullopt;
}

Number in_fixed_sizes(std::string_view rest, bool with_types) {
    if (with_types && !fixed(rest, 2))
        return std::nullopt;
    if (fixed(rest, 4) != 1 || (with_types && !fixed(rest, 2)))
        return std::nullopt;
    Number type = fixed(rest, 2);
    if (type != type_uint64 && type != type_uint32)
        return std::nullopt;
    return fixed(rest, *type == type_uint64 ? 8 : 4);
}

Number in_flexible_sizes(std::string_view rest, bool with_types) {
    if (with_types && !flexible(rest))
        return std::nullopt;
    if (flexible(rest) != one_value || (with_types && !flexible(rest)))
        return std::nullopt;
    return flexible(rest);
}

} // namespace

std::optional<std::uint64_t> stated_directives(std::string_view bfrops, std::uint8_t buffer_type,
                                               std::string_view blob) {
    const bool with_types = buffer_type == describes_all;
    return bfrops == "v3" ? in_fixed_sizes(blob, with_types) : in_flexible_sizes(blob, with_types);
}

} // namespace pmixhost
