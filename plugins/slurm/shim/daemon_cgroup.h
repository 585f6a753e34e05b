// pmixhostd's own place in the job's cgroup, beside that of its step.
//
// Slurm kills all that is in the step's container (proctrack/cgroup) in the very moment in which it has waited for
// the last task. A daemon in it would never come to its orderly end: files that processes wanted to be removed with
// their job would stay, and Slurm would then sleep for a second, since what it has just killed is still there. In a
// directory of its own the daemon lives on until slurmstepd ends it (prefork.h, clean_up), is in the job all the
// same, and nothing that it starts gets away (contrib/doc/decisions/slurm-shim.md, "The daemon's place").
//
// Where the job's directory is follows from where slurmstepd itself stands, read in 20.11 to 26.05:
//   version 1, hierarchy "freezer"    .../job_J               (src/plugins/cgroup/v1, cgroup_p_step_addto)
//   version 2                         .../job_J/step_S/slurm  (src/plugins/cgroup/v2)
// These are root's directories; a user has no say in their paths.
//
// Runs as root in slurmstepd, in its main thread only.
#pragma once

#include "plugins/slurm/shim/identity.h"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::slurm {

// Finds the directory of the job in the texts of /proc/self/cgroup and /proc/self/mountinfo; empty where slurmstepd
// is not in one.
std::string job_cgroup(std::string_view cgroups, std::string_view mounts);
// The same of this process.
std::string own_job_cgroup();

class DaemonCgroup {
  public:
    // Makes the directory "pmixhost_S" in `job`, S being the step's number, with `pid` in it. None where the kernel
    // refuses either.
    static std::optional<DaemonCgroup> make(const std::string &job, const StepName &step, pid_t pid);

    bool add(pid_t pid) const;
    void kill_all() const;
    // Removes it; kills what is in it, and waits for that. False: something is left after `limit`.
    bool end(std::chrono::milliseconds limit) const;

  private:
    explicit DaemonCgroup(std::string path) : path_(std::move(path)) {}
    std::vector<pid_t> processes() const;
    std::string path_;
};

} // namespace pmixhost::slurm
