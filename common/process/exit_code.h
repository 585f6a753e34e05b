// What waitpid(2) says of an end, as one number.
#pragma once

#include <sys/wait.h>

namespace pmixhost {

// The exit code, or 128 and the signal, as shells have it, and srun of its tasks.
inline int exit_code_of(int wait_status) {
    return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

} // namespace pmixhost
