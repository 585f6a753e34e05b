// Where the starter of a step listens (starter_message.h). It travels in the step's environment and in the start
// document (report_variable and `slurm.report` under Slurm) as "PORT COOKIE ADDRESS [ADDRESS ...]", the cookie as 32
// hex digits, the numeric addresses of the starter's host. Nobody knows which of them leads to it from elsewhere.
#pragma once

#include "common/base/result.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::kit {

inline constexpr std::size_t max_addresses = 16;

using Cookie = std::array<unsigned char, 16>; // of one step

struct StarterAddress {
    std::uint16_t port = 0;
    Cookie cookie{};
    std::vector<std::string> addresses; // 1 to max_addresses

    std::string text() const;
    static Result<StarterAddress> parse(std::string_view text); // fails (invalid)
};

} // namespace pmixhost::kit
