// See launcher_start.h.
#include "plugins/kit/launcher_start.h"

#include "common/base/fd_pair.h"
#include "common/start/start_fd.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

namespace pmixhost::kit {

namespace {

constexpr int document_fd = 3, channel_fd = 4, listener_fd = 5;

// Moves a descriptor above the numbers that the launcher gets, so that none is in another's way.
Result<UniqueFd> moved_up(UniqueFd fd) {
    UniqueFd high(fcntl(fd.get(), F_DUPFD_CLOEXEC, 10));
    if (!high)
        return system_error("fcntl", errno);
    return {std::move(high)};
}

Result<UniqueFd> make_document(StartDocument document, const LauncherStart &start) {
    bool listens = start.listener >= 0;
    auto role = document.add("role", start.role);
    auto channel = document.add(listens ? "desk.fd" : "invitations_fd", std::to_string(channel_fd));
    auto listener = listens ? document.add("desk.listener_fd", std::to_string(listener_fd)) : Result<void>();
    if (!role || !channel || !listener)
        return !role ? role.failure() : !channel ? channel.failure() : listener.failure();
    auto file = open_start_document(document);
    if (!file)
        return file.failure();
    return moved_up(std::move(*file));
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

Result<LauncherProcess> start_launcher(LauncherStart start) {
    auto document = make_document(std::move(start.document), start);
    if (!document)
        return document.failure();
    auto channel = make_socket_pair();
    if (!channel)
        return channel.failure();
    UniqueFd own = std::move(channel->first);
    auto other = moved_up(std::move(channel->second));
    if (!other)
        return other.failure();

    UniqueFd listener(start.listener < 0 ? -1 : fcntl(start.listener, F_DUPFD_CLOEXEC, 10));
    if (start.listener >= 0 && !listener)
        return system_error("fcntl", errno);

    FileActions files;
    posix_spawn_file_actions_adddup2(&files.actions, document->get(), document_fd);
    posix_spawn_file_actions_adddup2(&files.actions, other->get(), channel_fd);
    if (listener)
        posix_spawn_file_actions_adddup2(&files.actions, listener.get(), listener_fd);
    posix_spawn_file_actions_addclosefrom_np(&files.actions, (listener ? listener_fd : channel_fd) + 1);
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
    int code = posix_spawn(&pid, start.daemon.c_str(), &files.actions, &how.attributes, argv.data(), environ);
    if (code != 0)
        return system_error("the " + start.role + " " + start.daemon + " cannot be started", code);
    return LauncherProcess{pid, std::move(own)};
}

} // namespace pmixhost::kit
