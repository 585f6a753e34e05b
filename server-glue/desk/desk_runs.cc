// See desk_runs.h.
#include "server-glue/desk/desk_runs.h"

#include "common/process/descriptor_message.h"
#include "common/process/pointers.h"
#include "common/rendezvous/desk_word.h"
#include "server-glue/gate/desk_channel.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

using namespace std::chrono_literals;

constexpr Duration pipes_within = 5s;
constexpr Duration ends_within = 5s; // when it is told to; then it is killed
constexpr auto search_path = "PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

Result<uid_t> who_connected(int connection) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || size != sizeof peer)
        return system_error("SO_PEERCRED", errno);
    return peer.uid;
}

// Whose other end somebody else reads. Nothing else is written to for others: not a terminal, say. No file system is
// asked for this.
bool is_pipe_to_write(int fd) {
    return ::fcntl(fd, F_GETPIPE_SZ) > 0 && (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY;
}

// This desk's own, which its starter has made (gate/starter.h): nothing in it is of who asks.
std::vector<std::string> environment_of(const AskedBy &by) {
    std::vector<std::string> out{search_path, fmt::format("{}={}", asked_by_variable, asked_by_text(by))};
    for (char **variable = environ; *variable; ++variable) {
        std::string_view entry = *variable;
        auto begins = [entry](std::string_view with) { return entry.starts_with(with); };
        if (!begins("PATH=") && !begins("PMIX") && !begins("LD_") && !begins("TERM="))
            out.emplace_back(entry);
    }
    return out;
}

// In the child of a process with threads: nothing here may allocate, or take a lock.
[[noreturn]] void become_command(char *const *words, char *const *environment, int out, int err, pid_t desk) {
    auto give_up = [](std::string_view why) {
        [[maybe_unused]] ssize_t written = ::write(STDERR_FILENO, why.data(), why.size());
        ::_exit(127);
    };
    for (int number = 1; number < NSIG; ++number)
        ::signal(number, SIG_DFL);
    // A desk that is killed takes it along.
    if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 || ::getppid() != desk)
        ::_exit(127);
    int null = ::open("/dev/null", O_RDONLY);
    // None of the three is in another's way: 0 to 2 are open in a desk.
    if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(err, 2) < 0)
        ::_exit(127);
    if (::syscall(SYS_close_range, 3, UINT_MAX, 0) != 0) {
        for (int fd = 3; fd < 4096; ++fd) // before Linux 5.9; all of the desk's are closed by execve(2) anyway
            ::close(fd);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(words[0], words, environment);
    give_up("pmixhost: error: the desk cannot run it\n");
    ::_exit(127);
}

int code_of(const siginfo_t &ended) {
    return ended.si_code == CLD_EXITED ? ended.si_status & 255 : 128 + ended.si_status;
}

} // namespace

std::string pmixhost_path() {
    std::error_code failed;
    auto self = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
    // BUILD/server-glue/pmixhostd
    auto built = (self / ".." / "tools" / "pmixhost").lexically_normal();
    if (!failed && self.filename() == "server-glue" && ::access(built.c_str(), X_OK) == 0)
        return built.string();
    return PMIXHOST_BINDIR "/pmixhost";
}

DeskRuns::~DeskRuns() {
    for (auto &[id, run] : runs_) {
        if (run.process > 0)
            ::kill(-run.process, SIGKILL);
    }
}

void DeskRuns::take(StrangerFd connection, Visit wish) {
    auto user = who_connected(connection.get());
    if (!wish.run || !user || *user != wish.user)
        return hang_up(connection.get());
    auto fail = [&connection](const Error &why) { say(connection.get(), desk_failed(why)); };
    auto action = action_of(*wish.run);
    if (!action)
        return fail(action.failure());
    if (auto checked = check_run(*wish.run); !checked)
        return fail(checked.failure());
    auto of_this_one =
        std::count_if(runs_.begin(), runs_.end(), [&](const auto &each) { return each.second.by.user == *user; });
    if (of_this_one >= static_cast<std::ptrdiff_t>(most_of_one))
        return fail(error(ErrorKind::limit, "{} commands of yours run at the desk of this user already", of_this_one));
    if (runs_.size() >= most || !begun_.admit(loop_.now()))
        return fail(error(ErrorKind::limit, "the desk of this user runs many commands; next: once more, in a minute"));
    if (!say(connection.get(), std::string(run_ready)))
        return hang_up(connection.get());
    Id id = next_++;
    Run &run = runs_[id];
    run.connection = std::move(connection);
    run.wish = std::move(wish);
    run.by = {*user, *action};
    run.watch = loop_.watch(run.connection.get(), EventLoop::readable, [this, id](unsigned) { hear(id); });
    run.timer = loop_.after(pipes_within, [this, id] {
        refuse(id, error(ErrorKind::timeout, "no pipes came for what the command writes"));
    });
}

void DeskRuns::refuse(Id id, const Error &why) {
    say(runs_.at(id).connection.get(), desk_failed(why));
    runs_.erase(id);
}

void DeskRuns::hear(Id id) {
    if (runs_.at(id).process > 0)
        stop(id); // it has nothing more to say: it has gone
    else
        take_pipes(id);
}

// In a thread.
Result<std::unique_ptr<DeskRuns::Pipes>> DeskRuns::receive_pipes(int connection) {
    Hurry hurry;
    auto got = receive_descriptors(connection, MSG_DONTWAIT);
    if (got && (!*got || ((*got)->bytes.empty() && (*got)->fds.empty())))
        return std::unique_ptr<Pipes>(); // it has gone
    if (!got || (*got)->bytes != run_pipes || (*got)->fds.size() != 2 || !is_pipe_to_write((*got)->fds[0].get()) ||
        !is_pipe_to_write((*got)->fds[1].get()))
        return error(ErrorKind::invalid, "these are not two pipes for what the command writes");
    return std::make_unique<Pipes>(Pipes{std::move((*got)->fds[0]), std::move((*got)->fds[1])});
}

void DeskRuns::take_pipes(Id id) {
    Run &run = runs_.at(id);
    UniqueFd copy(::fcntl(run.connection.get(), F_DUPFD_CLOEXEC, 3)); // the run may end meanwhile
    if (!copy)
        return refuse(id, system_error("fcntl", errno));
    run.watch.reset(); // it is that thread that reads
    auto shared = std::make_shared<StrangerFd>(std::move(copy));
    calls_.run_alone(
        loop_.now() + pipes_within, [shared] { return receive_pipes(shared->get()); },
        [this, id, alive = std::weak_ptr(alive_)](Result<std::unique_ptr<Pipes>> pipes) {
            if (!alive.expired())
                begin(id, std::move(pipes));
        });
}

void DeskRuns::begin(Id id, Result<std::unique_ptr<Pipes>> pipes) {
    auto found = runs_.find(id);
    if (found == runs_.end())
        return; // its time was up
    if (pipes && !*pipes) {
        runs_.erase(found); // who asked has gone
        return;
    }
    if (!pipes)
        return refuse(id, pipes.failure());
    Run &run = found->second;
    if (auto started = start(run, (*pipes)->out.get(), (*pipes)->err.get()); !started)
        return refuse(id, started.failure());
    run.timer.reset();
    run.watch = loop_.watch(run.connection.get(), EventLoop::readable, [this, id](unsigned) { hear(id); });
    run.ended = loop_.watch(run.pidfd.get(), EventLoop::readable, [this, id](unsigned) { on_ended(id); });
}

Result<void> DeskRuns::start(Run &run, int out, int err) {
    log_.info("for uid {}: {}", run.by.user, text_of(*run.wish.run, run.wish.job));
    auto words = command_line(*run.wish.run, run.wish.job);
    words.insert(words.begin(), program_);
    auto environment = environment_of(run.by);
    auto word_pointers = pointers_to(words), variable_pointers = pointers_to(environment);
    pid_t desk = ::getpid();
    // No signal handler of this process runs in the child.
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = ::fork();
    if (child == 0)
        become_command(word_pointers.data(), variable_pointers.data(), out, err, desk);
    int why = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (child < 0)
        return system_error("fork", why);
    ::setpgid(child, child); // whoever is first
    run.process = child;
    run.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
    if (run.pidfd)
        return {};
    why = errno;
    ::kill(-child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    run.process = -1;
    return system_error("pidfd_open", why);
}

void DeskRuns::stop(Id id) {
    Run &run = runs_.at(id);
    run.watch.reset();
    run.connection.reset();
    ::kill(-run.process, SIGTERM);
    run.timer = loop_.after(ends_within, [this, id] { ::kill(-runs_.at(id).process, SIGKILL); });
}

void DeskRuns::on_ended(Id id) {
    Run &run = runs_.at(id);
    siginfo_t ended{};
    // It keeps its number, and so that of its group, until the rest of the group has been told.
    int waited = ::waitid(P_PID, static_cast<id_t>(run.process), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (waited != 0 && errno != EINTR)
        return refuse(id, system_error("waitid", errno)); // somebody else has waited for it
    if (waited != 0 || ended.si_pid == 0)
        return;
    ::kill(-run.process, SIGKILL);
    ::waitid(P_PID, static_cast<id_t>(run.process), &ended, WEXITED | WNOHANG);
    if (run.connection)
        say(run.connection.get(), run_ended(code_of(ended)));
    runs_.erase(id);
}

} // namespace pmixhost
