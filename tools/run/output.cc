// See output.h.
#include "tools/run/output.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace pmixhost {

OutputSink::OutputSink(EventLoop &loop, int fd, std::function<void()> on_room, OnBroken on_broken)
    : loop_(loop), fd_(fd), on_room_(std::move(on_room)), on_broken_(std::move(on_broken)) {
    struct stat status {};
    if (::fstat(fd, &status) == 0)
        pollable_ = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || ::isatty(fd);
}

void OutputSink::write(std::string_view bytes) {
    if (broken_)
        return;
    queue_ += bytes;
    was_full_ |= full();
    if (!watch_)
        flush();
}

// The descriptor is shared with others (the shell), so it cannot be made non-blocking. Instead no
// more is written at a time than a pipe that polls as writable certainly takes: PIPE_BUF.
void OutputSink::flush() {
    std::size_t done = 0;
    while (done < queue_.size()) {
        pollfd ready{fd_, POLLOUT, 0};
        if (pollable_ && ::poll(&ready, 1, 0) == 0)
            break;
        std::size_t size = queue_.size() - done;
        if (pollable_)
            size = std::min<std::size_t>(size, PIPE_BUF);
        ssize_t n = ::write(fd_, queue_.data() + done, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            const int why = errno;
            broken_ = true;
            was_full_ = false;
            queue_.clear();
            watch_.reset();
            loop_.post([on_broken = on_broken_, why] { on_broken(why); });
            if (when_empty_)
                loop_.post(std::exchange(when_empty_, nullptr));
            return;
        }
        done += static_cast<std::size_t>(n);
    }
    queue_.erase(0, done);
    if (queue_.empty())
        watch_.reset();
    else if (!watch_)
        watch_ = loop_.watch(fd_, EventLoop::writable, [this](unsigned) { flush(); });
    if (was_full_ && queue_.size() < low_water) {
        was_full_ = false;
        loop_.post(on_room_);
    }
    if (queue_.empty() && when_empty_)
        loop_.post(std::exchange(when_empty_, nullptr));
}

void OutputSink::when_empty(std::function<void()> callback) {
    if (queue_.empty())
        loop_.post(std::move(callback));
    else
        when_empty_ = std::move(callback);
}

OutputStream::OutputStream(EventLoop &loop, UniqueFd pipe, OutputSink &sink, Style style)
    : loop_(loop), pipe_(std::move(pipe)), sink_(sink), style_(std::move(style)) {
    ::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
    resume();
}

void OutputStream::resume() {
    if (pipe_ && !watch_)
        watch_ = loop_.watch(pipe_.get(), EventLoop::readable, [this](unsigned) {
            read_some();
            if (sink_.full())
                watch_.reset();
        });
}

bool OutputStream::read_some() {
    char buffer[65536];
    ssize_t n = ::read(pipe_.get(), buffer, sizeof buffer);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return false;
    if (n <= 0) {
        finish();
        return false;
    }
    take(std::string_view(buffer, static_cast<std::size_t>(n)));
    return true;
}

void OutputStream::take(std::string_view bytes) {
    while (!bytes.empty()) {
        auto end = bytes.find('\n');
        if (end == std::string_view::npos) {
            line_ += bytes;
            break;
        }
        line_ += bytes.substr(0, end);
        emit(line_, true);
        line_.clear();
        bytes.remove_prefix(end + 1);
    }
    if (!line_.empty() && (style_.unbuffered || line_.size() > max_line)) {
        emit(line_, false);
        line_.clear();
    }
}

void OutputStream::emit(std::string_view text, bool complete) {
    bool labels = !style_.label.empty();
    // With labels a piece of a line is a line, as others may come between it and the next piece.
    bool rest_is_empty = labels && in_line_ && complete && text.empty();
    in_line_ = !complete;
    if (rest_is_empty)
        return;
    std::string out = style_.label;
    out += text;
    if (complete || labels)
        out += '\n';
    sink_.write(out);
}

void OutputStream::finish() {
    if (!line_.empty()) {
        // The last line is completed where lines have labels, as srun does.
        emit(line_, !style_.label.empty());
        line_.clear();
    }
    close();
}

void OutputStream::close() {
    watch_.reset();
    pipe_.reset();
}

void OutputStream::drain() {
    while (pipe_ && read_some()) {
    }
    if (pipe_)
        finish();
}

} // namespace pmixhost
