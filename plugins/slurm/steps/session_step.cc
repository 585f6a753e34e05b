// See session_step.h.
#include "plugins/slurm/steps/session_step.h"

#include "common/process/posix_spawn.h"

#include "common/start/step_secret.h"
#include "plugins/slurm/steps/own_srun.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost::slurm {

// How long slurmctld may take to make the step; nobody waits for the session much longer.
static constexpr std::chrono::seconds start_patience{30};

Result<std::string> srun_path(const Settings &settings) {
    if (auto path = settings.of_plugin("slurm.srun"); !path.empty())
        return path;
    for (const char *path : {"/usr/local/bin/srun", "/usr/bin/srun", "/bin/srun"}) {
        if (::access(path, X_OK) == 0)
            return std::string(path);
    }
    return error(ErrorKind::not_found,
                 "there is no srun in /usr/local/bin, /usr/bin or /bin on this host; name it as slurm.srun "
                 "in pmixhost.conf");
}

std::vector<std::string> session_command(const SessionStep &step, const Settings &, const std::string &pmixhostd) {
    std::string job = std::to_string(step.job);
    // A step beside all others, without stdio, that takes nothing from them.
    return {"srun",
            "--jobid=" + job,
            "--overlap",
            "--overcommit",
            "--nodes=1",
            "--ntasks=1",
            "--nodelist=" + step.node,
            "--mpi=none",
            "--export=ALL", // the family's secret
            "--job-name=" + std::string(session_step_name),
            "--quiet",
            "--input=none",
            "--output=none",
            "--error=none",
            "--chdir=/",
            "--cpu-bind=none",
            "--gres=none", // else those of the whole job, which one host may not have
            "--kill-on-bad-exit=0",
            "--immediate=" + std::to_string(start_patience.count()),
            pmixhostd,
            "--session",
            "slurm",
            "job=" + job,
            "slurm.job_id=" + job,
            "slurm.contacts=" + step.contacts};
}

Result<UniqueFd> start_session(const SessionStep &step, const Settings &settings, const std::string &pmixhostd) {
    auto srun = srun_path(settings);
    if (!srun)
        return srun.failure();
    auto command = session_command(step, settings, pmixhostd);
    std::vector<char *> arguments;
    for (auto &word : command)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);

    SpawnFiles files;
    for (int fd = 0; fd <= 2; ++fd)
        posix_spawn_file_actions_addopen(&files.actions, fd, "/dev/null", O_RDWR, 0);
    SpawnAttributes how(POSIX_SPAWN_SETSID);
    std::string secret = fmt::format("{}={}", step_secret_variable, step.secret);
    std::vector<char *> environment;
    for (char **variable = environ; *variable; ++variable) {
        if (!changes_own_srun(*variable))
            environment.push_back(*variable);
    }
    if (!step.secret.empty())
        environment.push_back(secret.data());
    environment.push_back(nullptr);
    pid_t pid = 0;
    int code = posix_spawn(&pid, srun->c_str(), &files.actions, &how.attributes, arguments.data(), environment.data());
    if (code != 0)
        return system_error(fmt::format("cannot run {}", *srun), code);
    // It may have ended, and its number may be another's: at worst one more is started later.
    return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

} // namespace pmixhost::slurm
