// See fresh_process.h.
#include "plugins/kit/fresh_process.h"

#include <csignal>
#include <cstdint>

#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost::kit {

void reset_signals() {
    // The kernel's own call, for libc keeps two signals to itself that may have come ignored. Its
    // structure is all zero for the default action on every machine; 64 bytes hold it.
    alignas(16) char action[64] = {};
    for (int signal = 1; signal < NSIG; ++signal)
        ::syscall(SYS_rt_sigaction, signal, action, nullptr, sizeof(std::uint64_t));
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

} // namespace pmixhost::kit
