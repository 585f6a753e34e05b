// On which connection of libpmix somebody asks, where that is known (library/pull_asker.h), to be told later whether it
// is still there: the number that the library has it by, which another one may have later, and the socket's own, which
// none has.
#pragma once

#include <compare>
#include <cstdint>
#include <sys/stat.h>

namespace pmixhost {

struct AskingConnection {
    int number = -1; // below 0: it has been closed
    std::uint64_t socket = 0;
    auto operator<=>(const AskingConnection &) const = default;

    // Of what is open under that number now. Any thread.
    static AskingConnection of(int number) {
        struct stat now {};
        if (number < 0 || fstat(number, &now) != 0)
            return {};
        return {number, now.st_ino};
    }
    // Has the library not closed it yet? Any thread.
    bool is_here() const { return number >= 0 && of(number) == *this; }
};

} // namespace pmixhost
