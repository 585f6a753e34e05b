// See captured_command.h.
#include "common/process/captured_command.h"

#include "common/base/unique_fd.h"
#include "common/process/exit_code.h"
#include "common/process/pointers.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using CaptureClock = std::chrono::steady_clock;

struct Stream {
    UniqueFd fd;
    std::string *text;
};

bool is_asked_to_stop(const CaptureBounds &bounds) {
    return bounds.stop && bounds.stop();
}

// Until both are closed. `ending`: it has been told to end, and what it says beyond the bound is read and dropped.
Result<void> read_streams(Stream (&streams)[2], CaptureClock::time_point deadline, const CaptureBounds &bounds,
                          bool ending) {
    while (streams[0].fd || streams[1].fd) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - CaptureClock::now()).count();
        if (left <= 0)
            return error(ErrorKind::timeout, "its time is up");
        if (!ending && is_asked_to_stop(bounds))
            return error(ErrorKind::timeout, "somebody wanted it");
        pollfd polls[2] = {{streams[0].fd.get(), POLLIN, 0}, {streams[1].fd.get(), POLLIN, 0}};
        if (::poll(polls, 2, static_cast<int>(std::min<long long>(left, bounds.stop ? 100 : 60'000))) <= 0)
            continue;
        for (int i = 0; i < 2; ++i) {
            if (polls[i].revents == 0)
                continue;
            char bytes[16384];
            ssize_t got = ::read(polls[i].fd, bytes, sizeof bytes);
            auto &text = *streams[i].text;
            if (got > 0)
                text.append(bytes, std::min(static_cast<std::size_t>(got), bounds.most - text.size()));
            else if (got == 0 || (errno != EINTR && errno != EAGAIN))
                streams[i].fd.reset();
            if (text.size() >= bounds.most && !ending)
                return error(ErrorKind::limit, "it says more than {} MiB", bounds.most >> 20);
        }
    }
    return {};
}

// False: it does not end by then.
bool wait_until(pid_t pid, CaptureClock::time_point deadline, int &status, const CaptureBounds &bounds = {}) {
    for (;;) {
        pid_t ended = ::waitpid(pid, &status, WNOHANG);
        if (ended == pid || (ended < 0 && errno != EINTR))
            return true;
        if (CaptureClock::now() >= deadline || is_asked_to_stop(bounds))
            return false;
        ::poll(nullptr, 0, 5); // it has closed its streams: it ends any moment
    }
}

// False: it still runs then.
bool ends_within(std::chrono::milliseconds patience, pid_t pid, Stream (&streams)[2], const CaptureBounds &bounds) {
    auto until = CaptureClock::now() + patience;
    auto runs = [pid] {
        siginfo_t info{};
        return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
    };
    if (!read_streams(streams, until, bounds, true))
        return false;
    while (runs() && CaptureClock::now() < until)
        ::poll(nullptr, 0, 5);
    return !runs();
}

// In order, if it has the time for that; by force else.
void end_group(pid_t pid, UniqueFd &input, Stream (&streams)[2], const CaptureBounds &bounds, int &status) {
    bool by_input = static_cast<bool>(input);
    input.reset();
    bool ended = by_input && ends_within(bounds.to_end_by_input, pid, streams, bounds);
    if (!ended && bounds.to_end.count() > 0) {
        ::kill(-pid, SIGTERM);
        (void)ends_within(bounds.to_end, pid, streams, bounds);
    }
    ::kill(-pid, SIGKILL); // not waited for yet, its number is still its own; what it started may live on
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
}

} // namespace

Result<Captured> run_captured(const std::vector<std::string> &words, std::chrono::milliseconds patience,
                              const std::optional<std::vector<std::string>> &environment) {
    CaptureBounds bounds;
    bounds.patience = patience;
    bounds.environment = environment;
    auto said = capture_what_comes(words, bounds);
    if (!said)
        return said.failure();
    if (said->cut)
        return *said->cut;
    return Captured(std::move(*said));
}

Result<CapturedPart> capture_what_comes(const std::vector<std::string> &words, const CaptureBounds &bounds) {
    int out[2], err[2];
    if (::pipe2(out, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd out_from(out[0]), out_to(out[1]);
    if (::pipe2(err, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd err_from(err[0]), err_to(err[1]);
    UniqueFd in_from, in_to;
    if (bounds.to_end_by_input.count() > 0) {
        int in[2];
        if (::pipe2(in, O_CLOEXEC) != 0)
            return system_error("cannot make a pipe", errno);
        in_from.reset(in[0]);
        in_to.reset(in[1]);
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (in_from)
        posix_spawn_file_actions_adddup2(&actions, in_from.get(), STDIN_FILENO);
    else
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out_to.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_to.get(), STDERR_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0); // a group of its own: killed with what it started
    sigset_t none;                             // threads of ours block all signals
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    auto own_words = words;
    auto own_environment = bounds.environment.value_or(std::vector<std::string>());
    auto argv = pointers_to(own_words), envp = pointers_to(own_environment);
    std::signal(SIGCHLD, SIG_DFL); // inherited otherwise, nobody could be waited for
    pid_t pid = -1;
    int failed =
        ::posix_spawnp(&pid, argv[0], &actions, &attributes, argv.data(), bounds.environment ? envp.data() : environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0)
        return system_error(fmt::format("cannot run {}", printable(words[0], 200)), failed);
    in_from.reset();
    out_to.reset();
    err_to.reset();
    CapturedPart captured;
    Stream streams[2] = {{std::move(out_from), &captured.out}, {std::move(err_from), &captured.err}};
    auto deadline = CaptureClock::now() + bounds.patience;
    auto read = read_streams(streams, deadline, bounds, false);
    int status = 0;
    if (read && !wait_until(pid, deadline, status, bounds))
        read = error(ErrorKind::timeout, "{}", is_asked_to_stop(bounds) ? "somebody wanted it" : "its time is up");
    if (!read) {
        end_group(pid, in_to, streams, bounds, status);
        bool late = read.failure().kind == ErrorKind::timeout && CaptureClock::now() >= deadline;
        captured.cut = error(read.failure().kind, "{} was ended: {}{}", printable(words[0], 200), read.failure().text,
                             late ? fmt::format(" ({} s)", bounds.patience.count() / 1000) : "");
    }
    captured.code = exit_code_of(status);
    return captured;
}

std::string path_of_program(const std::string &name) {
    const char *path = std::getenv("PATH");
    for (std::string_view rest = path ? path : "/usr/bin:/bin"; !rest.empty();) {
        std::string file = std::string(take_until(rest, ':')) + "/" + name;
        std::error_code failed;
        if (file[0] == '/' && ::access(file.c_str(), X_OK) == 0 && std::filesystem::is_regular_file(file, failed))
            return file;
    }
    return {};
}

} // namespace pmixhost
