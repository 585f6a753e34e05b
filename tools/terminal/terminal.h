// What a person at a terminal gets more than a pipe does: colours, and a line that says what is waited for.
#pragma once

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <poll.h>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace pmixhost {

// Whether `stream` is a terminal that takes control sequences. NO_COLOR in the environment: without colours.
inline bool is_terminal(std::FILE *stream) {
    const char *kind = std::getenv("TERM");
    return ::isatty(::fileno(stream)) == 1 && kind && std::string_view(kind) != "dumb";
}

// Also where the terminal is one that somebody has made non-blocking, and through signals until `stop` says so. False:
// nobody reads it, or it is to stop; errno says why.
inline bool write_whole(int to, std::string_view bytes, bool (*stop)() = nullptr) {
    constexpr int look_ms = 200; // a signal may come before the wait
    while (!bytes.empty()) {
        pollfd room{to, POLLOUT, 0};
        if (stop && ::poll(&room, 1, look_ms) <= 0) {
            if (stop()) {
                errno = EINTR;
                return false;
            }
            continue;
        }
        // A pipe that polls as writable takes so much at once; for more, write(2) may wait.
        ssize_t written =
            ::write(to, bytes.data(), stop ? std::min<std::size_t>(bytes.size(), PIPE_BUF) : bytes.size());
        if (written < 0 && errno == EAGAIN)
            ::poll(&room, 1, look_ms);
        else if (written < 0 && errno != EINTR)
            return false;
        bytes.remove_prefix(written < 0 ? 0 : static_cast<std::size_t>(written));
    }
    return true;
}

struct Colours {
    std::string_view red, yellow, green, bold, off; // empty where there are none
    explicit Colours(std::FILE *stream) {
        const char *none = std::getenv("NO_COLOR");
        if ((none && *none) || !is_terminal(stream))
            return;
        red = "\x1b[31m", yellow = "\x1b[33m", green = "\x1b[32m", bold = "\x1b[1m", off = "\x1b[0m";
    }
};

// Says on standard error, where that is a terminal, what is waited for, once it has taken longer than a second; gone
// when this is dropped. It has a thread of its own. Nothing else may write there meanwhile. `text` has no control
// characters.
class ProgressLine {
  public:
    explicit ProgressLine(std::string text) {
        if (!is_terminal(stderr))
            return;
        try {
            thread_ = std::thread([this, text = std::move(text)] { show(text); });
        } catch (const std::system_error &) { // then without
        }
    }
    ~ProgressLine() {
        if (!thread_.joinable())
            return;
        {
            std::lock_guard lock(mutex_);
            over_ = true;
        }
        changed_.notify_one();
        thread_.join();
    }
    ProgressLine(const ProgressLine &) = delete;
    ProgressLine &operator=(const ProgressLine &) = delete;

  private:
    void show(const std::string &text) {
        std::unique_lock lock(mutex_);
        bool shown = false;
        for (int seconds = 1; !changed_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; }); ++seconds) {
            std::fprintf(stderr, "\r%s ... %d s", text.c_str(), seconds);
            shown = true;
        }
        if (shown)
            std::fputs("\r\x1b[K", stderr);
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_;
};

} // namespace pmixhost
