// See gdb_process.h.
#include "tools/stacks/gdb_process.h"

#include "common/text/printable.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

std::vector<std::string> debugger_environment() {
    std::vector<std::string> out{"LC_ALL=C"};
    for (char **variable = environ; *variable; ++variable) {
        std::string_view name(*variable, std::strcspn(*variable, "="));
        if (name != "LC_ALL" && name != "DEBUGINFOD_URLS" && name != "LD_PRELOAD" && !name.starts_with("PYTHON"))
            out.emplace_back(*variable);
    }
    return out;
}

Result<GdbProcess> GdbProcess::start(const std::string &gdb, const std::string &indexes, GdbScripts scripts) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd in_from(in[0]), in_to(in[1]);
    if (::pipe2(out, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd out_from(out[0]), out_to(out[1]);
    std::vector<std::string> words{gdb, "-nx", "-q", "--interpreter=mi2"};
    std::vector<std::string> settings{"set debuginfod enabled off", "set confirm off", "set print frame-arguments none",
                                      // A file in the directory where the command happens to run.
                                      scripts == GdbScripts::none ? "set auto-load off"
                                                                  : "set auto-load local-gdbinit off"};
    if (!indexes.empty())
        settings.push_back("set index-cache directory " + indexes);
    settings.push_back(fmt::format("set index-cache enabled {}", indexes.empty() ? "off" : "on"));
    for (auto &setting : settings) {
        words.emplace_back("-iex");
        words.push_back(std::move(setting));
    }
    auto environment = debugger_environment();
    std::vector<char *> argv, envp;
    for (auto &word : words)
        argv.push_back(word.data());
    for (auto &variable : environment)
        envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in_from.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out_to.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    // Ctrl-C at the terminal is for us; we end it.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    pid_t pid = -1;
    int failed = ::posix_spawn(&pid, gdb.c_str(), &files, &attributes, argv.data(), envp.data());
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0)
        return system_error("cannot run " + printable(gdb, 200), failed);
    // A job that has little memory left shall not lose a process to a look at it.
    std::string file = fmt::format("/proc/{}/oom_score_adj", pid);
    if (UniqueFd score(::open(file.c_str(), O_WRONLY | O_CLOEXEC)); score) [[maybe_unused]]
        ssize_t ignored = ::write(score.get(), "1000", 4);
    ::fcntl(in_to.get(), F_SETFL, O_NONBLOCK);
    return GdbProcess(pid, std::move(in_to), std::move(out_from));
}

GdbProcess::GdbProcess(GdbProcess &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), to_(std::move(other.to_)), from_(std::move(other.from_)),
      killed_(other.killed_) {}

void GdbProcess::kill() {
    to_.reset();
    ::kill(-pid_, SIGKILL); // it has a group of its own, and is not reaped yet
    killed_ = StackClock::now();
}

GdbProcess::~GdbProcess() {
    if (pid_ < 0)
        return;
    // At the end of its input it lets go of what it has stopped, and ends; by force it would leave that stopped.
    to_.reset();
    if (!killed_) {
        (void)has_ended(to_let_go);
        kill();
    }
    if (has_ended(std::chrono::ceil<std::chrono::milliseconds>(*killed_ + to_be_killed - StackClock::now())))
        ::waitpid(pid_, nullptr, 0);
}

void GdbProcess::interrupt() const {
    if (pid_ > 0)
        ::kill(-pid_, SIGINT); // it is not reaped yet; a script around gdb has its group
}

bool GdbProcess::has_ended(std::chrono::milliseconds patience) const {
    for (auto until = StackClock::now() + patience;; ::poll(nullptr, 0, 2)) {
        siginfo_t ended{};
        if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 && errno != EINTR)
            return true; // somebody else has reaped it
        if (ended.si_pid == pid_)
            return true;
        if (StackClock::now() >= until)
            return false;
    }
}

void end_all(const std::vector<GdbProcess *> &all, StackClock::time_point until) {
    std::vector<GdbProcess *> left = all, with_output = all;
    for (;;) {
        std::erase_if(left, [](const GdbProcess *one) { return one->has_ended(std::chrono::milliseconds(0)); });
        if (left.empty() || StackClock::now() >= until)
            break;
        std::vector<pollfd> waits;
        for (const GdbProcess *one : with_output)
            waits.push_back({one->output(), POLLIN, 0});
        ::poll(waits.data(), waits.size(), 5); // that one has ended nothing else tells
        std::vector<GdbProcess *> go_on;
        for (std::size_t i = 0; i < waits.size(); ++i) {
            char dropped[65536];
            if (waits[i].revents == 0 || ::read(waits[i].fd, dropped, sizeof dropped) > 0)
                go_on.push_back(with_output[i]);
        }
        with_output = std::move(go_on);
    }
    for (GdbProcess *one : left)
        one->kill();
}

bool GdbProcess::is_it(pid_t process) const {
    return process > 0 && pid_ > 0 && ::getpgid(process) == pid_;
}

} // namespace pmixhost
