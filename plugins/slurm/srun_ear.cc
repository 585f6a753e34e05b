// See srun_ear.h.
#include "plugins/slurm/srun_ear.h"

#include "common/spawn_channel.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace pmixhost::slurm {

namespace {

constexpr std::size_t max_connections = 1024; // each host of a spawned step keeps one until it runs
constexpr int max_notes = 100;
constexpr std::size_t stack_bytes = 256u << 10;

void put_length(std::string &out, std::size_t length) {
    for (int shift = 24; shift >= 0; shift -= 8)
        out += static_cast<char>(length >> shift);
}

} // namespace

SrunEar::SrunEar(ExitReportListener listener, Parts parts)
    : listener_(std::move(listener)), parts_(std::move(parts)) {}

// srun ends without having waited: the launcher hears it by the end of its channel.
SrunEar::~SrunEar() {
    if (has_thread_)
        (void)finish(std::chrono::milliseconds(0));
}

void SrunEar::begin() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    wake_read_.reset(ends[0]);
    wake_write_.reset(ends[1]);
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setstacksize(&attributes, stack_bytes);
    // srun's own threads handle its signals.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    has_thread_ = pthread_create(&thread_, &attributes, thread_main, this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
}

void *SrunEar::thread_main(void *self) noexcept {
    auto *ear = static_cast<SrunEar *>(self);
    try {
        ear->listen();
    } catch (...) {
        // Out of memory: what comes from now on is read when the step is over.
    }
    return nullptr;
}

void SrunEar::listen() {
    while (round(wake_read_.get(), -1)) {
    }
}

// Waits once and takes what is there. False when `wake_fd` has something to read.
bool SrunEar::round(int wake_fd, int timeout_ms) {
    std::vector<pollfd> polls{{wake_fd, POLLIN, 0},
                              {launcher_ ? launcher_->channel.get() : -1, POLLIN, 0},
                              {connections_.size() < max_connections ? listener_.fd() : -1, POLLIN, 0}};
    const std::size_t fixed = polls.size();
    for (const auto &connection : connections_)
        polls.push_back({connection.fd(), POLLIN, 0});
    int ready = ::poll(polls.data(), polls.size(), timeout_ms);
    if (ready <= 0)
        return ready == 0 || errno == EINTR;
    if (polls[0].revents)
        return false; // the rest is for drain()
    std::vector<std::string> frames;
    std::vector<SrunConnection> open;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
        auto progress = polls[fixed + i].revents ? connections_[i].receive()
                                                 : SrunConnection::Progress::more;
        if (progress == SrunConnection::Progress::more)
            open.push_back(std::move(connections_[i]));
        else if (progress == SrunConnection::Progress::whole)
            frames.push_back(connections_[i].bytes());
    }
    connections_ = std::move(open);
    if (polls[1].revents)
        launcher_ended();
    if (polls[2].revents) {
        if (auto connection = listener_.accept())
            connections_.push_back(std::move(*connection));
    }
    for (const auto &frame : frames)
        take(frame);
    return true;
}

// Takes what has been sent by now.
void SrunEar::drain(std::chrono::milliseconds limit) {
    auto deadline = std::chrono::steady_clock::now() + limit;
    for (;;) {
        pollfd waiting{listener_.fd(), POLLIN, 0};
        if (connections_.empty() && ::poll(&waiting, 1, 0) <= 0)
            return;
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline -
                                                                 std::chrono::steady_clock::now());
        if (left.count() <= 0 || !round(-1, static_cast<int>(left.count())))
            return;
    }
}

void SrunEar::take(const std::string &frame) {
    auto message = open_message(frame, listener_.cookie(), geteuid(), *parts_.sealer);
    if (!message)
        return;
    switch (message->kind) {
    case SrunMessage::Kind::exit_report:
        if (!report_)
            report_ = ExitReport{message->status, message->body};
        break;
    case SrunMessage::Kind::launched:
        if (message->status == 0) {
            launched_hosts_.insert(message->body);
            if (launched_hosts_.size() < parts_.hosts)
                break;
            message->body.clear();
        }
        if (parts_.spawn_channel && !std::exchange(told_launched_, true))
            say_launched(parts_.spawn_channel.get(), message->status, message->body);
        break;
    case SrunMessage::Kind::note:
        if (++notes_ <= max_notes)
            parts_.complain(message->body);
        break;
    case SrunMessage::Kind::invitation:
        invite(message->body);
        break;
    }
}

void SrunEar::invite(const std::string &invitation) {
    if (!launcher_ && !launcher_failed_) {
        auto started = parts_.start_launcher();
        if (started) {
            launcher_ = std::move(*started);
        } else {
            launcher_failed_ = true;
            parts_.complain(started.failure().text);
        }
    }
    if (!launcher_)
        return;
    std::string bytes;
    put_length(bytes, invitation.size());
    bytes += invitation;
    write_channel(bytes.data(), bytes.size());
}

// The launcher reads all the time; one that does not for long is not waited for.
void SrunEar::write_channel(const char *data, std::size_t size) {
    while (size > 0 && launcher_) {
        ssize_t n = ::send(launcher_->channel.get(), data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN) {
            pollfd poll_fd{launcher_->channel.get(), POLLOUT, 0};
            if (::poll(&poll_fd, 1, 2000) == 1)
                continue;
        }
        if (n <= 0)
            return;
        data += n;
        size -= static_cast<std::size_t>(n);
    }
}

void SrunEar::launcher_ended() {
    char byte;
    ssize_t n = ::recv(launcher_->channel.get(), &byte, 1, MSG_DONTWAIT);
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    int status;
    while (waitpid(launcher_->pid, &status, 0) < 0 && errno == EINTR) {
    }
    launcher_.reset();
}

void SrunEar::wait_for_launcher() {
    if (!launcher_)
        return;
    if (report_) {
        const char end[4] = {0, 0, 0, 0};
        write_channel(end, sizeof end);
    }
    ::shutdown(launcher_->channel.get(), SHUT_WR);
    while (launcher_) {
        pollfd poll_fd{launcher_->channel.get(), POLLIN, 0};
        if (::poll(&poll_fd, 1, -1) > 0)
            launcher_ended();
    }
}

std::optional<ExitReport> SrunEar::finish(std::chrono::milliseconds limit) {
    if (has_thread_) {
        [[maybe_unused]] ssize_t n = ::write(wake_write_.get(), "x", 1);
        pthread_join(thread_, nullptr);
        has_thread_ = false;
    }
    drain(limit);
    wait_for_launcher();
    if (parts_.spawn_channel && !std::exchange(told_launched_, true))
        say_over(parts_.spawn_channel.get(), report_ ? report_->text : "");
    return report_;
}

} // namespace pmixhost::slurm
