// A fork for a child that does nothing but become another program, in a process with threads and libraries of others.
#pragma once

#include "config.h"

#include <csignal>

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace pmixhost {

// fork() without the handlers of pthread_atfork, which may wait for what another thread holds. Safe where a signal
// handler is, and so must be all that the child does. Whose signal handlers must not run there blocks the signals
// before. As fork(), -1 with errno where there can be no process.
inline pid_t bare_fork() {
#ifdef HAVE__FORK
    return ::_Fork();
#elif defined(__s390__) // its call has the first two the other way round
    return static_cast<pid_t>(::syscall(SYS_clone, 0, SIGCHLD, 0, 0, 0));
#else
    return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
#endif
}

} // namespace pmixhost
