// How many connections libpmix has closed so far: a number that says whether anything can have happened to a client of
// this host that only its connection tells of.
//
// libpmix closes the connection of a process that ends before it leaves that process out of a fence (lost_connection()
// in ptl_base_sendrecv.c, 4.2.2 to 6.1), and hands that fence to the host afterwards, in the same thread. So where the
// number is what it was when a process was last seen alive, that process has not been left out because of its end, and
// there is nothing to look at. Who looks at each process at each fence reads a file of /proc each time.
//
// libpmix tells nobody, so pmixhostd has a close() of its own (closing_interposition.cc), and knows libpmix'
// connections by their numbers (descriptor_range.h). Ours among them count as well, which does no harm.
#pragma once

#include <cstdint>
#include <optional>

namespace pmixhost {

class ClosedConnections {
  public:
    // From now on a descriptor that is closed and is `first` or higher counts. Finds out whether libraries of this
    // process come to our close() at all; a program without it is told no number. One thread at a time.
    static void begin(int first);
    // Any thread, without waiting. Nothing: they are not counted here, so anybody may have gone at any time. What a
    // thread of libpmix posts to another one after it has closed a connection has been counted there.
    static std::optional<std::uint64_t> count();

    // For closing_interposition.cc alone: in any thread, also between fork() and exec(). Leaves errno alone.
    static void note(int fd) noexcept;
};

} // namespace pmixhost
