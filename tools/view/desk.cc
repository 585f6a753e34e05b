// See desk.h.
#include "tools/view/desk.h"

#include "common/rendezvous/desk_word.h"
#include "common/text/printable.h"
#include "tools/run/daemon_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t longest_word = 4096;

// What the desk says first; a failure says why nothing came.
Result<std::string> first_word(int fd, Clock::time_point deadline) {
    for (;;) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
        if (left <= 0)
            return error(ErrorKind::timeout, "it was not reached in time");
        pollfd poll{fd, POLLIN, 0};
        int ready = ::poll(&poll, 1, static_cast<int>(left));
        if (ready < 0 && errno != EINTR)
            return system_error("poll", errno);
        if (ready <= 0)
            continue;
        char bytes[longest_word];
        ssize_t there = ::recv(fd, bytes, sizeof bytes, 0);
        if (there > 0)
            return std::string(bytes, static_cast<std::size_t>(there));
        return error(ErrorKind::system, "the desk has ended without a word");
    }
}

} // namespace

Desk::Desk(Desk &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), life_(std::move(other.life_)), directory_(std::move(other.directory_)),
      server_(std::move(other.server_)) {
    other.directory_.clear();
}

Desk::~Desk() {
    life_.reset();
    if (pid_ > 0) {
        ::kill(pid_, SIGTERM);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR)
            ;
    }
    std::error_code ignored;
    if (!directory_.empty())
        std::filesystem::remove_all(directory_, ignored);
}

Result<Desk> Desk::open(const std::string &job, std::chrono::seconds patience) {
    Desk desk;
    auto directory = make_private_directory("pmixhost-desk");
    if (!directory)
        return directory.failure();
    desk.directory_ = std::move(*directory);
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return system_error("socketpair", errno);
    desk.life_.reset(ends[0]);
    UniqueFd theirs(ends[1]);

    constexpr int fd_there = 3;
    std::string program = pmixhostd_path(), number = std::to_string(fd_there), name = job;
    std::vector<char *> words{
        program.data(), const_cast<char *>("--desk"), name.data(), desk.directory_.data(), number.data(), nullptr};
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    // A number onto itself loses close-on-exec all the same.
    posix_spawn_file_actions_adddup2(&files, theirs.get(), fd_there);
    // The terminal's Ctrl-C is for the tool.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    int code = ::posix_spawn(&desk.pid_, program.c_str(), &files, &attributes, words.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (code != 0) {
        desk.pid_ = -1;
        return system_error(fmt::format("cannot run {}", program), code);
    }
    theirs.reset();
    auto word = first_word(desk.life_.get(), Clock::now() + patience);
    if (!word)
        return word.failure();
    if (auto serving = parse_desk_word(*word); !serving)
        return Error{serving.failure().kind, one_line(serving.failure().text)};
    auto server = server_of_file(desk.directory_ + "/" + desk_file);
    if (!server)
        return server.failure();
    desk.server_ = std::move(*server);
    return desk;
}

bool Desk::serves() const {
    pollfd poll{life_.get(), POLLIN, 0};
    return ::poll(&poll, 1, 0) == 0;
}

Result<FoundServer> find_server(const std::string &name, std::chrono::seconds patience) {
    auto all = servers_below(rendezvous_root());
    auto meant = name.empty() ? all : servers_of(all, name);
    auto other = std::find_if(meant.begin(), meant.end(), [&](const auto &one) { return one.job != meant[0].job; });
    if (other != meant.end()) {
        std::string choice = fmt::format("{}, {}, ...", printable(meant[0].job), printable(other->job));
        return name.empty() ? error(ErrorKind::limit, "there are several jobs here; next: name one of {}", choice)
                            : error(ErrorKind::limit, "job {} has several steps here; next: name one of {}",
                                    printable(name), choice);
    }
    if (!meant.empty())
        return FoundServer{meant[0], std::nullopt};
    if (name.empty())
        return error(ErrorKind::not_found, "no job of yours is on this host; next: name one");
    auto desk = Desk::open(name, patience);
    if (!desk)
        return error(desk.failure().kind,
                     "no PMIx server of job {} is on this host, and none was reached elsewhere: {}", printable(name),
                     desk.failure().text);
    ListedServer server = desk->server();
    return FoundServer{std::move(server), std::move(*desk)};
}

Result<FoundServer> await_server(const std::string &name, std::chrono::seconds patience, std::chrono::seconds wait,
                                 const std::function<bool()> &stop) {
    for (auto until = Clock::now() + wait;;) {
        auto found = find_server(name, patience);
        if (found || Clock::now() >= until || stop())
            return found;
        auto kind = found.failure().kind;
        if (kind != ErrorKind::not_found && kind != ErrorKind::unsupported && kind != ErrorKind::unreachable &&
            kind != ErrorKind::timeout)
            return found;
        ::poll(nullptr, 0, 2000);
    }
}

} // namespace pmixhost
