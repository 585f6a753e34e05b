// Text as the source of a manual page (man(7)).
#pragma once

#include <string>
#include <string_view>

namespace pmixhost {

// What roff would read as its own.
std::string roff_escaped(std::string_view text);
// In lines of less than 100 characters that do not begin as a request of roff does, each with its newline.
std::string roff_filled(std::string_view text);

} // namespace pmixhost
