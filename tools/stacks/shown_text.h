// Names of functions and files come from programs and debuggers, and are shown on terminals, in JSON and in pages.
#pragma once

#include <string>
#include <string_view>

namespace pmixhost {

// Of `text`, at most `max` bytes and "..." when there is more: as UTF-8, where control characters (C1 and those that
// turn the direction of writing included) and what is no UTF-8 are written as \xNN, byte by byte.
std::string shown_text(std::string_view text, std::size_t max);

// For HTML and SVG, in text and in attributes with double quotes.
std::string markup_text(std::string_view text);

} // namespace pmixhost
