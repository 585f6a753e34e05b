// The words of a command, or an environment, as execve(2) and posix_spawn(3) take them: pointers with a null one behind
// them. Made before a fork, since it allocates. Any thread.
#pragma once

#include <string>
#include <vector>

namespace pmixhost {

// They point into `texts`, which stays as it is meanwhile; nobody writes through them.
inline std::vector<char *> pointers_to(const std::vector<std::string> &texts) {
    std::vector<char *> out;
    out.reserve(texts.size() + 1);
    for (const auto &text : texts)
        out.push_back(const_cast<char *>(text.c_str()));
    out.push_back(nullptr);
    return out;
}

} // namespace pmixhost
