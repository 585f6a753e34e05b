// Limits how often one kind of line is written to the log, because lines that strangers can cause as often as they
// like must not fill a disk. One of these for each kind of line.
//
//     if (auto missed = refused_.admit(loop_.now()))
//         log_.warning("refused uid {}{}", uid, not_logged(*missed));
//
// Pure: the caller has the clock. Not for several threads at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

namespace pmixhost {

class RateLimit {
  public:
    using Time = std::chrono::steady_clock;

    // At most `lines` in each `interval`. An interval begins with the first line after the end of the one before.
    explicit RateLimit(std::size_t lines = 5, Time::duration interval = std::chrono::minutes(1))
        : lines_(lines), interval_(interval) {}

    // Returns a value if a line may be written now: how many were left out since the last one that was written.
    std::optional<std::size_t> admit(Time::time_point now) {
        if (!begun_ || now - *begun_ >= interval_) {
            begun_ = now;
            written_ = 0;
        }
        if (written_ >= lines_) {
            ++missed_;
            return std::nullopt;
        }
        ++written_;
        return std::exchange(missed_, 0);
    }

  private:
    std::size_t lines_;
    Time::duration interval_;
    std::optional<Time::time_point> begun_;
    std::size_t written_ = 0, missed_ = 0;
};

// The end of a line that was admitted; empty when none was missed.
inline std::string not_logged(std::size_t missed) {
    return missed == 0 ? std::string() : " (" + std::to_string(missed) + " more were not logged)";
}

} // namespace pmixhost
