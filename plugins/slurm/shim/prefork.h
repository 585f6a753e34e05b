// What happens in slurmstepd before the tasks are forked: starting pmixhostd as the job's user, with a door for the
// tasks. This runs as root, in a process that must not be harmed by anything a user says: the task map and the
// variables are passed on unread.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/start/status_page.h"
#include "plugins/slurm/shim/daemon_cgroup.h"
#include "plugins/slurm/shim/identity.h"
#include "plugins/slurm/shim/output_offer.h"

#include <functional>
#include <optional>
#include <string>

namespace pmixhost::slurm {

// What the tasks, which are forks of this process, find.
struct Prepared {
    bool wanted = false; // false: this step has no business with us
    std::string failure; // why there is no daemon; one line
    StepName step;
    uid_t uid = 0;
    std::string host;
    std::string secret; // the step's; empty: its hosts prove with munge
    std::string door;   // abstract name with its leading NUL
    std::optional<kit::User> user;
    StatusPage *page = nullptr;          // mapped for as long as the process lives
    UniqueFd lifeline;                   // the daemon hears it close when slurmstepd ends
    UniqueFd daemon;                     // its pidfd
    UniqueFd mount_namespace;            // the job's, in which the daemon is; none: slurmstepd's own
    std::optional<DaemonCgroup> cgroup;  // the daemon's own; none: it is in the step's container
    std::unique_ptr<OutputOffer> output; // of this process alone, not of the tasks; null: the daemon gets none
};

// What prefork asks its surroundings; a test gives other answers.
struct Surroundings {
    std::string host; // Slurm's name of this node, from slurmstepd's own environment
    std::function<Result<std::optional<StepName>>()> step_name;
    std::function<Result<OwnStep>(const StepName &, const std::string &host)> own_step;
    std::function<Result<kit::User>(uid_t)> user;
    std::string daemon;                   // path of pmixhostd
    std::vector<std::string> daemon_args; // after --start-fd N
    std::string slurm_conf_file;          // may be empty
    // Of this host (common/process/topology_file.h); may be empty. The function makes it if need be; may be empty.
    std::string topology_file;
    std::function<Result<void>(const std::string &file, std::function<bool(pid_t)> contain)> keep_topology;
    std::string job_cgroup;             // may be empty: there is none
    std::function<bool(pid_t)> contain; // puts it into the step's container; may be empty
    // The mount namespace of a job that has one of its own (job_container/tmpfs); may be empty.
    std::function<UniqueFd(const StepName &)> mount_namespace;
    // See attach_output.h; may be empty, or give null: the daemon gets no copy of the output.
    std::function<std::unique_ptr<OutputSource>(const OwnStep &)> output_source;
    std::string contacts; // where all see the contact sockets; empty: directory.base
};

// The surroundings in slurmstepd. `step` is the opaque record that the hook got.
Surroundings slurmstepd_surroundings(void *step);

// `environment` is the job's; the step's secret is taken out of it. Never fails: see Prepared::failure.
Prepared prepare_step(const Surroundings &surroundings, char **environment);

// At the step's end, when all of its tasks are gone. A daemon in a cgroup of its own is told, has `daemon_patience`
// for its orderly end, and is then killed with all that it has left there. slurmstepd stays for as long; slurmd does
// not wait for it.
// One without a cgroup has five seconds at most to remove its private directory.
// Removes that directory if the daemon was killed before it could. A process of its own does that as
// the user, because the user chose where the directory is: root does not touch the path, not even to look whether
// there is something (a dead file server would keep slurmstepd). That process has half a minute, or five seconds
// where it is waited for (with a cgroup).
// False: something of the daemon's could not be killed.
bool clean_up(Prepared &prepared, std::chrono::milliseconds daemon_patience = std::chrono::seconds(30));

} // namespace pmixhost::slurm
