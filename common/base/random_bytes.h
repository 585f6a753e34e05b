// Secrets, cookies and nonces.
#pragma once

#include <cerrno>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <sys/random.h>

namespace pmixhost {

// `n` bytes from the kernel; waits until it has enough at boot. Throws where there is no getrandom. Any thread.
inline std::string random_bytes(std::size_t n) {
    std::string bytes(n, '\0');
    for (std::size_t have = 0; have < n;) {
        ssize_t got = getrandom(bytes.data() + have, n - have, 0);
        if (got > 0)
            have += static_cast<std::size_t>(got);
        else if (errno != EINTR)
            throw std::runtime_error("getrandom failed");
    }
    return bytes;
}

} // namespace pmixhost
