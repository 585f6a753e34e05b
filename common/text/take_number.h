// Takes a number off the beginning of a text that has more behind it.
#pragma once

#include <charconv>
#include <string_view>
#include <system_error>

namespace pmixhost {

// In decimal, as far as there are digits; `text` then begins behind them. False, with both as they were, where no
// number stands there or it does not fit.
template <typename Number> bool take_number(std::string_view &text, Number &value) {
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc())
        return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

} // namespace pmixhost
