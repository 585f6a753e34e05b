// What somebody may have meant who wrote a name that nobody knows: for messages that ask "did you mean ...?".
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pmixhost {

// The one of `names` that takes the fewest changes of a letter to become `text`, the first of several; empty where that
// is more than a third of its letters and one. Of a long `text` the first 64 letters count.
std::string nearest_name(std::string_view text, std::span<const std::string> names);

} // namespace pmixhost
