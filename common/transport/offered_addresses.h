// Which of a host's addresses others are told. Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace pmixhost {

// At most `most` of them, IPv4 first. The hosts may have one family alone between them, however many bridges this
// one has of the other: a quarter of the room is left for IPv6.
inline std::vector<std::string> offered_addresses(std::vector<std::string> v4, std::vector<std::string> v6,
                                                  std::size_t most) {
    v4.resize(std::min(v4.size(), most - std::min(v6.size(), most / 4)));
    v6.resize(std::min(v6.size(), most - v4.size()));
    v4.insert(v4.end(), v6.begin(), v6.end());
    return v4;
}

} // namespace pmixhost
