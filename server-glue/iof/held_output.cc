// See held_output.h.
#include "server-glue/iof/held_output.h"

#include <algorithm>

namespace pmixhost {

HeldOutput::Rule HeldOutput::rule_of(std::optional<std::uint32_t> bytes, std::optional<std::chrono::seconds> time) {
    constexpr std::chrono::seconds by_itself(5);
    if (!bytes && !time)
        return {};
    Rule rule{std::min(bytes.value_or(most_bytes), most_bytes), std::min<Duration>(time.value_or(by_itself), longest)};
    return rule.time == Duration{} ? Rule{} : rule;
}

wire::OutputPiece HeldOutput::take(Streams::iterator stream) {
    wire::OutputPiece piece{stream->first.first, stream->first.second, 0, 0, std::move(stream->second.bytes)};
    held_ -= piece.bytes.size();
    streams_.erase(stream);
    return piece;
}

void HeldOutput::find_next() {
    next_ = TimePoint::max();
    for (const auto &[name, stream] : streams_)
        next_ = std::min(next_, stream.since + rule_.time);
}

std::vector<wire::OutputPiece> HeldOutput::add(TimePoint now, wire::OutputPiece piece) {
    auto stream = streams_.find({piece.rank, piece.channel});
    if (stream == streams_.end() && (piece.end || piece.bytes.size() >= rule_.bytes))
        return {std::move(piece)};
    if (stream == streams_.end())
        stream = streams_.try_emplace({piece.rank, piece.channel}, Stream{now, {}}).first;
    stream->second.bytes += piece.bytes;
    held_ += piece.bytes.size();
    std::vector<wire::OutputPiece> out;
    if (piece.end || stream->second.bytes.size() >= rule_.bytes) {
        out.push_back(take(stream));
        out.back().end = piece.end;
    } else if (held_ > most_) {
        return release();
    }
    find_next();
    return out;
}

std::vector<wire::OutputPiece> HeldOutput::release() {
    std::vector<wire::OutputPiece> out;
    while (!streams_.empty())
        out.push_back(take(streams_.begin()));
    next_ = TimePoint::max();
    return out;
}

std::vector<wire::OutputPiece> HeldOutput::due(TimePoint now) {
    std::vector<wire::OutputPiece> out;
    if (now < next_)
        return out;
    for (auto stream = streams_.begin(); stream != streams_.end();) {
        auto each = stream++;
        if (each->second.since + rule_.time <= now)
            out.push_back(take(each));
    }
    find_next();
    return out;
}

} // namespace pmixhost
