// Counts the connections that libpmix closes: close() in libc's name, for whoever in this process calls it
// (closed_connections.h). The number counts before the descriptor is closed. Everything goes to libc unchanged.
//
// Linked into pmixhostd itself: the dynamic linker prefers a program's functions to a library's.
#include "server-glue/guard/closed_connections.h"

#include <dlfcn.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) int close(int fd) {
    static const auto next = reinterpret_cast<int (*)(int)>(dlsym(RTLD_NEXT, "close"));
    pmixhost::ClosedConnections::note(fd);
    return next(fd);
}
