// What a stream's process wrote last, and when: up to a bound in bytes, and in the times that are kept of them. Pure.
#pragma once

#include "common/base/bytes.h"
#include "common/loop/event_loop.h"

#include <string_view>
#include <vector>

namespace pmixhost {

class RecentOutput {
  public:
    // So many times are kept; beyond, what is longer ago is known less exactly, to a quarter of how long ago it is.
    static constexpr std::size_t most_moments = 256;
    // What comes within that time has come at once.
    static constexpr Duration moment = std::chrono::milliseconds(10);

    // `most_bytes` are kept (io.kept).
    explicit RecentOutput(std::size_t most_bytes) : most_bytes_(most_bytes) {}
    void add(TimePoint now, std::string_view bytes);
    // The last of it, without what was written before that time; with some of it where times are not known
    // exactly, never without what was written later. Valid until the next add().
    std::string_view last(TimePoint since = TimePoint::min()) const;
    // Is there no more of what was written since then than last() gives: did it begin earlier, perhaps within a line?
    bool is_cut(TimePoint since = TimePoint::min()) const;

  private:
    struct Moment {
        TimePoint first, last;
        std::size_t size; // bytes
    };
    void forget(std::size_t bytes);
    template <typename Together> void join(Together together);
    struct Left {
        std::size_t older = 0, too_many = 0; // bytes that last() leaves out: by their time, and by their number
    };
    Left left_out(TimePoint since) const;

    std::size_t most_bytes_;
    TimePoint forgotten_until_ = TimePoint::min(); // when what is no longer here was written
    Bytes bytes_;
    std::vector<Moment> moments_; // of all bytes, in their order
};

} // namespace pmixhost
