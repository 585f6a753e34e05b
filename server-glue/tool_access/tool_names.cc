// See tool_names.h.
#include "server-glue/tool_access/tool_names.h"

#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace pmixhost {

static constexpr std::string_view of_tools = ".tool";

Process ToolNames::next() {
    return {fmt::format("{}{}.{}.{}", nspace_, of_tools, host_, ++given_), 0};
}

// Takes ".NUMBER" off the end, written as it is given: without signs and zeros before it.
static std::optional<std::uint64_t> take_number(std::string_view &name) {
    std::size_t dot = name.rfind('.');
    if (dot == name.npos)
        return std::nullopt;
    std::string_view digits = name.substr(dot + 1);
    std::uint64_t value = 0;
    auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (failed != std::errc() || end != digits.data() + digits.size() || fmt::format("{}", value) != digits)
        return std::nullopt;
    name = name.substr(0, dot);
    return value;
}

bool ToolNames::may_be_said(std::string_view name) const {
    auto number = take_number(name);
    auto host = number ? take_number(name) : std::nullopt;
    if (!host || *number == 0 || !name.ends_with(of_tools) || name.size() == of_tools.size())
        return false;
    name.remove_suffix(of_tools.size());
    return name != nspace_ || *host != host_ || *number <= given_;
}

} // namespace pmixhost
