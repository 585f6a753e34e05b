// The tasks' output on its way to the user: from a pipe per task and stream, line by line, to our standard output and
// standard error. Nothing here blocks: when the user's side takes no more, the reading stops, and so, through the
// pipe, does the task.
#pragma once

#include "common/base/unique_fd.h"
#include "common/loop/event_loop.h"

#include <functional>
#include <string>
#include <string_view>

namespace pmixhost {

// Our fd 1 or 2.
class OutputSink {
  public:
    // `on_room` is called when the queue, after having been full, is nearly empty again;
    // `on_broken`, with errno, when nobody reads any more (EPIPE) or it cannot be written. From then on everything is
    // thrown away.
    using OnBroken = std::function<void(int why)>;
    OutputSink(EventLoop &loop, int fd, std::function<void()> on_room, OnBroken on_broken);
    OutputSink(const OutputSink &) = delete;

    void write(std::string_view bytes);
    bool full() const { return queue_.size() > high_water; }
    // It has been full, and `on_room` is still to come.
    bool waits_for_room() const { return was_full_; }
    // Calls back from the loop, once, when all is written or thrown away.
    void when_empty(std::function<void()> callback);

  private:
    static constexpr std::size_t high_water = 1u << 20;
    static constexpr std::size_t low_water = 64u << 10;
    void flush();

    EventLoop &loop_;
    int fd_;
    std::function<void()> on_room_, when_empty_;
    OnBroken on_broken_;
    bool pollable_ = false; // a file never makes us wait; a pipe or terminal may
    bool was_full_ = false, broken_ = false;
    std::string queue_;
    EventLoop::Handle watch_;
};

// One stream of one task.
class OutputStream {
  public:
    struct Style {
        std::string label; // before each line; may be empty
        bool unbuffered = false;
    };
    OutputStream(EventLoop &loop, UniqueFd pipe, OutputSink &sink, Style style);
    OutputStream(const OutputStream &) = delete;

    // The sink has room again.
    void resume();
    // Takes what is there without waiting for more, and ends. For a pipe that a process which is not of the job holds
    // open.
    void drain();
    // Ends at once; the task gets SIGPIPE should it write again.
    void close();

  private:
    static constexpr std::size_t max_line = 64u << 10;
    // False at the end of the stream, or when there is nothing now.
    bool read_some();
    void take(std::string_view bytes);
    void emit(std::string_view line, bool complete);
    void finish();

    EventLoop &loop_;
    UniqueFd pipe_;
    OutputSink &sink_;
    Style style_;
    std::string line_;     // not complete yet
    bool in_line_ = false; // something of the current line has been written already
    EventLoop::Handle watch_;
};

} // namespace pmixhost
