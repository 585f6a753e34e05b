// The secret of a step: what its daemons, their starter, the session and the spawned jobs of one family prove with to
// be of one user where there is no service for it (contrib/doc/decisions/step-secret.md). Written down it is 64 hex
// digits, and it is used as it is written. It is nowhere but in descriptors, and in environments on their way to a
// process that takes it out; in no argument, log or name of a file.
#pragma once

#include "common/base/random_bytes.h"
#include "common/base/result.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace pmixhost {

// On its way to where the daemons of a host are started, and to the session.
inline constexpr std::string_view step_secret_variable = "PMIXHOST_SECRET";

// 256 bits from the kernel; as random_bytes().
inline std::string new_step_secret() {
    std::string text;
    for (unsigned char byte : random_bytes(32))
        text += fmt::format("{:02x}", byte);
    return text;
}

inline bool is_step_secret(std::string_view text) {
    return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Overwrites what an entry of an environment (NAME=VALUE, may be null) says; the copies that were made of it remain.
inline void blank_value(char *entry) {
    if (char *value = entry ? std::strchr(entry, '=') : nullptr)
        std::memset(value + 1, '0', std::strlen(value + 1));
}

} // namespace pmixhost
