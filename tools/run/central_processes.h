// The pmixhostd of the central roles (server-glue/core/central_roles.h) that a run has beside those of its hosts: the
// session, once a daemon wants it, and the launcher of what the tasks spawn, once one does. Both end with this.
//
// Jobs that were spawned share the session of the one that began it all, whose door (session_door.h) their own runs are
// told of. All in the loop's thread.
#pragma once

#include "tools/run/daemon_process.h"
#include "tools/run/session_door.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace pmixhost {

class CentralProcesses {
  public:
    // `options` and `identity` outlive this. `on_failure`, from the loop: an invitation of a spawned job that did not
    // come to the session.
    CentralProcesses(EventLoop &loop, const RunOptions &options, const RunIdentity &identity,
                     std::function<void(const Error &why)> on_failure)
        : loop_(loop), options_(options), identity_(identity), on_failure_(std::move(on_failure)) {}
    CentralProcesses(const CentralProcesses &) = delete;

    // Brings a daemon's invitation (common/transport/invitation.h) to that role, which is started if it is not there.
    // Fails where it cannot be, and (not_found) where `role` is none; the text is the user's.
    Result<void> invite(HostIndex role, const std::string &invitation);

    // Does the launcher run? It does until the jobs that it has started have ended.
    bool jobs_run() const { return launcher_.has_value(); }
    void end_jobs(); // also after the following
    // No task is left that could spawn any.
    void no_more_jobs();
    // A child was waited for: it may have been the launcher.
    void child_ended(pid_t pid);
    void end_session() { session_.reset(); }

  private:
    Result<void> to_launcher(const std::string &invitation);
    Result<void> to_session(const std::string &invitation);

    EventLoop &loop_;
    const RunOptions &options_;
    const RunIdentity &identity_;
    std::function<void(const Error &why)> on_failure_;
    std::optional<RoleProcess> session_, launcher_;
    std::unique_ptr<SessionDoor> door_; // ours; empty: nobody has spawned, or the session is that of another run
};

} // namespace pmixhost
