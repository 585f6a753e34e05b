// See launcher_control.h.
#include "server-glue/indirect/launcher_control.h"

#include <csignal>

namespace pmixhost::indirect {

// On these srun ends its job.
static bool ends_launcher(int signal) {
    return signal == SIGKILL || signal == SIGTERM || signal == SIGINT || signal == SIGQUIT || signal == SIGHUP;
}

pmix_status_t LauncherControl::signal(int signal, bool held) {
    if (auto ours = port_.may_be_obeyed(); !ours)
        return PMIX_ERR_NO_PERMISSIONS;
    if (!port_.signal_launcher(signal == SIGKILL ? SIGTERM : signal))
        return PMIX_ERR_NOT_FOUND;
    if (held && ends_launcher(signal))
        port_.refuse_job("the debugger that has started this job has ended it");
    if (signal == SIGKILL)
        port_.kill_launcher_later();
    return PMIX_SUCCESS;
}

} // namespace pmixhost::indirect
