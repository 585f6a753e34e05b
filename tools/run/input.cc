// See input.h.
#include "tools/run/input.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pmixhost {

InputForwarder::InputForwarder(EventLoop &loop, UniqueFd pipe) : loop_(loop), pipe_(std::move(pipe)) {
    ::fcntl(pipe_.get(), F_SETFL, O_NONBLOCK);
    struct stat status {};
    if (::fstat(STDIN_FILENO, &status) == 0)
        pollable_ = S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || ::isatty(STDIN_FILENO);
    resume();
}

void InputForwarder::resume() {
    if (!pipe_ || at_end_ || read_watch_ || write_watch_)
        return;
    if (pollable_)
        read_watch_ = loop_.watch(STDIN_FILENO, EventLoop::readable, [this](unsigned) { on_readable(); });
    else // a file is always ready: the task's pace is what counts
        write_watch_ = loop_.watch(pipe_.get(), EventLoop::writable, [this](unsigned) { on_writable(); });
}

void InputForwarder::on_readable() {
    read_some();
    if (!pending_.empty()) {
        read_watch_.reset();
        write_watch_ = loop_.watch(pipe_.get(), EventLoop::writable, [this](unsigned) { on_writable(); });
    }
}

void InputForwarder::read_some() {
    char buffer[16384];
    ssize_t n = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (n > 0) {
        pending_.assign(buffer, static_cast<std::size_t>(n));
    } else if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        return;
    } else if (n < 0 && errno == EIO && ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) {
        read_watch_.reset(); // in the background: resume() comes with SIGCONT
    } else {
        close();
    }
}

void InputForwarder::on_writable() {
    if (pending_.empty() && !pollable_)
        read_some();
    if (!pipe_ || pending_.empty())
        return;
    ssize_t n = ::write(pipe_.get(), pending_.data(), pending_.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n < 0)
        return close(); // the task reads no more
    pending_.erase(0, static_cast<std::size_t>(n));
    if (pending_.empty() && pollable_) {
        write_watch_.reset();
        resume();
    }
}

void InputForwarder::close() {
    at_end_ = true;
    read_watch_.reset();
    write_watch_.reset();
    pipe_.reset();
}

} // namespace pmixhost
