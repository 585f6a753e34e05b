// The log: one line per event, to stderr or another descriptor.
// Thread-safe: a line is written with one write(2), at once or, after do_not_wait(), by a thread.
#pragma once

#include "common/base/line_writer.h"
#include "common/base/result.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

namespace pmixhost {

enum class LogLevel { error, warning, info, debug };

class Log {
  public:
    // `fd` stays the caller's and must outlive the log. `prefix` begins each line ("pmixhostd[12.0
    // n1]").
    Log(int fd, LogLevel level, std::string prefix) : fd_(fd), level_(level), prefix_(std::move(prefix)) {}
    // Waits until all lines are written, unless that takes longer than LineWriter::patience.
    ~Log();
    Log(const Log &) = delete;

    // From now on whoever logs does not wait for the reader of the log. Call it before a second thread logs, and in a
    // process that will not fork itself again (the child has no thread that writes).
    void do_not_wait();
    // For use before an _exit(): does what the destructor does.
    void flush() const;

    // Once what there was is written, or LineWriter::patience is over, lines go to `fd` where they went to standard
    // error or the like, and not to a file of the site's.
    void go_to(int fd);

    // It is a file of the site's (log.file), and no terminal of a user's. Before a second thread logs.
    void note_file() { is_file_ = true; }
    bool is_file() const { return is_file_; }

    bool enabled(LogLevel level) const { return level <= level_.load(std::memory_order_relaxed); }
    void set_level(LogLevel level) { level_.store(level, std::memory_order_relaxed); }
    void write(LogLevel level, std::string_view text) const;

    template <typename... Args> void error(fmt::format_string<Args...> format, Args &&...args) const {
        log(LogLevel::error, format, std::forward<Args>(args)...);
    }
    template <typename... Args> void warning(fmt::format_string<Args...> format, Args &&...args) const {
        log(LogLevel::warning, format, std::forward<Args>(args)...);
    }
    template <typename... Args> void info(fmt::format_string<Args...> format, Args &&...args) const {
        log(LogLevel::info, format, std::forward<Args>(args)...);
    }
    template <typename... Args> void debug(fmt::format_string<Args...> format, Args &&...args) const {
        log(LogLevel::debug, format, std::forward<Args>(args)...);
    }

  private:
    template <typename... Args> void log(LogLevel level, fmt::format_string<Args...> format, Args &&...args) const {
        if (enabled(level))
            write(level, fmt::format(format, std::forward<Args>(args)...));
    }
    static std::string line(LogLevel level, const std::string &prefix, std::string_view text);
    int fd_;
    std::atomic<LogLevel> level_;
    std::string prefix_;
    bool is_file_ = false;
    std::unique_ptr<LineWriter> writer_; // after do_not_wait()
};

// Accepts "error", "warning", "info" and "debug"; fails (invalid) on anything else.
Result<LogLevel> parse_log_level(std::string_view text);

} // namespace pmixhost
