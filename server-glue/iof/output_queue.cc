// See output_queue.h.
#include "server-glue/iof/output_queue.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pmixhost {

// Ends of streams stay, and what other hosts have sent. A quarter of the room is made, so that not each newcomer has
// the queue gone through. Where copies that are not dropped take that room, all that may be given up is; so the next
// search, which begins with the oldest of these, goes through none of the same copies again.
std::vector<wire::OutputPiece> OutputQueue::make_room(std::uint64_t needed) {
    std::size_t next = drop_oldest_ ? 0 : entries_.size();
    for (std::size_t found = 0; !drop_oldest_ && found < to_give_up_ && next > 0;)
        found += entries_[--next].may_be_given_up() ? 1 : 0;
    std::map<Stream, std::uint64_t> gone;
    std::vector<wire::OutputPiece> given_up;
    std::size_t end = next; // of those that stay
    for (; next < entries_.size(); ++next) {
        Entry &entry = entries_[next];
        wire::OutputPiece &piece = entry.piece;
        const bool is_given_up = entry.may_be_given_up();
        if ((is_given_up || (drop_oldest_ && entry.may_go())) && own_ + needed > made_room()) {
            own_ -= cost(piece);
            dropped_ += piece.bytes.size();
            gone[stream_of(piece)] += piece.dropped + piece.bytes.size();
            to_give_up_ -= is_given_up ? 1 : 0;
            Bytes bytes = std::exchange(piece.bytes, {});
            if (entry.is_alone() && entry.had.use_count() <= 1)
                given_up.push_back({piece.rank, piece.channel, 0, 0, std::move(bytes)});
            entry.had.reset();
            if (!piece.end)
                continue;
            piece.dropped = 0;
            own_ += cost(piece);
        }
        if (auto before = gone.find(stream_of(piece)); entry.from == no_host && before != gone.end()) {
            piece.dropped += before->second;
            gone.erase(before);
        }
        if (end != next)
            entries_[end] = std::move(entry);
        ++end;
    }
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(end), entries_.end());
    for (const auto &[stream, bytes] : gone)
        missing_[stream] += bytes;
    return given_up;
}

void OutputQueue::count_to_give_up() {
    to_give_up_ = static_cast<std::size_t>(
        std::count_if(entries_.begin(), entries_.end(), [](const Entry &entry) { return entry.may_be_given_up(); }));
}

std::vector<wire::OutputPiece> OutputQueue::add_own(wire::OutputPiece piece, bool nowhere_else,
                                                    std::shared_ptr<bool> had) {
    std::vector<wire::OutputPiece> given_up;
    if (piece.bytes.empty() && piece.dropped > 0 && !piece.end && !piece.failed && piece.cut == 0) {
        missing_[stream_of(piece)] += piece.dropped; // which takes no room, for it could not be dropped
        return given_up;
    }
    if (own_ + cost(piece) > limit_ && (drop_oldest_ || (nowhere_else && to_give_up_ > 0)))
        given_up = make_room(cost(piece));
    if (own_ + cost(piece) > limit_) {
        Bytes bytes = std::exchange(piece.bytes, {});
        missing_[stream_of(piece)] += std::exchange(piece.dropped, 0) + bytes.size();
        dropped_ += bytes.size();
        if (nowhere_else && !had && !bytes.empty())
            given_up.push_back({piece.rank, piece.channel, 0, 0, std::move(bytes)});
        if (!piece.end && !piece.failed)
            return given_up;
        had.reset();
    }
    auto missing = missing_.find(stream_of(piece));
    if (!entries_.empty() && missing == missing_.end() && !had && piece.dropped == 0 && piece.cut == 0) {
        Entry &last = entries_.back();
        bool was_sent = last.piece.number != 0;
        if (last.takes_room() && !was_sent && !last.had && last.nowhere_else == nowhere_else && !last.piece.end &&
            !last.piece.failed && !piece.failed && stream_of(last.piece) == stream_of(piece) &&
            last.piece.bytes.size() + piece.bytes.size() <= longest_piece) {
            own_ += piece.bytes.size();
            to_give_up_ -= last.may_be_given_up() ? 1 : 0;
            last.piece.bytes += piece.bytes;
            last.piece.end = piece.end;
            to_give_up_ += last.may_be_given_up() ? 1 : 0;
            return given_up;
        }
    }
    if (missing != missing_.end()) {
        piece.dropped += missing->second;
        missing_.erase(missing);
    }
    own_ += cost(piece);
    Entry entry{.from = no_host, .piece = std::move(piece), .nowhere_else = nowhere_else, .had = std::move(had)};
    to_give_up_ += entry.may_be_given_up() ? 1 : 0;
    entries_.push_back(std::move(entry));
    return given_up;
}

// Behind all that waits of those streams. Perhaps nothing more comes of them that could say it.
void OutputQueue::say_what_is_missing() {
    for (const auto &[stream, bytes] : std::exchange(missing_, {})) {
        Entry entry{.from = no_host, .piece = {stream.first, stream.second, 0, bytes, {}}};
        own_ += cost(entry.piece);
        entries_.push_back(std::move(entry));
    }
}

void OutputQueue::add_kept(wire::OutputPiece piece) {
    const Bytes bytes = std::exchange(piece.bytes, {});
    for (std::size_t at = 0; at == 0 || at < bytes.size(); at += longest_piece) {
        Entry entry{.from = no_host, .piece = piece, .is_kept = true};
        entry.piece.bytes = bytes.substr(at, longest_piece);
        entry.piece.end = piece.end && at + longest_piece >= bytes.size();
        entry.piece.cut = piece.cut && at == 0;
        entries_.push_back(std::move(entry));
    }
}

std::vector<wire::OutputPiece> OutputQueue::take_own() {
    std::vector<wire::OutputPiece> out;
    for (auto &entry : std::exchange(entries_, {})) {
        if (entry.from != no_host)
            entries_.push_back(std::move(entry));
        else if (entry.is_alone() && entry.had.use_count() <= 1)
            out.push_back(std::move(entry.piece));
    }
    own_ = 0;
    to_give_up_ = 0;
    return out;
}

OutputQueue::Entry *OutputQueue::find(std::deque<Entry> &entries, const wire::OutputPiece &piece) {
    auto same = std::find_if(entries.begin(), entries.end(), [&](const Entry &entry) {
        return entry.piece.number == piece.number && stream_of(entry.piece) == stream_of(piece);
    });
    return same == entries.end() ? nullptr : &*same;
}

std::uint64_t OutputQueue::bytes_of(Stream stream) const {
    std::uint64_t sum = 0;
    for (const auto &entry : entries_)
        sum += stream_of(entry.piece) == stream ? entry.piece.bytes.size() : 0;
    return sum;
}

bool OutputQueue::any_alone(const std::deque<Entry> &entries, Stream stream) {
    return std::any_of(entries.begin(), entries.end(),
                       [stream](const Entry &entry) { return entry.is_alone() && stream_of(entry.piece) == stream; });
}

void OutputQueue::put_back(std::deque<Entry> entries) {
    for (; !entries.empty(); entries.pop_back()) {
        if (entries.back().takes_room())
            own_ += cost(entries.back().piece);
        entries_.push_front(std::move(entries.back()));
    }
    count_to_give_up();
}

OutputQueue::Taken OutputQueue::take(std::uint32_t most) {
    if (own_ == 0 || entries_.empty())
        say_what_is_missing();
    Taken out;
    while (!entries_.empty() && (out.entries.empty() || out.cost + cost(entries_.front().piece) <= most)) {
        Entry &entry = entries_.front();
        std::uint32_t of_this = cost(entry.piece);
        out.cost += of_this;
        if (entry.takes_room())
            own_ -= of_this;
        to_give_up_ -= entry.may_be_given_up() ? 1 : 0;
        out.entries.push_back(std::move(entry));
        entries_.pop_front();
    }
    return out;
}

} // namespace pmixhost
