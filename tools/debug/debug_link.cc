// See debug_link.h.
#include "tools/debug/debug_link.h"

#include "common/process/exit_code.h"
#include "common/text/printable.h"
#include "tools/stacks/read_stacks.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

namespace {

constexpr std::size_t longest_from_host = 1u << 20; // a line
constexpr std::size_t most_unheard = 64u << 20;     // while something is said
constexpr auto to_be_taken = std::chrono::seconds(30);
constexpr auto between_signs_of_life = std::chrono::seconds(10);

} // namespace

Result<DebugLink> DebugLink::open(const std::vector<std::string> &words) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd in_from(in[0]), in_to(in[1]);
    if (::pipe2(out, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd out_from(out[0]), out_to(out[1]);
    int err[2];
    if (::pipe2(err, O_CLOEXEC) != 0)
        return system_error("cannot make a pipe", errno);
    UniqueFd err_from(err[0]), err_to(err[1]);
    std::vector<char *> argv;
    for (const auto &word : words)
        argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in_from.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out_to.get(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, err_to.get(), STDERR_FILENO);
    // Ctrl-C at the terminal is for the command.
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t usual;
    sigemptyset(&usual);
    for (int signal : {SIGPIPE, SIGTSTP, SIGINT})
        sigaddset(&usual, signal);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes, 0);
    pid_t pid = -1;
    int failed = ::posix_spawnp(&pid, argv[0], &files, &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (failed != 0)
        return system_error("cannot run " + printable(words[0], 200), failed);
    ::fcntl(err_from.get(), F_SETFL, O_NONBLOCK);
    ::fcntl(in_to.get(), F_SETFL, O_NONBLOCK);
    return DebugLink(pid, std::move(in_to), std::move(out_from), std::move(err_from));
}

DebugLink::DebugLink(DebugLink &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), code_(other.code_), to_(std::move(other.to_)), from_(std::move(other.from_)),
      errors_(std::move(other.errors_)), begun_(std::move(other.begun_)), complaints_(std::move(other.complaints_)),
      spoke_(other.spoke_), assembly_(std::move(other.assembly_)), forced_(std::move(other.forced_)),
      said_(other.said_) {}

DebugLink::~DebugLink() {
    if (pid_ >= 0) {
        (void)say(DebugLeave());
        to_.reset();
        for (auto until = std::chrono::steady_clock::now() + to_leave;
             from_ && std::chrono::steady_clock::now() < until;)
            (void)hear(std::chrono::milliseconds(100));
    }
    constexpr int by_a_signal = 128; // as shells have it, and srun of its tasks
    if (exit_code() > by_a_signal && spoke_ && forced_)
        forced_();
}

bool DebugLink::say(const ToHost &message) {
    said_ = std::chrono::steady_clock::now();
    std::string text = line_of(message);
    auto until = said_ + to_be_taken;
    for (std::string_view rest = text; !rest.empty() && to_;) {
        ssize_t done = ::write(to_.get(), rest.data(), rest.size());
        if (done > 0) {
            rest.remove_prefix(static_cast<std::size_t>(done));
            continue;
        }
        bool full = done < 0 && errno == EAGAIN;
        if ((!full && errno != EINTR) || std::chrono::steady_clock::now() >= until || begun_.size() > most_unheard) {
            to_.reset();
        } else if (full) {
            // The other side may be waiting to be heard before it hears.
            pollfd waits[2] = {{to_.get(), POLLOUT, 0}, {from_.get(), POLLIN, 0}};
            if (::poll(waits, 2, 100) > 0 && waits[1].revents != 0)
                take_answers();
        }
    }
    return static_cast<bool>(to_);
}

void DebugLink::take_complaints() {
    constexpr std::size_t most = 4096;
    char bytes[4096];
    ssize_t got = errors_ ? ::read(errors_.get(), bytes, sizeof bytes) : 0;
    if (got > 0)
        complaints_.append(bytes, static_cast<std::size_t>(got));
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
        errors_.reset();
    if (complaints_.size() > most)
        complaints_.erase(0, complaints_.size() - most);
}

void DebugLink::take(std::chrono::milliseconds patience) {
    if (to_ && std::chrono::steady_clock::now() - said_ > between_signs_of_life)
        (void)say(DebugAlive());
    pollfd waits[2] = {{from_.get(), POLLIN, 0}, {errors_.get(), POLLIN, 0}};
    if (!from_ || ::poll(waits, 2, static_cast<int>(patience.count())) <= 0)
        return;
    if (waits[1].revents != 0)
        take_complaints();
    if (waits[0].revents != 0)
        take_answers();
}

void DebugLink::take_answers() {
    char bytes[65536];
    ssize_t got = ::read(from_.get(), bytes, sizeof bytes);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    bool endless = begun_.size() > longest_from_host && begun_.find('\n') == begun_.npos;
    if (got <= 0 || endless)
        from_.reset();
    else
        begun_.append(bytes, static_cast<std::size_t>(got));
    spoke_ = spoke_ || got > 0;
}

std::vector<FromHost> DebugLink::hear(std::chrono::milliseconds patience) {
    std::vector<FromHost> out;
    bool some = begun_.find('\n') != begun_.npos;
    take(some ? std::chrono::milliseconds(0) : patience);
    std::size_t begin = 0;
    for (auto end = begun_.find('\n'); end != begun_.npos; end = begun_.find('\n', begin)) {
        if (auto said = assembly_.add(std::string_view(begun_).substr(begin, end - begin)))
            out.push_back(std::move(*said));
        begin = end + 1;
    }
    begun_.erase(0, begin);
    return out;
}

// A program that has closed its output and does not end is ended.
int DebugLink::exit_code() {
    if (pid_ < 0)
        return code_;
    take_complaints();
    from_.reset();
    to_.reset();
    errors_.reset();
    int status = 0;
    auto reaped = [&] { return ::waitpid(pid_, &status, WNOHANG) != 0; };
    bool ended = reaped();
    for (int tenths = 0; tenths < 50 && !ended; ++tenths) {
        ::poll(nullptr, 0, 100);
        ended = reaped();
    }
    if (!ended) {
        ::kill(-pid_, SIGKILL);
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR)
            ;
    }
    pid_ = -1;
    code_ = exit_code_of(status);
    return code_;
}

} // namespace pmixhost
