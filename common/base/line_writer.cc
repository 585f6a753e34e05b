// See line_writer.h.
#include "common/base/line_writer.h"

#include "common/base/start_thread.h"
#include "common/base/unique_fd.h"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <unistd.h>

namespace pmixhost {

namespace {

bool would_block(int fd) {
    pollfd poll_fd{fd, POLLOUT, 0};
    return ::poll(&poll_fd, 1, 0) == 0;
}

// Writes a line with one write(2), as far as the kernel lets us: other processes may write to the same place.
void write_whole(int fd, const std::string &line) {
    for (std::size_t done = 0; done < line.size();) {
        ssize_t n = ::write(fd, line.data() + done, line.size() - done);
        if (n > 0) {
            done += static_cast<std::size_t>(n);
        } else if (n < 0 && errno == EAGAIN) {
            pollfd poll_fd{fd, POLLOUT, 0};
            ::poll(&poll_fd, 1, -1);
        } else if (n == 0 || errno != EINTR) {
            return; // a log that cannot be written must not stop the work
        }
    }
}

} // namespace

struct LineWriter::Shared {
    UniqueFd fd;
    std::function<std::string(std::uint64_t)> lost_text;
    std::mutex mutex; // guards all below
    std::condition_variable wake, idle;
    std::deque<std::string> lines;
    std::size_t bytes = 0;
    std::uint64_t lost = 0; // since the last line
    bool started = false, writing = false, over = false;

    void push(std::string line) {
        bytes += line.size();
        lines.push_back(std::move(line));
    }
    std::string pop() {
        std::string line = std::move(lines.front());
        lines.pop_front();
        bytes -= line.size();
        if (lines.empty() && lost > 0)
            push(lost_text(std::exchange(lost, 0)));
        return line;
    }
    static void run(const std::shared_ptr<Shared> &self) {
        std::unique_lock lock(self->mutex);
        for (;;) {
            self->wake.wait(lock, [&] { return self->over || !self->lines.empty(); });
            if (self->lines.empty())
                return;
            std::string line = self->pop();
            self->writing = true;
            lock.unlock();
            write_whole(self->fd.get(), line);
            lock.lock();
            self->writing = false;
            self->idle.notify_all();
        }
    }
    static void start(const std::shared_ptr<Shared> &self) {
        if (!self->started)
            self->started = start_thread([self] { run(self); }).ok();
    }
};

LineWriter::LineWriter(int fd, std::function<std::string(std::uint64_t)> lost) : shared_(std::make_shared<Shared>()) {
    shared_->fd.reset(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
    shared_->lost_text = std::move(lost);
}

LineWriter::~LineWriter() {
    flush();
    std::lock_guard lock(shared_->mutex);
    shared_->over = true;
    shared_->wake.notify_one();
}

void LineWriter::write(std::string line) {
    std::lock_guard lock(shared_->mutex);
    if (shared_->bytes + line.size() > max_bytes) {
        ++shared_->lost;
        return;
    }
    if (shared_->lost > 0)
        shared_->push(shared_->lost_text(std::exchange(shared_->lost, 0)));
    shared_->push(std::move(line));
    Shared::start(shared_);
    shared_->wake.notify_one();
}

void LineWriter::go_to(int fd) {
    ::dup3(fd, shared_->fd.get(), O_CLOEXEC);
}

void LineWriter::flush(std::chrono::milliseconds limit) {
    std::unique_lock lock(shared_->mutex);
    if (shared_->lines.empty() && !shared_->writing)
        return;
    Shared::start(shared_);
    if (shared_->started) {
        shared_->idle.wait_for(lock, limit, [this] { return shared_->lines.empty() && !shared_->writing; });
        return;
    }
    // Without a thread, only what can be written without waiting is written.
    while (!shared_->lines.empty() && !would_block(shared_->fd.get()))
        write_whole(shared_->fd.get(), shared_->pop());
}

} // namespace pmixhost
