// See tasks.h.
#include "plugins/local/tasks.h"

#include "common/base/fd_pair.h"
#include "common/process/pointers.h"
#include "common/start/task_spec.h"
#include "common/text/printable.h"
#include "plugins/kit/fresh_process.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tuple>
#include <unistd.h>

namespace pmixhost::local {

namespace {

constexpr unsigned close_range_cloexec = 1u << 2; // CLOSE_RANGE_CLOEXEC, Linux 5.11

// What the child needs, all of it made before the fork.
struct Launch {
    const char *path;
    const char *cwd;
    char *const *argv;
    char *const *envp;
    int in, out, err, report;
    int words; // stays open; -1: none
    pid_t parent;
    rlimit files; // 0: as this process has it
};

enum class Step : int { directory = 0, program = 1 };
struct Report {
    Step step;
    int error_number;
};

[[noreturn]] void give_up(const Launch &launch, Step step) {
    Report report{step, errno};
    [[maybe_unused]] ssize_t n = ::write(launch.report, &report, sizeof report);
    ::_exit(report.error_number);
}

// Between fork and exec: async-signal-safe calls only.
[[noreturn]] void become_task(const Launch &launch) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (::getppid() != launch.parent)
        ::_exit(1); // the daemon died before the line above
    ::dup2(launch.in, STDIN_FILENO);
    ::dup2(launch.out, STDOUT_FILENO);
    ::dup2(launch.err, STDERR_FILENO);
    // Everything else is close-on-exec already; this is for descriptors of libraries that forgot.
    ::syscall(SYS_close_range, 3u, ~0u, close_range_cloexec);
    if (launch.words >= 0)
        ::fcntl(launch.words, F_SETFD, 0);
    kit::reset_signals();
    if (launch.files.rlim_cur > 0)
        ::setrlimit(RLIMIT_NOFILE, &launch.files);
    if (::chdir(launch.cwd) != 0)
        give_up(launch, Step::directory);
    ::execve(launch.path, launch.argv, launch.envp);
    give_up(launch, Step::program);
}

bool is_program(const std::string &path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

// Finds the program as a shell does, with the task's PATH. A name that is not found is left as it is: execve says
// why.
std::string find_program(const std::string &name, const std::vector<std::string> &environment, const std::string &cwd) {
    if (name.find('/') != std::string::npos)
        return name;
    std::string_view path = "/usr/local/bin:/usr/bin:/bin";
    for (const auto &variable : environment) {
        if (variable.starts_with("PATH="))
            path = std::string_view(variable).substr(5);
    }
    while (true) {
        auto colon = path.find(':');
        std::string directory(path.substr(0, colon));
        if (directory.empty() || directory.front() != '/')
            directory = cwd + "/" + directory;
        if (std::string file = directory + "/" + name; is_program(file))
            return file;
        if (colon == std::string_view::npos)
            return "/nonexistent/" + name; // never a file of that name in the working directory
        path.remove_prefix(colon + 1);
    }
}

} // namespace

Result<void> Tasks::start(TaskSpec task, std::vector<std::string> environment, const std::string &cwd,
                          std::optional<std::uint64_t> open_files) {
    auto made = make_pipe();
    if (!made)
        return error(made.failure().kind, "cannot start a task: {}", made.failure().text);
    auto [read_end, write_end] = std::move(*made);
    UniqueFd words, task_words;
    if (events_.on_exec_report) {
        auto pair = make_socket_pair();
        if (!pair)
            return error(pair.failure().kind, "cannot start a task: {}", pair.failure().text);
        std::tie(words, task_words) = std::move(*pair);
        environment.push_back(fmt::format("{}={}", task_fd_variable, task_words.get()));
    }
    std::string path = find_program(task.argv.front(), environment, cwd);
    auto argv = pointers_to(task.argv), envp = pointers_to(environment);
    Launch launch{
        path.c_str(),    cwd.c_str(),      argv.data(), envp.data(), task.in.get(), task.out.get(), task.err.get(),
        write_end.get(), task_words.get(), ::getpid(),  {}};
    if (open_files && ::getrlimit(RLIMIT_NOFILE, &launch.files) == 0)
        launch.files.rlim_cur = std::min<rlim_t>(*open_files, launch.files.rlim_max);

    // No handler of ours may run in the child before it has reset them.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = ::fork();
    if (pid == 0)
        become_task(launch);
    int fork_error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0)
        return system_error("cannot start a task: fork", fork_error);
    ::setpgid(pid, pid); // the child does it too; whoever is first

    Rank rank = task.rank;
    Running running;
    running.pid = pid;
    running.program = task.argv.front();
    running.exec_errno = std::move(read_end);
    running.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (!running.pidfd) {
        Error failure = system_error("cannot watch a task: pidfd_open", errno);
        ::kill(pid, SIGKILL);
        return failure;
    }
    running.exec_watch =
        loop_.watch(running.exec_errno.get(), EventLoop::readable, [this, rank](unsigned) { on_exec_result(rank); });
    running.end_watch = loop_.watch(running.pidfd.get(), EventLoop::readable, [this, rank](unsigned) { on_end(rank); });
    if (words) {
        running.words.task = std::move(words);
        running.words_watch =
            loop_.watch(running.words.task.get(), EventLoop::readable, [this, rank](unsigned) { on_words(rank); });
    }
    running_.emplace(rank, std::move(running));
    events_.on_started(rank, pid);
    return {};
}

void Tasks::on_exec_result(Rank rank) {
    auto found = running_.find(rank);
    if (found == running_.end() || !found->second.exec_errno)
        return;
    Running &task = found->second;
    Report report{};
    ssize_t n = ::read(task.exec_errno.get(), &report, sizeof report);
    task.exec_watch.reset();
    task.exec_errno.reset();
    if (n != static_cast<ssize_t>(sizeof report))
        return; // closed by the exec: all is well
    std::string why = fmt::format(
        "{} {}: {}", report.step == Step::program ? "cannot execute" : "cannot enter the working directory for",
        printable(task.program, 400), std::generic_category().message(report.error_number));
    events_.on_exec_failed(rank, report.error_number, std::move(why));
}

void Tasks::on_words(Rank rank) {
    auto found = running_.find(rank);
    if (found == running_.end() || !found->second.words_watch)
        return;
    Running &task = found->second;
    if (!task.words.take())
        return;
    task.words_watch.reset();
    events_.on_exec_report(rank, std::move(task.words));
}

void Tasks::on_end(Rank rank) {
    on_exec_result(rank); // what the child said before it ended comes first
    for (auto found = running_.find(rank); found != running_.end() && found->second.words_watch;
         found = running_.find(rank)) {
        char byte;
        if (::recv(found->second.words.task.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
            break; // a descendant has it
        on_words(rank);
    }
    auto found = running_.find(rank);
    if (found == running_.end())
        return;
    int status = 0;
    pid_t ended = ::waitpid(found->second.pid, &status, WNOHANG);
    if (ended == 0)
        return;
    if (ended < 0)
        status = 1 << 8; // somebody else has waited for it: the status is lost
    running_.erase(found);
    events_.on_ended(rank, status);
}

void Tasks::signal(int number, std::span<const Rank> ranks) {
    // The task has not been waited for yet, so the pid, and with it the group's id, is still its own.
    if (ranks.empty()) {
        for (const auto &[rank, task] : running_)
            ::kill(-task.pid, number);
        return;
    }
    for (Rank rank : ranks) {
        if (auto found = running_.find(rank); found != running_.end())
            ::kill(-found->second.pid, number);
    }
}

std::vector<pid_t> Tasks::pids() const {
    std::vector<pid_t> pids;
    for (const auto &[rank, task] : running_)
        pids.push_back(task.pid);
    return pids;
}

void Tasks::settle() {
    std::vector<Rank> ranks;
    for (const auto &[rank, task] : running_)
        ranks.push_back(rank);
    for (Rank rank : ranks)
        on_end(rank);
}

void Tasks::stop() {
    signal(SIGKILL, {});
    running_.clear();
}

Tasks::~Tasks() {
    stop();
}

} // namespace pmixhost::local
