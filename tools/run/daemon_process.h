// Starts the pmixhostd of one virtual host, with its start document (contrib/doc/start-document.md), and those of the
// central roles.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/job/job_map.h"
#include "common/start/status_page.h"
#include "tools/run/run_options.h"

#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

// What all daemons of a run have in common.
struct RunIdentity {
    std::string nspace; // unique on this machine
    std::string secret; // 64 hex digits
    std::string cwd;
    std::string parent;    // "NSPACE RANK" of the process that spawned this run; may be empty
    std::string directory; // begin of the names of the daemons' private directories
    std::vector<std::string> task_env, pmixhost_env;
    std::string session_door;                // of the job that spawned this one; empty: this has its own session
    std::optional<std::uint64_t> open_files; // the soft limit of who has called this; nothing: none

    std::string directory_of(HostIndex host) const;
    // Removes what daemons that were killed have left there.
    void remove_directories(HostIndex hosts) const;
};
// Makes the names and the secret of a run. Fails (system) where the kernel gives no random numbers or working
// directory.
Result<RunIdentity> make_identity(const RunOptions &options, char *const *environment);

// Our ends of one task's streams.
struct TaskStreams {
    Rank rank = 0;
    UniqueFd in; // only the task that gets our standard input
    UniqueFd out, err;
};

struct DaemonProcess {
    pid_t pid = -1;
    UniqueFd control;
    std::vector<TaskStreams> streams;
    std::shared_ptr<StatusPage> page;
};

// Where pmixhostd is: PMIXHOST_PMIXHOSTD (this tool has no privilege to lend), else beside this program if that runs
// in the build tree, else where it was installed to.
std::string pmixhostd_path();

// A pmixhostd of a central role (server-glue/core/central_roles.h): ends when this is dropped.
class RoleProcess {
  public:
    static Result<RoleProcess> start(const std::string &role, const RunOptions &options, const RunIdentity &identity,
                                     const std::string &program);
    // The launcher: with our standard streams and in our process group, as the jobs that it starts are
    // to be.
    static Result<RoleProcess> start_launcher(const RunOptions &options, const RunIdentity &identity,
                                              const std::string &program);
    // False when it has gone.
    bool invite(const std::string &invitation);
    // Tells the launcher to end its jobs; or that no requests come any more, so that it ends with its last job. The
    // first may come after the second. The caller has not waited for the process.
    void end_jobs();
    void no_more();
    pid_t pid() const { return pid_; }

  private:
    pid_t pid_ = -1;
    UniqueFd invitations_;
};

// Starts the daemon of a host. The caller waits for the child. Returns when it has been executed; fails as
// system_error() says when it could not be.
Result<DaemonProcess> start_daemon(const RunOptions &options, const RunIdentity &identity, HostIndex host,
                                   const std::string &program);

} // namespace pmixhost
