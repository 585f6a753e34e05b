/* Preloaded into pmixhostd: one epoll_wait() of a main thread fails when there is a file of the name that
 * BREAK_LOOP says, which is then removed; as if somebody had closed the descriptor under it. */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

int epoll_wait(int fd, struct epoll_event *events, int count, int timeout) {
    const char *file = getenv("BREAK_LOOP");
    if (file && syscall(SYS_gettid) == getpid() && unlink(file) == 0) {
        errno = EBADF;
        return -1;
    }
    return (int)syscall(SYS_epoll_pwait, fd, events, count, timeout, NULL, 8);
}
