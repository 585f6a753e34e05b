// See closed_connections.h.
#include "server-glue/guard/closed_connections.h"

#include <atomic>
#include <climits>
#include <dlfcn.h>
#include <fcntl.h>

namespace pmixhost {

namespace {

// close() has no argument that could lead to an object of ours.
std::atomic<int> counted_from{INT_MAX};
std::atomic<std::uint64_t> closed{0};
std::atomic<bool> in_force{false};

// Closes a number that counts as a library would.
bool libraries_come_here(int first) {
    auto librarys_close = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "close"));
    int fd = librarys_close ? ::open("/", O_PATH | O_CLOEXEC) : -1;
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, first);
    if (fd >= 0)
        librarys_close(fd);
    if (high < 0)
        return false;
    auto before = closed.load();
    librarys_close(high);
    return closed.load() != before;
}

} // namespace

void ClosedConnections::begin(int first) {
    counted_from.store(first);
    in_force.store(libraries_come_here(first));
}

std::optional<std::uint64_t> ClosedConnections::count() {
    if (!in_force.load(std::memory_order_relaxed))
        return std::nullopt;
    return closed.load(std::memory_order_acquire);
}

void ClosedConnections::note(int fd) noexcept {
    if (fd >= counted_from.load(std::memory_order_relaxed))
        closed.fetch_add(1, std::memory_order_release);
}

} // namespace pmixhost
