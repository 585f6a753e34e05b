// What a debugger does to the launcher that it has started (PMIx_Job_control): of that the launcher takes signals. Only
// the user's own debugger is obeyed. A launcher that is held hears of no signal (srun does not listen yet), so that by
// which it would end it is told in words. Pure: what this needs of its surroundings is the port.
#pragma once

#include "common/base/result.h"

#include <pmix_common.h>

#include <string>

namespace pmixhost::indirect {

class LauncherPort {
  public:
    virtual ~LauncherPort() = default;
    // Whose the debugger is, before anything is done that it asks for. Fails where it is another's, or cannot be told.
    virtual Result<void> may_be_obeyed() = 0;
    // False: it is not there any more.
    virtual bool signal_launcher(int signal) = 0;
    // Of a launcher that is held: it hears that there is to be no job, and why, and ends.
    virtual void refuse_job(const std::string &why) = 0;
    // Where it has not ended by then. May be called more than once.
    virtual void kill_launcher_later() = 0;
};

class LauncherControl {
  public:
    explicit LauncherControl(LauncherPort &port) : port_(port) {}

    // `held`: the launcher waits for the debugger's release. PMIX_SUCCESS, or PMIX_ERR_NO_PERMISSIONS,
    // PMIX_ERR_NOT_FOUND (it has ended). SIGKILL gives it a while to end its tasks, which would stay otherwise, or
    // stand until their job is out of time.
    pmix_status_t signal(int signal, bool held);

  private:
    LauncherPort &port_;
};

} // namespace pmixhost::indirect
