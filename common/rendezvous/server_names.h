// How the namespaces of pmixhost's servers are named: the job's own, and this behind it. No name is the beginning of
// another one so (contrib/doc/decisions/tools.md).
#pragma once

#include <string>
#include <string_view>

namespace pmixhost {

constexpr std::string_view server_suffix = ".server";

inline std::string server_nspace_of(std::string_view job) {
    return std::string(job) + std::string(server_suffix);
}

} // namespace pmixhost
