// What a stream's process wrote last, and when: up to a bound in bytes, and in the times that are kept of them. Pure.
#pragma once

#include "common/base/bytes.h"
#include "common/loop/event_loop.h"

#include <string_view>
#include <vector>

namespace pmixhost {

class RecentOutput {
  public:
    static constexpr std::size_t most_bytes = 16u << 10;
    // So many times are kept; beyond, what is longer ago is known less exactly, to a quarter of how long ago it is.
    static constexpr std::size_t most_moments = 256;
    // What comes within that time has come at once.
    static constexpr Duration moment = std::chrono::milliseconds(10);

    void add(TimePoint now, std::string_view bytes);
    // The last `most_bytes`, without what was written before that time; with some of it where times are not known
    // exactly, never without what was written later. Valid until the next add().
    std::string_view last(TimePoint since = TimePoint::min()) const;

  private:
    struct Moment {
        TimePoint first, last;
        std::size_t size; // bytes
    };
    void forget(std::size_t bytes);
    template <typename Together> void join(Together together);

    Bytes bytes_;
    std::vector<Moment> moments_; // of all bytes, in their order
};

} // namespace pmixhost
