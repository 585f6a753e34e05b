// See debugged_launch.h.
#include "tools/debug/debugged_launch.h"

#include "common/base/fd_pair.h"
#include "common/job/debug_stops.h"
#include "common/process/exit_code.h"
#include "common/start/spawn_channel.h"
#include "common/text/printable.h"
#include "common/text/take_until.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

namespace {

// In the child. The process group is its own, since Ctrl-C at the terminal is for the prompt.
void become_launcher(char *const *argv, int channel, int input, const DebuggedLaunch::Wish &wish, pid_t parent) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent)
        return; // who would have ended it is gone already
    for (int signal : {SIGPIPE, SIGTSTP, SIGINT, SIGTERM, SIGHUP})
        std::signal(signal, SIG_DFL);
    ::dup2(input, STDIN_FILENO);
    ::fcntl(channel, F_SETFD, 0);
    ::setenv(std::string(spawn_fd_variable).c_str(), std::to_string(channel).c_str(), 1);
    ::setenv(std::string(debug_stop_variable).c_str(), wish.stops.c_str(), 1);
    if (!wish.labels.first.empty())
        ::setenv(wish.labels.first.c_str(), wish.labels.second.c_str(), 1);
    ::execvp(argv[0], argv);
}

} // namespace

Result<DebuggedLaunch> DebuggedLaunch::start(const std::vector<std::string> &words, const Wish &wish) {
    auto channel = make_socket_pair();
    auto outcome = channel ? make_pipe() : Result<FdPair>(channel.failure());
    auto input = !outcome           ? Result<FdPair>(outcome.failure())
                 : wish.takes_input ? make_pipe()
                                    : FdPair{UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), UniqueFd()};
    if (!input)
        return input.failure();
    std::vector<char *> argv;
    for (const auto &word : words)
        argv.push_back(const_cast<char *>(word.c_str()));
    argv.push_back(nullptr);
    pid_t parent = ::getpid();
    pid_t pid = ::fork();
    if (pid == 0) {
        become_launcher(argv.data(), channel->second.get(), input->first.get(), wish, parent);
        int why = errno;
        [[maybe_unused]] ssize_t told = ::write(outcome->second.get(), &why, sizeof why);
        ::_exit(127);
    }
    if (pid < 0)
        return system_error("fork", errno);
    ::setpgid(pid, pid); // the child does it too; whoever is first
    outcome->second.reset();
    channel->second.reset();
    DebuggedLaunch launch(pid, std::move(channel->first), std::move(input->second));
    int why = 0;
    ssize_t told;
    do {
        told = ::read(outcome->first.get(), &why, sizeof why); // ends with its exec
    } while (told < 0 && errno == EINTR);
    if (told == sizeof why)
        return system_error("cannot run " + printable(words[0], 200), why);
    return launch;
}

DebuggedLaunch::DebuggedLaunch(DebuggedLaunch &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), code_(other.code_), channel_(std::move(other.channel_)),
      input_(std::move(other.input_)), said_(std::move(other.said_)), processes_(other.processes_) {}

DebuggedLaunch::~DebuggedLaunch() {
    end_now();
}

int DebuggedLaunch::end(std::chrono::milliseconds patience) {
    for (auto until = std::chrono::steady_clock::now() + patience; runs() && std::chrono::steady_clock::now() < until;)
        ::poll(nullptr, 0, 10);
    end_now();
    return code_;
}

void DebuggedLaunch::end_now() {
    constexpr int hundredths = 1000;
    if (runs())
        ::kill(-pid_, SIGTERM);
    for (int i = 0; i < hundredths && runs(); ++i)
        ::poll(nullptr, 0, 10);
    if (runs())
        ::kill(-pid_, SIGKILL);
    while (runs())
        ::poll(nullptr, 0, 10);
}

bool DebuggedLaunch::reap() {
    int status = 0;
    if (pid_ <= 0)
        return true;
    pid_t found = ::waitpid(pid_, &status, WNOHANG);
    if (found == 0 || (found < 0 && errno == EINTR))
        return false;
    pid_ = -1;
    code_ = found > 0 ? exit_code_of(status) : 0;
    return true;
}

bool DebuggedLaunch::runs() {
    return !reap();
}

Result<DebuggedLaunch::Job> DebuggedLaunch::await_job(const std::function<bool()> &stop) {
    constexpr std::size_t longest = 64u << 10;
    while (channel_ && said_.size() < longest && !stop()) {
        pollfd waits{channel_.get(), POLLIN, 0};
        if (::poll(&waits, 1, 1000) <= 0)
            continue;
        char bytes[4096];
        ssize_t got = ::read(channel_.get(), bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            channel_.reset();
        else
            said_.append(bytes, static_cast<std::size_t>(got));
        while (said_.find('\n') != said_.npos) {
            std::string_view rest = said_, line = take_until(rest, '\n');
            auto event = parse_spawn_event(line);
            if (auto count = parse_process_count(line))
                processes_ = *count;
            said_ = std::string(rest);
            if (event && event->kind == SpawnEvent::Kind::created)
                return Job{std::move(event->text), processes_};
        }
    }
    return error(ErrorKind::not_found, "it has started no job of pmixhost");
}

Result<void> DebuggedLaunch::give(std::string_view bytes) {
    if (!input_)
        return error(ErrorKind::invalid, "the job takes no input any more");
    // Who only gives now and then waits for nobody; the pipe takes so few bytes as a whole, or not at all.
    ::fcntl(input_.get(), F_SETFL, O_NONBLOCK);
    ssize_t written;
    do
        written = ::write(input_.get(), bytes.data(), bytes.size());
    while (written < 0 && errno == EINTR);
    if (written >= 0)
        return {};
    if (errno == EAGAIN)
        return error(ErrorKind::limit,
                     "the job has not yet read what it was given before; next: continue, and once more");
    input_.reset();
    return error(ErrorKind::invalid, "the job takes no input any more");
}

int DebuggedLaunch::await_end(const std::function<bool()> &interrupted, const std::function<bool()> &told_to_end) {
    for (bool told = false; runs();) {
        ::poll(nullptr, 0, 50);
        bool end = told_to_end() && !told;
        told = told || end;
        if (runs() && (interrupted() || end))
            ::kill(pid_, end ? SIGTERM : SIGINT);
    }
    return code_;
}

} // namespace pmixhost
