// See copied_streams.h.
#include "server-glue/iof/copied_streams.h"

#include "common/wire/iof_messages.h"

#include <algorithm>

namespace pmixhost {

static constexpr std::uint8_t both_channels[] = {wire::stdout_channel, wire::stderr_channel};

void CopiedStreams::take(TimePoint now, Rank rank, std::uint8_t channel, std::string_view bytes, bool end) {
    Stream &stream = this->stream(rank, channel);
    if (stream.ended) {
        lost_ += bytes.size();
        return;
    }
    last_ = last_of_[rank] = now;
    stream.seen = true;
    stream.ended = end;
    stream.kept.add(now, bytes);
    on_output_(rank, channel, bytes, end);
}

std::optional<CopiedStreams::Kept> CopiedStreams::kept(Rank rank, std::uint8_t channel, TimePoint since) const {
    auto found = streams_.find({rank, channel});
    if (found == streams_.end())
        return std::nullopt;
    const Stream &stream = found->second;
    return Kept{stream.kept.last(since), stream.ended, stream.kept.is_cut(since)};
}

template <typename Body> void CopiedStreams::each_open(Body body) {
    for (Rank rank : ranks_) {
        for (std::uint8_t channel : both_channels) {
            auto found = streams_.find({rank, channel});
            if (found == streams_.end() || !found->second.ended)
                body(rank, channel);
        }
    }
}

bool CopiedStreams::all_ended() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [this](Rank rank) {
        return std::all_of(std::begin(both_channels), std::end(both_channels), [&](std::uint8_t channel) {
            auto found = streams_.find({rank, channel});
            return found != streams_.end() && found->second.ended;
        });
    });
}

std::vector<std::pair<Rank, std::uint8_t>> CopiedStreams::cut_off() const {
    std::vector<std::pair<Rank, std::uint8_t>> out;
    for (Rank rank : over_ ? ranks_ : std::span<const Rank>()) {
        for (std::uint8_t channel : both_channels) {
            auto found = streams_.find({rank, channel});
            if (found == streams_.end() || !found->second.ended)
                out.emplace_back(rank, channel);
        }
    }
    return out;
}

void CopiedStreams::end_stream(Rank rank, std::uint8_t channel) {
    stream(rank, channel).ended = true;
    on_output_(rank, channel, {}, true);
}

bool CopiedStreams::end(TimePoint now) {
    over_ = true;
    on_time(now);
    return all_ended();
}

TimePoint CopiedStreams::ends_at(Rank rank, std::uint8_t channel) const {
    auto gone = gone_.find(rank);
    if (gone == gone_.end())
        return TimePoint::max();
    if (over_)
        return gone->second;
    auto stream = streams_.find({rank, channel});
    bool seen = stream != streams_.end() && stream->second.seen;
    if (!begun_ || (seen && gone->second >= *begun_))
        return TimePoint::max();
    auto last = last_of_.find(rank);
    TimePoint since = std::max(gone->second, *begun_);
    return (last == last_of_.end() ? since : std::max(since, last->second)) + quiet;
}

TimePoint CopiedStreams::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[rank, since] : gone_) {
        for (std::uint8_t channel : both_channels) {
            auto stream = streams_.find({rank, channel});
            if (stream == streams_.end() || !stream->second.ended)
                next = std::min(next, ends_at(rank, channel));
        }
    }
    return next;
}

void CopiedStreams::on_time(TimePoint now) {
    each_open([&](Rank rank, std::uint8_t channel) {
        if (ends_at(rank, channel) <= now)
            end_stream(rank, channel);
    });
}

} // namespace pmixhost
