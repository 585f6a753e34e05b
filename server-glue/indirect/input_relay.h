// The standard input of the launcher whose debugger pushes to it: a pipe, into which goes what the launcher had as
// input itself, and what the debugger pushes. It ends when the debugger says so, or, where nothing is pushed, with a
// file or a pipe that was the input. All in the loop's thread; nothing waits.
#pragma once

#include "common/base/bytes.h"
#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"

#include <deque>

namespace pmixhost::indirect {

class InputRelay {
  public:
    static constexpr std::size_t most_kept = 4u << 20;

    // `from`: what was its input, -1 for none; stays the caller's. `to`: empty: the launcher
    // reads its own.
    InputRelay(EventLoop &loop, int from, UniqueFd to);
    enum class Taken { yes, full, closed };
    // `last`: nothing comes after it.
    Taken push(Bytes bytes, bool last);
    // Who pushes is gone: the input ends with what it was.
    void no_more_pushes();

  private:
    void watch();
    void read_some();
    void write_some();
    void close();

    EventLoop &loop_;
    int from_;
    UniqueFd to_;
    std::deque<Bytes> kept_;
    std::size_t kept_bytes_ = 0, written_of_first_ = 0;
    bool last_ = false, can_wait_ = false, is_file_ = false, pushed_ = false, alone_ = false;
    EventLoop::Handle reads_, writes_;
};

} // namespace pmixhost::indirect
