// See evidence.h.
#include "server-glue/evidence/evidence.h"

#include "common/process/bare_fork.h"
#include "common/process/program_beside.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_line = 2048;
// A line for each thread, and a few.
constexpr std::size_t max_lines = max_reported_threads + 8;

} // namespace

EvidencePlace evidence_place(const Settings &settings, const std::string &log_file, std::string host,
                             std::string step) {
    EvidencePlace place;
    place.program = program_beside("pmixhost-evidence");
    if (!settings.daemon_evidence_directory.empty())
        place.directories.push_back(settings.daemon_evidence_directory);
    else if (!log_file.empty())
        place.directories.push_back(std::filesystem::path(log_file).parent_path().string());
    place.directories.push_back(settings.directory_base);
    place.host = std::move(host);
    place.step = std::move(step);
    return place;
}

Result<EvidenceCapture> EvidenceCapture::start(const EvidencePlace &place, Suspect suspect, const Log &log) {
    // All memory is taken before the fork: between it and the exec nothing may be allocated.
    std::vector<std::string> words = {place.program,
                                      fmt::format("pid={}", suspect.pid),
                                      "found=" + suspect.found,
                                      "finder=" + suspect.finder,
                                      "host=" + place.host,
                                      "step=" + place.step};
    if (suspect.heartbeat)
        words.push_back(fmt::format("heartbeat={}", *suspect.heartbeat));
    for (const auto &directory : place.directories)
        words.push_back("directory=" + directory);
    std::vector<char *> arguments;
    for (auto &word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        return system_error("no evidence can be taken: pipe", errno);
    UniqueFd read(ends[0]), write(ends[1]);
    if (suspect.pid == ::getpid())
        let_parent_trace();  // its parent is ours, or we
    pid_t pid = bare_fork(); // a lock that a library takes at a fork may be what the daemon hangs at
    if (pid < 0)
        return system_error("no evidence can be taken: fork", errno);
    if (pid == 0) {
        if (write.get() == STDOUT_FILENO)
            ::fcntl(STDOUT_FILENO, F_SETFD, 0);
        else
            ::dup2(write.get(), STDOUT_FILENO);
        ::execv(arguments[0], arguments.data());
        ::_exit(127);
    }
    write.reset();
    ::fcntl(read.get(), F_SETFL, O_NONBLOCK);
    return EvidenceCapture(pid, std::move(read), log);
}

EvidenceCapture::EvidenceCapture(pid_t pid, UniqueFd output, const Log &log)
    : pid_(pid), process_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))), output_(std::move(output)), log_(&log) {
}

EvidenceCapture::EvidenceCapture(EvidenceCapture &&other) noexcept
    : pid_(std::exchange(other.pid_, -1)), process_(std::move(other.process_)), output_(std::move(other.output_)),
      log_(other.log_), rest_(std::move(other.rest_)), file_(std::move(other.file_)), lines_(other.lines_),
      done_(other.done_) {}

EvidenceCapture::~EvidenceCapture() {
    if (pid_ < 0)
        return;
    if (!done_)
        log_->warning("the evidence is not complete: pmixhost-evidence did not get to its end");
    if (process_)
        ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
    // It may be in a wait that not even SIGKILL ends; then it stays a zombie of ours.
    pollfd end{process_.get(), POLLIN, 0};
    ::poll(&end, 1, 100);
    ::waitpid(pid_, nullptr, WNOHANG);
}

bool EvidenceCapture::on_readable() {
    char buffer[4096];
    for (;;) {
        ssize_t n = ::read(output_.get(), buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno != EAGAIN;
        if (n == 0)
            return true;
        rest_.append(buffer, static_cast<std::size_t>(n));
        for (auto end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n')) {
            take_line(std::string_view(rest_).substr(0, end));
            rest_.erase(0, end + 1);
        }
        if (rest_.size() > max_line)
            rest_.clear();
    }
}

void EvidenceCapture::take_line(std::string_view line) {
    if (line == "done")
        done_ = true;
    else if (line.starts_with("file "))
        file_ = line.substr(5);
    else if (line.starts_with("log ") && lines_++ < max_lines)
        log_->error("{}", line.substr(4, max_line));
}

std::string capture_evidence(const EvidencePlace &place, Suspect suspect, const Log &log,
                             std::chrono::milliseconds patience) {
    const auto deadline = Clock::now() + patience;
    log.error("{}{}; what its threads do:", suspect.found,
              suspect.heartbeat ? fmt::format(", with its heartbeat at {}", *suspect.heartbeat) : "");
    auto capture = EvidenceCapture::start(place, std::move(suspect), log);
    if (!capture) {
        log.error("{}", capture.failure().text);
        return {};
    }
    for (;;) {
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
        pollfd output{capture->fd(), POLLIN, 0};
        if (left <= 0 || (::poll(&output, 1, static_cast<int>(left)) > 0 && capture->on_readable()))
            return capture->file();
    }
}

void end_with_core(pid_t child, int process, std::chrono::milliseconds patience) {
    pollfd end{process, POLLIN, 0};
    ::kill(child, SIGABRT); // our child, not waited for: the pid is still its own
    ::kill(child, SIGCONT); // one that is stopped takes no signal
    if (::poll(&end, 1, static_cast<int>(patience.count())) > 0)
        return;
    ::kill(child, SIGKILL);
    ::poll(&end, 1, 5000);
}

void let_parent_trace() {
    pid_t parent = ::getppid(); // 0: outside of our pid namespace
    // Fails where there is no Yama, and then nothing forbids it.
    ::prctl(PR_SET_PTRACER, parent > 0 ? parent : ::getpid(), 0, 0, 0);
}

} // namespace pmixhost
