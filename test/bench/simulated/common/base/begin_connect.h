// Stands in for connect(2) (bench_launch): the port says which host is meant, and who dials says so when it waits for
// the connection (EventLoop::watch()).
#pragma once

#include "common/base/unique_fd.h"

#include <cstdint>
#include <string>

namespace pmixhost {

// No descriptor of this process is as high: closing one does nothing.
inline constexpr int first_simulated_fd = 1 << 30;

inline UniqueFd begin_connect(const std::string &, std::uint16_t port) {
    return UniqueFd(first_simulated_fd + port);
}

} // namespace pmixhost
