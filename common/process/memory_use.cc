// See memory_use.h.
#include "common/process/memory_use.h"

#include "common/base/small_file.h"

#include <cstdio>
#include <fmt/format.h>
#include <unistd.h>

namespace pmixhost {

std::uint64_t resident_kib(pid_t pid) {
    auto text = read_small_file(pid == 0 ? std::string("/proc/self/statm") : fmt::format("/proc/{}/statm", pid));
    unsigned long long all = 0, resident = 0;
    if (!text || std::sscanf(text->c_str(), "%llu %llu", &all, &resident) != 2)
        return 0;
    return resident * static_cast<unsigned long long>(::sysconf(_SC_PAGESIZE)) / 1024;
}

} // namespace pmixhost
