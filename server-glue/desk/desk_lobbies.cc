// See desk_lobbies.h.
#include "server-glue/desk/desk_lobbies.h"

#include "common/base/fd_pair.h"
#include "common/base/random_bytes.h"
#include "common/process/posix_spawn.h"
#include "common/text/printable.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr int channel_fd = 3; // in a lobby
constexpr std::size_t longest_line = 4096;

std::uint64_t random_number() {
    std::uint64_t number = 0;
    std::memcpy(&number, random_bytes(sizeof number).data(), sizeof number);
    return number;
}

// Whatever is noticed first when it ends.
std::string not_served(const std::string &why) {
    return fmt::format("the server for tools whose user has no job does not serve: {}; its log says more (log.file)",
                       why);
}

} // namespace

void DeskLobbies::take(DeskTool tool) {
    if (lobbies_.size() >= most)
        return start_.refused(
            fmt::format("the user has no job, and {} tools are here already that may start some", +most));
    if (processes_.size() >= most_processes)
        return start_.refused(
            fmt::format("the user has no job, and servers of tools that have gone have not ended "
                        "yet; what does not end within {} s is killed",
                        std::chrono::duration_cast<std::chrono::seconds>(start_.leave_patience).count()));
    Id id = next_++;
    auto channel = start_process(id);
    if (!channel)
        return start_.refused(channel.failure().text);
    Lobby &lobby = lobbies_[id];
    lobby.tool = std::move(tool);
    lobby.channel = std::make_shared<UniqueFd>(std::move(*channel));
    lobby.watch = start_.loop.watch(lobby.channel->get(), EventLoop::readable, [this, id](unsigned) { hear(id); });
    if (auto opened = open(id); !opened)
        drop(id, opened.failure().text);
}

Result<UniqueFd> DeskLobbies::start_process(Id id) {
    auto ends = make_socket_pair(SOCK_SEQPACKET);
    if (!ends)
        return ends.failure();
    UniqueFd high(::fcntl(ends->second.get(), F_DUPFD_CLOEXEC, channel_fd + 1));
    if (!high)
        return system_error("fcntl", errno);
    SpawnFiles files;
    posix_spawn_file_actions_adddup2(&files.actions, high.get(), channel_fd);
    posix_spawn_file_actions_addclosefrom_np(&files.actions, channel_fd + 1);
    SpawnAttributes how;
    std::string directory =
        fmt::format("{}/pmixhost-{}.{:016x}", start_.settings.directory_base, ::getuid(), random_number());
    std::array<std::string, 5> words{start_.program, "--lobby", std::to_string(channel_fd), start_.backend, directory};
    std::array<char *, 6> argv{words[0].data(), words[1].data(), words[2].data(),
                               words[3].data(), words[4].data(), nullptr};
    pid_t pid = 0;
    if (int code = posix_spawn(&pid, argv[0], &files.actions, &how.attributes, argv.data(), environ); code != 0)
        return system_error(start_.program + " cannot be started", code);
    UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!pidfd) {
        int code = errno;
        ::kill(pid, SIGKILL); // nobody would hear of its end
        ::waitpid(pid, nullptr, 0);
        return system_error("pidfd_open", code);
    }
    Process &process = processes_[id];
    process.pid = pid;
    process.directory = std::move(directory);
    process.pidfd = std::move(pidfd);
    process.watch = start_.loop.watch(process.pidfd.get(), EventLoop::readable, [this, id](unsigned) { on_ended(id); });
    return std::move(ends->first);
}

void DeskLobbies::on_ended(Id id) {
    auto ended = processes_.extract(id);
    ::waitpid(ended.mapped().pid, nullptr, WNOHANG);
    cleaners_.run(
        {}, TimePoint::max(),
        [directory = ended.mapped().directory]() -> Result<void> {
            std::error_code failed;
            std::filesystem::remove_all(directory, failed);
            return failed ? error(ErrorKind::system, "{}: {}", directory, failed.message()) : Result<void>();
        },
        [this](Result<void> removed) {
            if (!removed)
                start_.log.warning("{}", removed.failure().text);
        });
    drop(id, not_served("it has ended"));
}

Result<void> DeskLobbies::open(Id id) {
    Lobby &lobby = lobbies_.at(id);
    auto server = DeskServer::open(
        {start_.loop, start_.log, start_.settings,
         start_.authenticator ? start_.authenticator() : make_munge_authenticator(start_.loop, ::getuid()), nullptr,
         UniqueFd(),
         [channel = lobby.channel](const std::string &message) -> Result<void> {
             if (::send(channel->get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
                 return system_error("the server for tools whose user has no job", errno);
             return {};
         },
         [this, id](const std::string &) { serve(id); },
         [this, id](const Error &why) { drop(id, why.kind == ErrorKind::denied ? why.text : not_served(why.text)); }});
    if (!server)
        return server.failure();
    lobby.server = std::move(*server);
    return {};
}

void DeskLobbies::serve(Id id) {
    Lobby &lobby = lobbies_.at(id);
    DeskTool &tool = lobby.tool;
    lobby.taken = true;
    if (tool.address.empty())
        lobby.server->take_tool(std::move(tool.fd));
    else
        lobby.server->take_remote_tool(std::move(tool.fd), tool.address, std::move(tool.first));
}

// Lines for the user, who has no terminal here.
void DeskLobbies::hear(Id id) {
    char line[longest_line];
    ssize_t n = ::recv(lobbies_.at(id).channel->get(), line, sizeof line, MSG_DONTWAIT);
    if (n > 0)
        start_.tells(printable(std::string(line, static_cast<std::size_t>(n)), longest_line));
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        lobbies_.at(id).watch.reset();
}

void DeskLobbies::drop(Id id, const std::string &why) {
    auto gone = lobbies_.extract(id);
    await_end(id);
    if (gone && !gone.mapped().taken)
        start_.refused(why);
}

// It is stopped, perhaps, or waits for something that does not come.
void DeskLobbies::await_end(Id id) {
    auto process = processes_.find(id);
    if (process == processes_.end() || process->second.patience)
        return;
    process->second.patience = start_.loop.after(start_.leave_patience, [this, id] {
        start_.log.warning("the server of a tool that has gone does not end, and is killed");
        ::kill(processes_.at(id).pid, SIGKILL); // it has not been waited for
    });
}

void DeskLobbies::tidy() {
    std::erase_if(lobbies_, [this](const auto &entry) {
        bool has_gone = entry.second.taken && entry.second.server->tools() == 0;
        if (has_gone)
            await_end(entry.first);
        return has_gone;
    });
}

} // namespace pmixhost
