// See child_job.h.
#include "server-glue/spawn/child_job.h"

#include "common/base/fd_pair.h"
#include "common/process/pointers.h"
#include "common/process/posix_spawn.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr int spawn_fd = 3, stderr_fd = 4;
constexpr std::size_t max_said = 64u << 10;

Result<UniqueFd> moved_up(int fd) {
    UniqueFd high(fcntl(fd, F_DUPFD_CLOEXEC, 10));
    if (!high)
        return system_error("fcntl", errno);
    return {std::move(high)};
}

// A program of util-linux sets the soft limit of open files and becomes the command: of this process it is that of all
// its threads, and a shell would drop variables whose names are none of its own.
void start_with_limit(std::vector<std::string> &argv, std::uint64_t open_files) {
    constexpr const char *program = "/usr/bin/prlimit";
    rlimit own{};
    if (::getrlimit(RLIMIT_NOFILE, &own) != 0 || own.rlim_cur == std::min<rlim_t>(open_files, own.rlim_max) ||
        ::access(program, X_OK) != 0)
        return;
    argv.insert(argv.begin(), {program, fmt::format("--nofile={}:", std::min<rlim_t>(open_files, own.rlim_max))});
}

// The kernel has two limits, and does not say which it was (execve(2)).
Error too_long(const std::vector<std::string> &argv, const std::vector<std::string> &environment) {
    const std::size_t one = 32 * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    std::size_t all = 0, longest = 0;
    for (const auto *texts : {&argv, &environment}) {
        for (const auto &text : *texts) {
            all += text.size() + 1 + sizeof(char *);
            longest = std::max(longest, text.size() + 1);
        }
    }
    if (longest > one)
        return error(
            ErrorKind::limit,
            "an argument or variable of {} has {} KiB, and the system takes {} KiB (MAX_ARG_STRLEN); next: fewer "
            "processes or less text in one PMIx_Spawn",
            argv.front(), longest >> 10, one >> 10);
    return error(ErrorKind::limit,
                 "the arguments and variables of {} have {} KiB, and the system takes {} KiB (ARG_MAX, a quarter of "
                 "ulimit -s); next: less text in one PMIx_Spawn, or a higher ulimit -s",
                 argv.front(), all >> 10, ::sysconf(_SC_ARG_MAX) >> 10);
}

} // namespace

Result<std::unique_ptr<ChildJob>> ChildJob::start(EventLoop &loop, const JobCommand &command, Input input,
                                                  Callbacks callbacks) {
    std::unique_ptr<ChildJob> job(new ChildJob(std::move(callbacks)));
    int channel[2], words[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0)
        return system_error("socketpair", errno);
    job->channel_.reset(channel[0]);
    UniqueFd channel_end(channel[1]);
    if (!command.secret.empty() && !give_spawn_secret(channel[0], command.secret))
        return error(ErrorKind::system, "the spawned job cannot be given its secret");
    if (::pipe2(words, O_CLOEXEC) != 0)
        return system_error("pipe", errno);
    job->words_.reset(words[0]);
    UniqueFd words_end(words[1]);
    auto silence = make_pipe();
    if (!silence)
        return silence.failure();
    job->silence_ = std::move(silence->second);
    auto high_channel = moved_up(channel_end.get()), high_words = moved_up(words_end.get()),
         high_stderr = moved_up(STDERR_FILENO), high_silence = moved_up(silence->first.get());
    for (auto *high : {&high_channel, &high_words, &high_stderr, &high_silence}) {
        if (!*high)
            return high->failure();
    }

    SpawnFiles files;
    if (input == Input::ended)
        posix_spawn_file_actions_addopen(&files.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    else if (input == Input::silent)
        posix_spawn_file_actions_adddup2(&files.actions, (*high_silence).get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files.actions, (*high_words).get(), STDERR_FILENO);
    posix_spawn_file_actions_adddup2(&files.actions, (*high_channel).get(), spawn_fd);
    posix_spawn_file_actions_adddup2(&files.actions, (*high_stderr).get(), stderr_fd);
    posix_spawn_file_actions_addclosefrom_np(&files.actions, stderr_fd + 1);
    SpawnAttributes how;

    std::vector<std::string> argv = command.argv, environment = command.environment;
    environment.push_back(fmt::format("{}={}", spawn_fd_variable, spawn_fd));
    environment.push_back(fmt::format("{}={}", spawn_stderr_variable, stderr_fd));
    if (command.open_files)
        start_with_limit(argv, *command.open_files);
    int code = posix_spawn(&job->pid_, argv.front().c_str(), &files.actions, &how.attributes, pointers_to(argv).data(),
                           pointers_to(environment).data());
    if (code == E2BIG)
        return too_long(command.argv, environment);
    if (code != 0)
        return system_error(argv.front() + " cannot be started", code);
    job->pidfd_.reset(static_cast<int>(syscall(SYS_pidfd_open, job->pid_, 0)));
    if (!job->pidfd_) {
        Error failure = system_error("pidfd_open", errno);
        ::kill(job->pid_, SIGKILL);
        ::waitpid(job->pid_, nullptr, 0);
        return failure;
    }
    ChildJob *raw = job.get();
    for (int fd : {job->channel_.get(), job->words_.get()})
        fcntl(fd, F_SETFL, O_NONBLOCK);
    job->channel_watch_ = loop.watch(job->channel_.get(), EventLoop::readable, [raw](unsigned) { raw->on_channel(); });
    job->words_watch_ = loop.watch(job->words_.get(), EventLoop::readable, [raw](unsigned) { raw->on_words(); });
    job->end_watch_ = loop.watch(job->pidfd_.get(), EventLoop::readable, [raw](unsigned) { raw->on_exit(); });
    return job;
}

void ChildJob::signal(int number) {
    syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

void ChildJob::on_channel() {
    char buffer[4096];
    ssize_t n = ::recv(channel_.get(), buffer, sizeof buffer, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || lines_.size() > max_line) {
        channel_watch_.reset();
        return;
    }
    lines_.append(buffer, static_cast<std::size_t>(n));
    for (std::size_t end; (end = lines_.find('\n')) != std::string::npos;) {
        auto event = parse_spawn_event(std::string_view(lines_).substr(0, end));
        lines_.erase(0, end + 1);
        if (event)
            callbacks_.on_event(std::move(*event));
    }
}

// What it says before it has made the job is for the user as well: in whole lines, because other jobs and the launcher
// speak there too. The loop goes on between so many pieces.
void ChildJob::on_words() {
    char buffer[4096];
    for (int rounds = 0; rounds < 16; ++rounds) {
        ssize_t n = ::read(words_.get(), buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return;
        if (n <= 0) {
            words_watch_.reset();
            return say_words(true);
        }
        begun_.append(buffer, static_cast<std::size_t>(n));
        if (said_.size() < max_said)
            said_.append(buffer, static_cast<std::size_t>(n));
        say_words(false);
    }
}

void ChildJob::say_words(bool all) {
    std::string_view rest = begun_;
    for (;;) {
        std::size_t end = rest.substr(0, max_line).find('\n');
        if (end == rest.npos && rest.size() < max_line && (!all || rest.empty()))
            break;
        std::string_view line = rest.substr(0, std::min(end, max_line));
        rest.remove_prefix(std::min(line.size() + (end == rest.npos ? 0 : 1), rest.size()));
        callbacks_.on_words(std::string(line) + '\n');
    }
    begun_.erase(0, begun_.size() - rest.size());
}

void ChildJob::on_exit() {
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == 0)
        return;
    // What it had said by then comes first.
    while (channel_watch_) {
        char byte;
        ssize_t n = ::recv(channel_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && errno != EINTR)
            break;
        on_channel();
    }
    on_words();
    say_words(true);
    end_watch_.reset();
    channel_watch_.reset();
    words_watch_.reset();
    auto on_end = std::move(callbacks_.on_end);
    on_end(status, std::move(said_)); // may destroy this
}

} // namespace pmixhost
