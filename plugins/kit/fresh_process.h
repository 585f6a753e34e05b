// What is called between fork and exec. Safe where a signal handler is.
#pragma once

#include <sys/types.h>

namespace pmixhost::kit {

// fork() without the handlers of pthread_atfork, which may wait for what a thread of the RM holds. The caller has
// blocked all signals, so that none of the RM's handlers runs in the child.
pid_t bare_fork();

// Gives each signal its default action, and blocks none.
void reset_signals();

} // namespace pmixhost::kit
