// Writes lines in a thread of its own, so that whoever has one to write never waits for whoever reads
// them: a pipe whose reader has stopped, a terminal under Ctrl-S, a file on a server that is gone (no
// descriptor tells beforehand that this will block).
//
// The thread starts with the first line. Only so much waits to be written; what is too much is left out,
// and a line at its place says how many were.
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

    // `fd` is duplicated: a thread that is stuck may outlive the caller's. `lost` makes the line about so
    // many that were left out; it owns all that it uses.
    LineWriter(int fd, std::function<std::string(std::uint64_t)> lost);
    // Like flush(); what is not written then is left to the thread.
    ~LineWriter();
    LineWriter(const LineWriter &) = delete;

    // Any thread; a line has its newline. When no thread can be started it waits for the next line, or
    // for flush().
    void write(std::string line);
    // Any thread. Waits until all is written, at most for so long.
    void flush(std::chrono::milliseconds limit = patience);

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

} // namespace pmixhost
