// See gdb_session.h.
#include "tools/stacks/gdb_session.h"

#include "common/text/printable.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pmixhost {

namespace {

constexpr std::size_t longest_gdb_line = 16u << 20;
constexpr std::size_t most_gdb_text = 1u << 20;

} // namespace

std::vector<std::string> debugger_environment() {
    std::vector<std::string> out{"LC_ALL=C"};
    for (char **variable = environ; *variable; ++variable) {
        std::string_view name(*variable, std::strcspn(*variable, "="));
        if (name != "LC_ALL" && name != "DEBUGINFOD_URLS" && name != "LD_PRELOAD" && !name.starts_with("PYTHON"))
            out.emplace_back(*variable);
    }
    return out;
}

Result<GdbSession> GdbSession::start(const std::string &gdb, const std::atomic<bool> &over) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd in_from(in[0]), in_to(in[1]);
    if (::pipe2(out, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd out_from(out[0]), out_to(out[1]);
    std::vector<std::string> words{gdb, "-nx", "-q", "--interpreter=mi2"};
    for (const char *setting : {"set auto-load off", "set debuginfod enabled off", "set confirm off",
                                "set print frame-arguments none", "set index-cache enabled off"}) {
        words.emplace_back("-iex");
        words.emplace_back(setting);
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
    return GdbSession(pid, std::move(in_to), std::move(out_from), over);
}

GdbSession::GdbSession(GdbSession &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), to_(std::move(other.to_)), from_(std::move(other.from_)), over_(other.over_),
      begun_(std::move(other.begun_)), next_token_(other.next_token_), usable_(other.usable_) {}

GdbSession::~GdbSession() {
    if (pid_ < 0)
        return;
    // At the end of its input it lets go of what it has stopped, and ends; by force it would leave that stopped.
    to_.reset();
    (void)has_ended(to_let_go);
    ::kill(-pid_, SIGKILL); // it has a group of its own, and is not reaped yet
    if (has_ended(to_be_killed))
        ::waitpid(pid_, nullptr, 0);
}

bool GdbSession::has_ended(std::chrono::milliseconds patience) const {
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

bool GdbSession::is_it(pid_t process) const {
    return process > 0 && pid_ > 0 && ::getpgid(process) == pid_;
}

Error GdbSession::broken(Error why) {
    usable_ = false;
    return why;
}

Result<std::string> GdbSession::line(StackClock::time_point deadline) {
    for (;;) {
        if (auto end = begun_.find('\n'); end != begun_.npos) {
            std::string out = begun_.substr(0, end);
            begun_.erase(0, end + 1);
            return out;
        }
        if (begun_.size() > longest_gdb_line)
            return broken(error(ErrorKind::limit, "gdb says too much"));
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - StackClock::now()).count();
        if (left <= 0 || *over_)
            return broken(error(ErrorKind::timeout, "gdb does not answer in time"));
        pollfd poll{from_.get(), POLLIN, 0};
        if (::poll(&poll, 1, static_cast<int>(std::min<long long>(left, 100))) <= 0)
            continue;
        char bytes[65536];
        ssize_t got = ::read(from_.get(), bytes, sizeof bytes);
        if (got > 0)
            begun_.append(bytes, static_cast<std::size_t>(got));
        else if (got == 0 || (errno != EINTR && errno != EAGAIN))
            return broken(error(ErrorKind::unreachable, "gdb has ended"));
    }
}

Result<GdbAnswer> GdbSession::ask(const std::string &command, StackClock::time_point deadline) {
    if (!usable_)
        return error(ErrorKind::unreachable, "gdb has ended");
    std::string token = fmt::format("{}", next_token_++), text = token + command + "\n";
    // Shorter than a pipe holds, and the one before has been answered: it fits.
    if (::write(to_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return broken(error(ErrorKind::unreachable, "gdb has ended"));
    GdbAnswer answer;
    for (;;) {
        auto said = line(deadline);
        if (!said)
            return said.failure();
        auto record = parse_gdb_line(*said);
        if (!record)
            continue; // a warning, or what a program could make it say
        if (record->kind == '~' && answer.text.size() < most_gdb_text)
            answer.text += record->word;
        if (record->kind != '^' || record->token != token)
            continue;
        answer.values = std::move(record->values);
        if (record->word != "error")
            return answer;
        auto why = answer.values.find("msg");
        return error(ErrorKind::invalid, "{}",
                     why != answer.values.end() && why->is_string() ? one_line(why->get<std::string>(), 300)
                                                                    : std::string("gdb says no more than: error"));
    }
}

Result<GdbAnswer> GdbSession::console(const std::string &command, StackClock::time_point deadline) {
    return ask("-interpreter-exec console " + gdb_quoted(command), deadline);
}

} // namespace pmixhost
