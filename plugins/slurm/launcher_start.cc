// See launcher_start.h.
#include "plugins/slurm/launcher_start.h"

#include "common/start_document.h"
#include "plugins/slurm/hook_env.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

namespace pmixhost::slurm {

namespace {

constexpr int document_fd = 3, channel_fd = 4;

// Above the numbers that the launcher gets, so that none is in another's way.
Result<UniqueFd> moved_up(UniqueFd fd) {
    UniqueFd high(fcntl(fd.get(), F_DUPFD_CLOEXEC, 10));
    if (!high)
        return system_error("fcntl", errno);
    return {std::move(high)};
}

Result<UniqueFd> make_document(const LauncherStart &start) {
    StartDocument document;
    Result<void> added;
    auto add = [&](std::string_view key, std::string_view value) {
        if (added && !value.empty())
            added = document.add(key, value);
    };
    add("role", "launcher");
    add("backend", "slurm");
    add("host", start.host);
    add("invitations_fd", std::to_string(channel_fd));
    add("slurm.job_id", std::to_string(start.job_id));
    add("slurm.output", start.output);
    add("slurm.error", start.error);
    add("slurm.label", start.label);
    for (const auto &variable : user_variables(environ))
        add("env", variable);
    if (!added)
        return added.failure();
    UniqueFd fd(memfd_create("pmixhost-start", MFD_CLOEXEC));
    std::string text = document.encode();
    if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
        ::lseek(fd.get(), 0, SEEK_SET) != 0)
        return system_error("start document", errno);
    return moved_up(std::move(fd));
}

struct FileActions {
    posix_spawn_file_actions_t actions;
    FileActions() { posix_spawn_file_actions_init(&actions); }
    FileActions(const FileActions &) = delete;
    ~FileActions() { posix_spawn_file_actions_destroy(&actions); }
};
struct Attributes {
    posix_spawnattr_t attributes;
    Attributes() { posix_spawnattr_init(&attributes); }
    Attributes(const Attributes &) = delete;
    ~Attributes() { posix_spawnattr_destroy(&attributes); }
};

} // namespace

Result<LauncherProcess> start_launcher(const LauncherStart &start) {
    auto document = make_document(start);
    if (!document)
        return document.failure();
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return system_error("socketpair", errno);
    UniqueFd own(ends[0]);
    auto other = moved_up(UniqueFd(ends[1]));
    if (!other)
        return other.failure();

    FileActions files;
    posix_spawn_file_actions_adddup2(&files.actions, document->get(), document_fd);
    posix_spawn_file_actions_adddup2(&files.actions, other->get(), channel_fd);
    posix_spawn_file_actions_addclosefrom_np(&files.actions, channel_fd + 1);
    Attributes how;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&how.attributes, &none);
    posix_spawnattr_setsigdefault(&how.attributes, &all);
    posix_spawnattr_setflags(&how.attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::vector<std::string> words{start.daemon, "--start-fd", std::to_string(document_fd)};
    words.insert(words.end(), start.arguments.begin(), start.arguments.end());
    std::vector<char *> argv;
    for (auto &word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_t pid = -1;
    int code = posix_spawn(&pid, start.daemon.c_str(), &files.actions, &how.attributes, argv.data(),
                           environ);
    if (code != 0)
        return system_error("the launcher " + start.daemon + " cannot be started", code);
    return LauncherProcess{pid, std::move(own)};
}

} // namespace pmixhost::slurm
