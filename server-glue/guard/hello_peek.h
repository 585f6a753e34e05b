// Waits for the first message of a connection (hello.h) without taking it: whoever is handed the connection reads it
// as if nobody had looked. SO_RCVLOWAT keeps a peer that sends a byte a second from waking the event loop more than
// twice.
#pragma once

#include "common/base/result.h"

#include <cstddef>
#include <optional>
#include <string>

namespace pmixhost {

// From how many bytes on the kernel says that the connection is readable. Before the connection is handed on: 1.
void set_low_water(int fd, std::size_t bytes);
// Will nothing more come from the other end?
bool peer_is_through(int fd);

// Once when the connection comes: the kernel says "readable" when there is something to look at.
void await_hello(int fd);
// The message, when it is there as a whole. Nothing: it is not; the kernel then says "readable" when it should be, and
// may do so too early. Does not wait. Fails: unreachable (its peer has gone), and as hello_size() does.
Result<std::optional<std::string>> peek_hello(int fd);

} // namespace pmixhost
