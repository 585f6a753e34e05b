// What libpmix' server answers to a hello never fails: send() in libc's name, for whoever in this process
// calls it. A process that went between its hello and the answer would otherwise take the record of its
// rank with it: the library (2.1 to 5.0) releases that once too often where it cannot answer, and the
// next connection of the rank finds freed memory - it hangs in the thread that serves everybody, or
// crashes (contrib/doc/decisions/libpmix.md, "Connections"). So it is told that the answer was sent; what it
// reads next is the end of the connection, and that it handles well.
//
// Its handshake is all that the library sends with send(); messages go by writev(). Its connections have
// numbers of their own (descriptor_range.h), so nobody else's sending is meant.
//
// Linked into pmixhostd itself: the dynamic linker prefers a program's functions to a library's.
#include "server-glue/guard/descriptor_range.h"

#include <cerrno>
#include <dlfcn.h>
#include <sys/socket.h>

extern "C" __attribute__((visibility("default"))) ssize_t send(int fd, const void *bytes, std::size_t size, int flags) {
    static const auto next =
        reinterpret_cast<ssize_t (*)(int, const void *, std::size_t, int)>(dlsym(RTLD_NEXT, "send"));
    ssize_t sent = next(fd, bytes, size, flags);
    if (sent < 0 && (errno == EPIPE || errno == ECONNRESET) && fd >= pmixhost::DescriptorRange::of_process().first())
        return static_cast<ssize_t>(size);
    return sent;
}
