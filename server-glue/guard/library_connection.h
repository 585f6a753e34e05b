// A connection that libpmix has, to be told later whether it is still there: the number that the library has it by,
// which another one may have later, and the socket's own, which none has.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

namespace pmixhost {

struct LibraryConnection {
    int number = -1; // below 0: it has been closed
    std::uint64_t socket = 0;
    auto operator<=>(const LibraryConnection &) const = default;

    // Of what is open under that number now. Any thread.
    static LibraryConnection of(int number) {
        struct stat now {};
        if (number < 0 || fstat(number, &now) != 0)
            return {};
        return {number, now.st_ino};
    }
    // Has the library not closed it yet? Any thread.
    bool is_here() const { return number >= 0 && of(number) == *this; }

    // Bytes that the library has written and the other side has not got; SIZE_MAX: there is no room for more, and the
    // library may hold any amount that it could not write; 0: it is gone. Any thread; the number may be another
    // connection's behind is_here(): the worst is a pause too many.
    std::size_t unsent() const {
        if (!is_here())
            return 0;
        int bytes = 0;
        pollfd writable{number, POLLOUT, 0};
        if (::poll(&writable, 1, 0) == 0)
            return SIZE_MAX;
        return ::ioctl(number, SIOCOUTQ, &bytes) == 0 && bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
    }
};

} // namespace pmixhost
