// Quantities as people write them, in pmixhost.conf, the environment and on the command line.
#pragma once

#include "common/base/result.h"
#include "common/config/settings.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace pmixhost {

// "500ms", "30s", "5min", "2h"; without unit: seconds. Whole numbers only.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);
// "4096", "64KiB", "64MiB", "1GiB".
Result<std::uint64_t> parse_size(std::string_view text);
// "6000-6100", "6000", "0".
Result<PortRange> parse_ports(std::string_view text);
// Digits only, nothing before or after them.
Result<std::uint64_t> parse_number(std::string_view text, std::uint64_t max = UINT64_MAX);

// The reverse: the largest unit that divides the value.
std::string format_duration(std::chrono::milliseconds value);
std::string format_size(std::uint64_t bytes);

} // namespace pmixhost
