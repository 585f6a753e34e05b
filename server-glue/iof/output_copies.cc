// See output_copies.h.
#include "server-glue/iof/output_copies.h"

#include "common/process/posix_spawn.h"
#include "common/start/task_spec.h"

#include <cerrno>
#include <filesystem>
#include <sys/syscall.h>
#include <unistd.h>

namespace pmixhost {

namespace {

// Its descriptors are above those that the program gets, since the daemon has opened its own 0 to 2.
Result<UniqueFd> start_program(const OutputCopy &copy) {
    std::error_code failed;
    auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
    if (failed)
        return system_error("/proc/self/exe", failed.value());
    std::string program = self.parent_path() / "pmixhost-task", option = copy_argument;
    char *arguments[] = {program.data(), option.data(), nullptr};
    char *environment[] = {nullptr};
    SpawnFiles files;
    posix_spawn_file_actions_adddup2(&files.actions, copy.writers.get(), copy_writers);
    posix_spawn_file_actions_adddup2(&files.actions, copy.old_destination.get(), copy_old_destination);
    posix_spawn_file_actions_adddup2(&files.actions, copy.file.get(), copy_file);
    posix_spawn_file_actions_addclosefrom_np(&files.actions, copy_file + 1);
    SpawnAttributes how;
    pid_t pid = 0;
    int code = posix_spawn(&pid, program.c_str(), &files.actions, &how.attributes, arguments, environment);
    if (code != 0)
        return system_error(program, code);
    UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process && errno != ESRCH) // it may have ended already
        return system_error("pidfd_open", errno);
    return process;
}

} // namespace

Result<void> OutputCopies::start(Rank rank, OutputCopy copy) {
    auto process = start_program(copy);
    if (!process)
        return error(process.failure().kind, "nobody can copy what rank {} writes to its file: {}", rank,
                     process.failure().text);
    if (!*process)
        return {};
    Running &running = running_[next_];
    running.process = std::move(*process);
    running.watch = context_.loop.watch(running.process.get(), EventLoop::readable,
                                        [this, id = next_](unsigned) { running_.erase(id); });
    ++next_;
    return {};
}

} // namespace pmixhost
