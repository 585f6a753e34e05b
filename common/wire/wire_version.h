// Whether two daemons speak the same: a number made of everything that the messages between daemons are (their types,
// names and fields). It changes with any of them and needs nobody who remembers to raise it, so that hosts which have
// different pmixhosts, as in the middle of an upgrade, are told apart before one misreads the other.
#pragma once

#include <cstdint>

namespace pmixhost::wire {

// The same in every build of the same messages.
std::uint64_t wire_version();

} // namespace pmixhost::wire
