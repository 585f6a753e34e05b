// A thread of another process, stopped by ptrace(2) until this is dropped. It is seized (PTRACE_SEIZE), which sends
// no SIGSTOP: should the tracer be killed in between, the thread just goes on. The conditions are those of
// backtrace.h.
#pragma once

#include "common/base/result.h"

#include <chrono>
#include <sys/types.h>

namespace pmixhost {

class StoppedThread {
  public:
    // Fails when the thread did not stop within `patience`: one in an uninterruptible wait does not.
    static Result<StoppedThread> stop(pid_t thread, std::chrono::milliseconds patience);
    StoppedThread(StoppedThread &&other) noexcept;
    StoppedThread &operator=(StoppedThread &&) = delete;
    ~StoppedThread();

  private:
    StoppedThread(pid_t thread, int signal) : thread_(thread), signal_(signal) {}
    pid_t thread_;
    int signal_; // that it was just about to get, and gets when it goes on
};

} // namespace pmixhost
