// See pager.h.
#include "tools/terminal/pager.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

// A file and no pipe: nobody needs to write on while it is read.
static Result<UniqueFd> file_of(std::string_view text) {
    UniqueFd file(::memfd_create("shown", MFD_CLOEXEC));
    if (!file)
        return system_error("memfd_create", errno);
    while (!text.empty()) {
        ssize_t written = ::write(file.get(), text.data(), text.size());
        if (written < 0 && errno != EINTR)
            return system_error("a copy of what was shown", errno);
        text.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    ::lseek(file.get(), 0, SEEK_SET);
    return file;
}

Result<Pager> Pager::start(std::string_view text) {
    auto file = file_of(text);
    if (!file)
        return file.failure();
    const char *wanted = std::getenv("PAGER");
    std::string command = wanted && *wanted ? wanted : "less", shell = "sh", option = "-c";
    char *words[] = {shell.data(), option.data(), command.data(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, file->get(), STDIN_FILENO);
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    sigset_t defaults;
    sigemptyset(&defaults);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
        sigaddset(&defaults, signal);
    posix_spawnattr_setsigdefault(&how, &defaults);
    posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGDEF);
    pid_t pid = 0;
    int code = ::posix_spawn(&pid, "/bin/sh", &files, &how, words, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    if (code != 0)
        return system_error("/bin/sh", code);
    UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!process) {
        int reason = errno;
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
        return system_error("pidfd_open", reason);
    }
    return Pager(pid, std::move(process));
}

Pager::~Pager() {
    if (!process_)
        return;
    ::kill(pid_, SIGTERM);
    pollfd ended{process_.get(), POLLIN, 0};
    if (::poll(&ended, 1, 1000) != 1)
        ::kill(pid_, SIGKILL);
    end();
}

void Pager::end() {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
        ;
    process_.reset();
}

} // namespace pmixhost
