// Writes lines in a thread of its own, so that the caller never waits for the reader: a pipe whose reader has
// stopped, a terminal under Ctrl-S, a file on a server that is gone (no descriptor tells beforehand that a write will
// block).
//
// The thread starts with the first line. At most max_bytes wait to be written; lines beyond that are left out, and a
// line in their place says how many.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace pmixhost {

class LineWriter {
  public:
    static constexpr std::size_t max_bytes = 1 << 20; // that wait
    static constexpr std::chrono::seconds patience{2};

    // `fd` is duplicated, because a thread that is stuck may outlive the caller's descriptor. `lost` makes the line
    // that says how many were left out; the thread may call it, so it must own all that it uses.
    LineWriter(int fd, std::function<std::string(std::uint64_t)> lost);
    // Does what flush() does, and leaves to the thread what is not written then.
    ~LineWriter();
    LineWriter(const LineWriter &) = delete;

    // Any thread; a line has its newline. When no thread can be started, the line waits for the next line, or for
    // flush().
    void write(std::string line);
    // Any thread. What is written from now on goes there; who reads the other end waits for this one no longer.
    void go_to(int fd);
    // Any thread. Waits until all is written, at most for `limit`.
    void flush(std::chrono::milliseconds limit = patience);

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

} // namespace pmixhost
