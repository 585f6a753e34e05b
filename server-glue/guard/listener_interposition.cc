// The functions by which pmixhostd stands before libpmix' listening socket: bind(), listen() and
// accept() in libc's name, for whoever in this process calls them. What they do for the library's socket is in
// listener_takeover.h; everything else goes to libc unchanged.
//
// Linked into pmixhostd itself: the dynamic linker prefers a program's functions to a library's.
#include "server-glue/guard/listener_takeover.h"

#include <cerrno>
#include <dlfcn.h>
#include <sys/socket.h>

using pmixhost::ListenerTakeover;

namespace {

template <typename Function> Function libc(const char *name) {
    return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

} // namespace

extern "C" {

__attribute__((visibility("default"))) int bind(int fd, const sockaddr *address, socklen_t size) noexcept {
    static const auto next = libc<int (*)(int, const sockaddr *, socklen_t)>("bind");
    return ListenerTakeover::wants_bind(fd) ? ListenerTakeover::take_bind(fd) : next(fd, address, size);
}

__attribute__((visibility("default"))) int listen(int fd, int backlog) noexcept {
    static const auto next = libc<int (*)(int, int)>("listen");
    return ListenerTakeover::wants(fd) ? ListenerTakeover::take(fd) : next(fd, backlog);
}

// libc's comes first: the stand-in is no listening socket, and so refused by it.
__attribute__((visibility("default"))) int accept4(int fd, sockaddr *address, socklen_t *size, int flags) {
    static const auto next = libc<int (*)(int, sockaddr *, socklen_t *, int)>("accept4");
    int accepted = next(fd, address, size, flags);
    return accepted < 0 && errno == EINVAL ? ListenerTakeover::accept(fd) : accepted;
}

__attribute__((visibility("default"))) int accept(int fd, sockaddr *address, socklen_t *size) {
    static const auto next = libc<int (*)(int, sockaddr *, socklen_t *)>("accept");
    int accepted = next(fd, address, size);
    return accepted < 0 && errno == EINVAL ? ListenerTakeover::accept(fd) : accepted;
}

} // extern "C"
