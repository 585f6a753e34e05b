// Output that waits to be passed on, in the order in which it came. What processes of this host write may be dropped
// when there is too much of it, because a slow tool must not stop a job; what came from another host is never dropped:
// its window bounds it. What is nowhere else is not dropped either, but given up to whoever has the queue. The oldest
// of it is, whatever the rule, and a newcomer only when none is left, also where copies take the room: so who gets it
// gets it in order, with what comes out when the queue is given up; but for what has been sent and may have been taken,
// which only comes then.
//
// Pure.
#pragma once

#include "common/job/job_map.h"
#include "common/wire/iof_messages.h"

#include <deque>
#include <map>
#include <memory>

namespace pmixhost {

class OutputQueue {
  public:
    using Stream = std::pair<Rank, std::uint8_t>;
    static Stream stream_of(const wire::OutputPiece &piece) { return {piece.rank, piece.channel}; }
    struct Entry {
        HostIndex from = no_host; // the neighbour; no_host: this host
        wire::OutputPiece piece;
        bool nowhere_else = false; // this host's, and it has been given to nobody else
        bool is_kept = false;      // as add_kept() says
        // Where it is nowhere else but in the queues for tools of several hosts, whose entries have this in common:
        // does one of them have it?
        std::shared_ptr<bool> had{};
        // Does it take of the room for this host's output?
        bool takes_room() const { return from == no_host && !is_kept; }
        bool is_alone() const { return nowhere_else && !(had && *had); }
        // Not what has been sent, which may have been taken.
        bool may_go() const { return takes_room() && piece.number == 0 && !piece.bytes.empty(); }
        bool may_be_given_up() const { return may_go() && nowhere_else; }
    };
    // The piece of that stream and number, if it is there.
    static Entry *find(std::deque<Entry> &entries, const wire::OutputPiece &piece);

    // What a piece takes of a window.
    static std::uint32_t cost(const wire::OutputPiece &piece) {
        return static_cast<std::uint32_t>(piece.bytes.size()) + wire::output_overhead;
    }

    // At most `bytes` of this host's output wait, as pieces cost; beyond, the oldest is dropped, or (else) the newest.
    void set_limit(std::uint64_t bytes, bool drop_oldest) {
        limit_ = bytes;
        drop_oldest_ = drop_oldest;
    }
    // Of a process of this host. How many bytes were dropped or given up (and how many a piece said that was dropped or
    // had no bytes), the next piece of the stream says; or one without bytes, when nothing of this host is left that
    // waits. Returns what is given up, in order: what was nowhere else, nor in another queue. Not of a `piece` with
    // `had`, which may still come into one: that is the caller's.
    [[nodiscard]] std::vector<wire::OutputPiece> add_own(wire::OutputPiece piece, bool nowhere_else,
                                                         std::shared_ptr<bool> had = {});
    // What a process of this host wrote before it was asked for, in pieces. It has its own bound (io.kept), and nobody
    // has been too slow for it: it takes no room and is not dropped.
    void add_kept(wire::OutputPiece piece);
    // From a neighbour.
    void add(HostIndex from, wire::OutputPiece piece) { entries_.push_back({from, std::move(piece)}); }

    // What had been taken and is to be taken again, before all else.
    void put_back(std::deque<Entry> entries);
    Entry *find(const wire::OutputPiece &piece) { return find(entries_, piece); }

    // Nothing is to be taken, nor is it to be said what is missing.
    bool empty() const { return entries_.empty() && missing_.empty(); }
    // Bytes of that stream.
    std::uint64_t bytes_of(Stream stream) const;
    // Is something of that stream here, and nowhere else?
    static bool any_alone(const std::deque<Entry> &entries, Stream stream);
    bool any_alone(Stream stream) const { return any_alone(entries_, stream); }
    // Takes what is of this host out of it. Returns what of that is nowhere else, nor in another queue.
    std::vector<wire::OutputPiece> take_own();
    // Of the streams that `of` says: what is nowhere else is so no longer, and stays. Adds to `out` what is in no other
    // queue either, for whom it will be with from now on.
    template <typename Of>
    static void share(std::deque<Entry> &entries, const Of &of, std::vector<wire::OutputPiece> &out) {
        for (auto &entry : entries) {
            if (!entry.nowhere_else || !of(stream_of(entry.piece)))
                continue;
            if (entry.is_alone() && entry.had.use_count() <= 1)
                out.push_back(entry.piece);
            entry.nowhere_else = false;
            entry.had.reset();
        }
    }
    template <typename Of> void share(const Of &of, std::vector<wire::OutputPiece> &out) {
        share(entries_, of, out);
        count_to_give_up();
    }
    // What this host's pieces cost that wait, but for those of add_kept().
    std::uint64_t own() const { return own_; }
    struct Taken {
        std::vector<Entry> entries;
        std::uint32_t cost = 0;
    };
    // The first pieces, of `most` in cost together; the first one even if it alone costs more. None where it has none.
    Taken take(std::uint32_t most);
    // Bytes that have been dropped or given up, in all.
    std::uint64_t dropped() const { return dropped_; }

  private:
    std::uint64_t made_room() const { return limit_ - limit_ / 4; }
    std::vector<wire::OutputPiece> make_room(std::uint64_t needed);
    void count_to_give_up();
    void say_what_is_missing();

    std::deque<Entry> entries_;
    static constexpr std::size_t longest_piece = 32u << 10; // that small ones are put together to
    std::map<Stream, std::uint64_t> missing_;               // dropped behind all that waits
    std::uint64_t limit_ = 0, own_ = 0, dropped_ = 0;
    std::size_t to_give_up_ = 0; // entries that may be: where there are none no room is looked for
    bool drop_oldest_ = false;
};

} // namespace pmixhost
