// Our standard input on its way to the one task that gets it. Nothing here blocks, except the read
// of a regular file.
#pragma once

#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"

#include <string>

namespace pmixhost {

class InputForwarder {
  public:
    // Forwards from our fd 0 into `pipe`, until the end of either.
    InputForwarder(EventLoop &loop, UniqueFd pipe);
    InputForwarder(const InputForwarder &) = delete;

    // We are in the foreground of the terminal again and may read from it.
    void resume();
    void close();

  private:
    void on_readable();
    void on_writable();
    void read_some();

    EventLoop &loop_;
    UniqueFd pipe_;
    bool pollable_ = false;
    bool at_end_ = false;
    std::string pending_; // read, but not written yet
    EventLoop::Handle read_watch_, write_watch_;
};

} // namespace pmixhost
