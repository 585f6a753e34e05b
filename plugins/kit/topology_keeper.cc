// See topology_keeper.h.
#include "plugins/kit/topology_keeper.h"

#include "common/process/topology_file.h"
#include "plugins/kit/daemon_launch.h"

#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost::kit {

static bool is_roots_alone(const std::string &path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && status.st_uid == 0 && !(status.st_mode & (S_IWGRP | S_IWOTH));
}

Result<void> keep_topology(const std::string &file, const std::string &program, std::function<bool(pid_t)> contain) {
    static constexpr unsigned looking_seconds = 60;
    if (::geteuid() != 0 || topology_file_is_current(file, machine_state()))
        return {};
    if (!is_roots_alone(program) || !is_roots_alone(program.substr(0, program.rfind('/') + 1)))
        return error(ErrorKind::denied, "{} is not root's alone", program);
    DaemonLaunch launch;
    launch.path = program;
    launch.arguments = {file};
    launch.environment = {"PATH=/usr/bin:/bin"};
    launch.contain = std::move(contain);
    launch.lifetime = looking_seconds;
    auto started = launch_daemon(launch);
    return started ? Result<void>() : Result<void>(started.failure());
}

} // namespace pmixhost::kit
