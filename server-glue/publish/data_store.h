// The published data of an allocation: what PMIx_Publish, PMIx_Lookup and PMIx_Unpublish mean (PMIx
// standard, chapter "Publish/Lookup Operations"). Pure: requests and time in, answers out.
//
// A key may be published once in each place where it can be seen: twice in a namespace's range by different
// namespaces is no conflict, twice in the session's is. A lookup sees what its own user has published for it, the
// narrowest range first. The range that the lookup names restricts whose data it looks at, and so does the group.
//
// What a call costs depends on the keys and on what the process in question has published, not on how
// much there is, nor on how many have published or wait for a key that cannot be seen from there. Only
// what has a list of names (PMIX_RANGE_CUSTOM) is looked at one after the other, where the key is the same.
#pragma once

#include "common/loop/event_loop.h"
#include "common/wire/names.h"
#include "common/wire/publish_messages.h"
#include "server-glue/publish/audience.h"

#include <map>
#include <optional>
#include <set>

namespace pmixhost {

class DataStore {
  public:
    // Answers a lookup exactly once, from within any of the calls below.
    using Answer = std::function<void(std::uint64_t id, std::int32_t status, std::vector<wire::Found> found)>;
    struct Limits {
        // Keys, values and lists of names, of all; as much again for those who wait.
        std::uint64_t total_bytes;
        std::size_t waiting = 100'000;
    };
    DataStore(Limits limits, Answer answer) : limits_(limits), answer_(std::move(answer)) {}

    // Publishes all of it or nothing. PMIx status: PMIX_ERR_DUPLICATE_KEY, PMIX_ERR_OUT_OF_RESOURCE,
    // PMIX_ERR_BAD_PARAM.
    std::int32_t publish(const Participant &publisher, const wire::PublishRequest &request);
    // The answer may come from within. `deadline`: of a lookup that waits; TimePoint::max() for none.
    void lookup(std::uint64_t id, const Participant &asker, const wire::LookupRequest &request, TimePoint deadline);
    // Takes back only what the same process has published; PMIX_ERR_NOT_FOUND when that is nothing. More than
    // most_keys (publish_asks.h), and a key that is longer than any, are refused here and in a lookup.
    std::int32_t unpublish(const Participant &publisher, const wire::UnpublishRequest &request);
    // Forgets a lookup that waits; it is not answered.
    void cancel(std::uint64_t id);

    void on_process_ended(const Bytes &nspace, std::uint32_t rank);
    void on_processes_ended(const Bytes &nspace, const std::vector<wire::RankRange> &ranks);
    // All processes of that namespace on that host have ended, or can be heard of no more.
    void on_host_ended(const Bytes &nspace, const Bytes &host);
    void on_nspace_ended(const Bytes &nspace);
    TimePoint next_time() const;
    void on_time(TimePoint now);

    std::uint64_t bytes() const { return bytes_; }
    bool waits(std::uint64_t lookup) const { return waiting_.contains(lookup); }
    std::size_t waiting() const { return waiting_.size(); }

  private:
    using Order = std::uint64_t; // in which things were published
    struct Entry {
        Bytes key;
        Audience audience; // around the publisher
        std::uint8_t persistence;
        Bytes value;
        std::uint64_t cost; // its share of bytes_
        const Participant &publisher() const { return audience.center(); }
    };
    struct Waiting {
        Audience wanted_of;      // around the asker: whose data it looks at
        std::uint32_t gid;       // of the owner; wire::any_group
        std::vector<Bytes> keys; // distinct
        std::size_t wanted;      // keys, before it is answered
        TimePoint deadline;
        std::uint64_t cost; // its share of waiting_bytes_
        const Participant &asker() const { return wanted_of.center(); }
    };
    using ProcessId = std::pair<Bytes, std::uint32_t>;
    using HostId = std::pair<Bytes, Bytes>; // of a namespace
    // What is published under a key for those in a circle, and who waits in it for that key.
    struct Shelf {
        Bytes key;
        Circle circle;
        auto operator<=>(const Shelf &) const = default;
    };
    template <typename Key, typename Value> using Index = std::map<Key, std::set<Value>>;

    static bool visible(const Entry &entry, const Waiting &waiting);
    bool is_taken(const Bytes &key, const Audience &audience) const;
    // Who waits for that key and could see it.
    void add_waiters(const Bytes &key, const Audience &audience, std::set<std::uint64_t> &waiters) const;
    std::optional<Order> best(const Bytes &key, const Waiting &waiting) const;
    bool try_answer(std::uint64_t id, const Waiting &waiting, bool last_chance);
    void erase(Order order);
    // Erases from what the process has published.
    template <typename Condition> std::size_t erase_of(const ProcessId &process, Condition condition);
    // Its processes that have published or wait.
    std::set<ProcessId> processes_of(const Bytes &nspace, wire::RankRange range = {0, UINT32_MAX}) const;

    Limits limits_;
    Answer answer_;
    std::map<Order, Entry> entries_;
    Index<Shelf, Order> shelves_;
    Index<ProcessId, Order> by_publisher_;
    Index<HostId, Order> by_host_;
    std::uint64_t bytes_ = 0;
    Order next_order_ = 0;
    std::uint64_t waiting_bytes_ = 0;          // of those who wait: their keys and lists
    std::map<std::uint64_t, Waiting> waiting_; // by id: the oldest is answered first
    Index<Shelf, std::uint64_t>
        waiting_for_; // in all circles but that of the lists, whose every reader is in the widest
    Index<ProcessId, std::uint64_t> waiting_by_;
    Index<HostId, std::uint64_t> waiting_on_;
    std::set<std::pair<TimePoint, std::uint64_t>> deadlines_;
};

} // namespace pmixhost
