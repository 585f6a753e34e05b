// What /proc/PID/status says of a process: whatever has a name there, who traces it, and whether a stop is on its way.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace pmixhost {

// Empty: there is no such value, or no such process.
std::string status_value(pid_t pid, std::string_view name);
// Who traces it now; 0: nobody, or it cannot be told.
pid_t tracer_of(pid_t pid);
// Has it, or one of its threads, a SIGSTOP that has not come to it yet?
bool is_to_stop(pid_t pid);
// Looks at so many of its threads at most, the oldest first, and takes from `threads` those that it has looked at.
bool is_to_stop(pid_t pid, std::size_t &threads);

} // namespace pmixhost
