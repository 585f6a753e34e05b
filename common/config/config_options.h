// The table of all options: the parser, `pmixhost config --show` and the man page pmixhost.conf(5)
// are made from it. A new option is a member of Settings and an entry here; the man page's section
// is then renewed with `pmixhost config --man` (a test compares).
//
// An RM's plugin has its options in a table of its own (OfPlugin), which stands in its folder and is listed in
// plugins/option_tables.cc. That file is linked with this one, so every program and module knows the sections of
// all plugins of the source tree, whether or not they were built: a file that serves several hosts is right on each.
#pragma once

#include "common/config/settings.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace pmixhost {

// The member of an option whose text only a plugin reads (Settings::of_plugins). Its default is empty.
struct OfPlugin {};

struct Option {
    // The member's type is the option's type: uint32 a count, uint64 a size in bytes, milliseconds
    // a duration, string one of `words`, or as `path` says, vector a list of names, or of rules for tools.
    using Member =
        std::variant<std::uint32_t Settings::*, std::uint64_t Settings::*, std::chrono::milliseconds Settings::*,
                     std::string Settings::*, std::vector<std::string> Settings::*, std::vector<PlacedText> Settings::*,
                     PortRange Settings::*, OfPlugin>;
    enum class Path { none, directory, directory_or_empty, log_pattern, program, command, debug_stops };

    std::string_view key; // "section.name"
    Member member;
    bool user = false;         // may be set by the environment variable of environment_name()
    bool user_if_free = false; // the same, but only where the file does not set it
    std::uint64_t min = 0;     // counts, sizes (bytes), durations (ms)
    std::uint64_t max = 0;
    bool zero = false; // zero is allowed too, though below min
    std::span<const std::string_view> words = {};
    Path path = Path::none;
    std::string_view text = {}; // one paragraph for the man page
};

// Grouped by section; those of the plugins come last.
std::span<const Option> config_options();
// The options that plugins/option_tables.cc lists.
std::vector<Option> plugin_options();

// "PMIXHOST_FENCE_TIMEOUT" for fence.timeout, whether or not the option has one.
std::string environment_name(const Option &option);

// The known key that looks most like `text` (nearest_name()); empty if none does.
std::string nearest_option(std::string_view text);

} // namespace pmixhost
