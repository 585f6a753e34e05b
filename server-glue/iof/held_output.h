// Output that is held back until it is much, or has waited long enough (PMIX_IOF_BUFFERING_SIZE and _TIME): so a tool
// is given fewer and larger pieces. It is held at the host of the processes, so that it costs no links, and what nobody
// has been given can still go elsewhere. Pure.
#pragma once

#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/wire/iof_messages.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace pmixhost {

class HeldOutput {
  public:
    struct Rule {
        std::uint32_t bytes = 0; // of a stream, are held until they are so many; 0: nothing is held
        Duration time{};         // or until the first of them has waited so long
        bool operator==(const Rule &) const = default;
    };
    // More than any stream may hold; that what is asked for is not more, the caller sees to.
    static constexpr std::uint32_t most_bytes = 128u << 10;
    static constexpr Duration longest = std::chrono::hours(1);

    // As is asked for; a stream has a bound also where only a time is said, and a time where only a size is.
    static Rule rule_of(std::optional<std::uint32_t> bytes, std::optional<std::chrono::seconds> time);
    // `most`: bytes of all streams together; beyond, all of them are given. One stream holds half of it at most, and
    // nothing for longer than `longest`. What is held stays so.
    void set(Rule rule, std::uint64_t most) {
        rule_ = {static_cast<std::uint32_t>(std::min<std::uint64_t>(rule.bytes, most / 2)),
                 std::min(rule.time, longest)};
        most_ = most;
    }
    // What is to be passed on now, of this stream and of others, in the order of each. Of a stream that ends it is all.
    std::vector<wire::OutputPiece> add(TimePoint now, wire::OutputPiece piece);
    // All that is held.
    std::vector<wire::OutputPiece> release();
    bool empty() const { return streams_.empty(); }
    std::uint64_t bytes_of(Rank rank, std::uint8_t channel) const {
        auto stream = streams_.find({rank, channel});
        return stream == streams_.end() ? 0 : stream->second.bytes.size();
    }
    // When some of it has waited long enough.
    TimePoint next_time() const { return next_; }
    std::vector<wire::OutputPiece> due(TimePoint now);

  private:
    struct Stream {
        TimePoint since;
        Bytes bytes;
    };
    using Streams = std::map<std::pair<Rank, std::uint8_t>, Stream>;
    wire::OutputPiece take(Streams::iterator stream);
    void find_next();

    Rule rule_;
    std::uint64_t most_ = 0, held_ = 0;
    Streams streams_; // that hold something
    TimePoint next_ = TimePoint::max();
};

} // namespace pmixhost
