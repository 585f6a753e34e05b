// The streams of this host's tasks in a copy that the RM gives (rm_output_copy.h): what was written last, and which
// have ended. Pure: bytes and the time in, bytes and ends out.
//
// The RM tells the end of a stream that it sees, to a reader that is there by then. For the others, nothing but the
// end of the process says that no more will come: streams of processes that had ended before the copy began, and
// streams of which nothing has come (files, /dev/null). They are taken to have ended when their process has, and
// nothing of it has come for `quiet`.
#pragma once

#include "common/base/bytes.h"
#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "server-glue/iof/recent_output.h"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace pmixhost {

class CopiedStreams {
  public:
    static constexpr Duration quiet = std::chrono::seconds(1);
    using OnOutput = std::function<void(Rank, std::uint8_t channel, std::string_view bytes, bool end)>;

    // `kept`: bytes of each stream.
    CopiedStreams(std::span<const Rank> ranks, std::size_t kept, OnOutput on_output)
        : ranks_(ranks), most_kept_(kept), on_output_(std::move(on_output)) {}

    // The copy begins: what comes first was written before.
    void begin(TimePoint now) { begun_ = now; }
    void take(TimePoint now, Rank rank, std::uint8_t channel, std::string_view bytes, bool end);
    void process_gone(TimePoint now, Rank rank) { gone_.try_emplace(rank, now); }
    // The copy is over; never begun: there is none. False: processes still run, so more would have come. What is theirs
    // ends when they do.
    bool end(TimePoint now);

    struct Kept {
        std::string_view bytes;
        bool end = false, cut = false;
    };
    // Nothing: nothing has come. See RecentOutput::last() and is_cut(); what was written before the copy began came
    // when it did.
    std::optional<Kept> kept(Rank rank, std::uint8_t channel, TimePoint since = TimePoint::min()) const;
    // Would some of what was written before that time be taken to be later?
    bool may_be_older(TimePoint since) const { return !begun_ || since < *begun_ + quiet; }
    bool all_ended() const;
    // Of which more would have come, had the copy not ended.
    std::vector<std::pair<Rank, std::uint8_t>> cut_off() const;
    // Has any of it come lately, with more to come?
    bool comes(TimePoint now) const { return !all_ended() && last_ && now < *last_ + quiet; }
    // Bytes that came after their stream was taken to have ended.
    std::uint64_t lost() const { return lost_; }

    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    struct Stream {
        explicit Stream(std::size_t most) : kept(most) {}
        RecentOutput kept;
        bool seen = false, ended = false;
    };
    // When this stream is taken to have ended; max: not as long as the copy goes on.
    TimePoint ends_at(Rank rank, std::uint8_t channel) const;
    void end_stream(Rank rank, std::uint8_t channel);
    template <typename Body> void each_open(Body body);

    Stream &stream(Rank rank, std::uint8_t channel) {
        return streams_.try_emplace({rank, channel}, most_kept_).first->second;
    }

    const std::span<const Rank> ranks_;
    const std::size_t most_kept_;
    OnOutput on_output_;
    std::optional<TimePoint> begun_, last_;
    bool over_ = false;
    std::map<std::pair<Rank, std::uint8_t>, Stream> streams_;
    std::map<Rank, TimePoint> gone_, last_of_; // a process' end; when something of it came last
    std::uint64_t lost_ = 0;
};

} // namespace pmixhost
