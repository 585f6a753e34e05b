// See clean_spawn.h.
#include "plugins/kit/clean_spawn.h"

#include "common/process/posix_spawn.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace pmixhost::kit {

namespace {

constexpr int first_free = 10;

} // namespace

Result<UniqueFd> moved_up(int fd) {
    UniqueFd high(fcntl(fd, F_DUPFD_CLOEXEC, first_free));
    if (!high)
        return system_error("fcntl", errno);
    return {std::move(high)};
}

Result<pid_t> spawn_clean(const CleanSpawn &spawn) {
    SpawnFiles files;
    int next = STDERR_FILENO + 1;
    for (int fd : spawn.descriptors)
        posix_spawn_file_actions_adddup2(&files.actions, fd, next++);
    posix_spawn_file_actions_addclosefrom_np(&files.actions, next);
    SpawnAttributes how;
    std::vector<char *> argv;
    for (const auto &word : spawn.words)
        argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    pid_t pid = -1;
    int code = posix_spawn(&pid, argv[0], &files.actions, &how.attributes, argv.data(), spawn.environment);
    if (code != 0)
        return system_error(fmt::format("{} {} cannot be started", spawn.what, spawn.words[0]), code);
    return pid;
}

} // namespace pmixhost::kit
