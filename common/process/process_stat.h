// What /proc/PID/stat says of a process.
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <sys/types.h>

namespace pmixhost {

struct ProcessStat {
    char state = '?';
    pid_t parent = 0;
    std::uint64_t began = 0; // clock ticks since the machine was started
};
// Fails as reading the file does, and (invalid) when it is not understood.
Result<ProcessStat> read_process_stat(pid_t pid);

} // namespace pmixhost
