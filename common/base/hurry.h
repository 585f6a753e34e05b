// A local socket (AF_UNIX) brings descriptors along (SCM_RIGHTS), also to a program that never asks for one: with a
// message that it reads, or that waits unread when it closes the connection. Whoever gives up the last reference to
// such a descriptor pays for that: where it is a TCP socket with SO_LINGER whose peer does not read, close(2), recv(2)
// and accept(2) with a close behind it take as long as its sender likes, non-blocking or not. A signal ends that wait
// (Linux, sk_stream_wait_close()), and no option does before SO_PASSRIGHTS (Linux 6.16).
//
// So who may not wait reads from strangers, and closes what is theirs, while one of these is there.
#pragma once

#include "common/base/unique_fd.h"

#include <chrono>
#include <ctime>
#include <utility>

namespace pmixhost {

// Sends this thread a signal that does nothing, after `patience` and again and again, for as long as it lives. The
// signal is SIGRTMIN + 3, for which the process has no other use. Where the kernel has no timer to give, there is none.
class Hurry {
  public:
    static constexpr std::chrono::milliseconds patience{20};
    Hurry();
    ~Hurry();
    Hurry(const Hurry &) = delete;

  private:
    timer_t timer_{};
    bool is_set_ = false;
};

// A connection of a stranger, which is closed so.
class StrangerFd {
  public:
    StrangerFd() = default;
    StrangerFd(UniqueFd fd) : fd_(std::move(fd)) {}
    StrangerFd(StrangerFd &&) noexcept = default;
    StrangerFd &operator=(StrangerFd &&other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::move(other.fd_);
        }
        return *this;
    }
    ~StrangerFd() { reset(); }

    int get() const { return fd_.get(); }
    explicit operator bool() const { return static_cast<bool>(fd_); }
    void reset() {
        if (!fd_)
            return;
        Hurry hurry;
        fd_.reset();
    }

  private:
    UniqueFd fd_;
};

} // namespace pmixhost
