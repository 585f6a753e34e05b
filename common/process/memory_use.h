// How much memory a process has: its resident set. Not its proportional share of what it has in common with others
// (smaps_rollup): for that the kernel walks all of the process' pages, and locks its address space meanwhile, which
// takes seconds and stops an application of many gigabytes.
#pragma once

#include <cstdint>
#include <sys/types.h>

namespace pmixhost {

// In KiB; 0: there is no such process, or it has ended. `pid` 0 is this process. Any thread; does not wait.
std::uint64_t resident_kib(pid_t pid);

} // namespace pmixhost
