// See data_store.h.
#include "server-glue/publish/data_store.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

// What an entry costs beside its bytes.
static constexpr std::uint64_t entry_overhead = 128;

static std::uint64_t cost(const Bytes &key, const Bytes &value) {
    return key.size() + value.size() + entry_overhead;
}

static bool names(const std::vector<wire::ProcessName> &list, const Participant &who) {
    return std::any_of(list.begin(), list.end(), [&](const auto &name) {
        return name.nspace == who.nspace && (name.rank == who.rank || name.rank == PMIX_RANK_WILDCARD);
    });
}
static bool same_process(const Participant &one, const Participant &other) {
    return one.nspace == other.nspace && one.rank == other.rank;
}

// Is `who` within `range` of `center`? What lies beyond this allocation is as wide as it.
static bool within(std::uint8_t range, const Participant &center, const Participant &who,
                   const std::vector<wire::ProcessName> &custom) {
    switch (range) {
    case PMIX_RANGE_PROC_LOCAL:
        return same_process(center, who);
    case PMIX_RANGE_LOCAL:
        return center.host == who.host;
    case PMIX_RANGE_NAMESPACE:
        return center.nspace == who.nspace;
    case PMIX_RANGE_CUSTOM:
        return same_process(center, who) || names(custom, who);
    default:
        return true;
    }
}

static int width(std::uint8_t range) {
    switch (range) {
    case PMIX_RANGE_PROC_LOCAL:
        return 0;
    case PMIX_RANGE_CUSTOM:
        return 1;
    case PMIX_RANGE_LOCAL:
        return 2;
    case PMIX_RANGE_NAMESPACE:
        return 3;
    default:
        return 4;
    }
}

bool DataStore::visible(const Entry &entry, const Waiting &waiting) {
    return entry.publisher.uid == waiting.asker.uid &&
           (waiting.gid == wire::any_group || entry.publisher.gid == waiting.gid) &&
           within(entry.range, entry.publisher, waiting.asker, entry.custom) &&
           within(waiting.range, waiting.asker, entry.publisher, waiting.custom);
}

// Two entries of the same key: would somebody see both in the same range?
bool DataStore::collide(const Entry &one, const Entry &other) {
    if (width(one.range) != width(other.range))
        return false;
    switch (one.range) {
    case PMIX_RANGE_PROC_LOCAL:
        return same_process(one.publisher, other.publisher);
    case PMIX_RANGE_LOCAL:
        return one.publisher.host == other.publisher.host;
    case PMIX_RANGE_NAMESPACE:
        return one.publisher.nspace == other.publisher.nspace;
    case PMIX_RANGE_CUSTOM:
        return same_process(one.publisher, other.publisher) ||
               std::any_of(one.custom.begin(), one.custom.end(), [&](const auto &mine) {
                   return std::any_of(other.custom.begin(), other.custom.end(), [&](const auto &its) {
                       return mine.nspace == its.nspace && (mine.rank == its.rank || mine.rank == PMIX_RANK_WILDCARD ||
                                                            its.rank == PMIX_RANK_WILDCARD);
                   });
               });
    default:
        return true;
    }
}

// Takes a value out of an index, with the place itself when that is then empty.
template <typename Map, typename Key, typename Value>
static void remove(Map &index, const Key &key, const Value &value) {
    auto found = index.find(key);
    if (found == index.end())
        return;
    found->second.erase(value);
    if (found->second.empty())
        index.erase(found);
}

std::int32_t DataStore::publish(const Participant &publisher, const wire::PublishRequest &request) {
    std::uint64_t wanted = bytes_;
    std::set<Bytes> fresh;
    for (const auto &datum : request.data) {
        if (datum.key.empty() || datum.key.size() > PMIX_MAX_KEYLEN)
            return PMIX_ERR_BAD_PARAM;
        if (!fresh.insert(datum.key).second)
            return PMIX_ERR_DUPLICATE_KEY;
        Entry entry{datum.key, publisher, request.range, request.persistence, request.custom, {}};
        auto known = by_key_.find(datum.key);
        if (known != by_key_.end() && std::any_of(known->second.begin(), known->second.end(),
                                                  [&](Order order) { return collide(entries_.at(order), entry); }))
            return PMIX_ERR_DUPLICATE_KEY;
        wanted += cost(datum.key, datum.value);
        if (wanted > limits_.total_bytes)
            return PMIX_ERR_OUT_OF_RESOURCE;
    }
    std::set<std::uint64_t> waiters;
    for (const auto &datum : request.data) {
        Order order = next_order_++;
        entries_.emplace(order,
                         Entry{datum.key, publisher, request.range, request.persistence, request.custom, datum.value});
        by_key_[datum.key].insert(order);
        by_publisher_[{publisher.nspace, publisher.rank}].insert(order);
        if (auto found = waiting_for_.find(datum.key); found != waiting_for_.end())
            waiters.insert(found->second.begin(), found->second.end());
    }
    bytes_ = wanted;
    // Whoever waited longest is served first, for it may take the data away.
    for (std::uint64_t id : waiters) {
        if (try_answer(id, waiting_.at(id), false))
            cancel(id);
    }
    return PMIX_SUCCESS;
}

std::optional<DataStore::Order> DataStore::best(const Bytes &key, const Waiting &waiting) const {
    std::optional<Order> found;
    auto known = by_key_.find(key);
    if (known == by_key_.end())
        return found;
    int narrowest = 0;
    for (Order order : known->second) {
        const Entry &entry = entries_.at(order);
        if (!visible(entry, waiting) || (found && width(entry.range) >= narrowest))
            continue;
        found = order;
        narrowest = width(entry.range);
    }
    return found;
}

// Answers when there is enough, or when there will be no other chance.
bool DataStore::try_answer(std::uint64_t id, const Waiting &waiting, bool last_chance) {
    std::vector<Order> found;
    for (const Bytes &key : waiting.keys) {
        if (auto order = best(key, waiting))
            found.push_back(*order);
    }
    if (found.size() < waiting.wanted && !last_chance)
        return false;
    std::vector<wire::Found> out;
    bool partial = found.size() < waiting.wanted;
    for (Order order : found) {
        const Entry &entry = entries_.at(order);
        out.push_back({entry.publisher.nspace, entry.publisher.rank, entry.publisher.uid, entry.publisher.gid,
                       entry.key, entry.value});
        // A client of libpmix 4.2.2 does not get to see what comes with a partial success.
        if (entry.persistence == PMIX_PERSIST_FIRST_READ && !partial)
            erase(order);
    }
    std::int32_t status = PMIX_SUCCESS;
    if (out.empty())
        status = PMIX_ERR_NOT_FOUND;
    else if (partial)
        status = PMIX_ERR_PARTIAL_SUCCESS;
    answer_(id, status, std::move(out));
    return true;
}

void DataStore::lookup(std::uint64_t id, const Participant &asker, const wire::LookupRequest &request,
                       TimePoint deadline) {
    std::set<Bytes> distinct(request.keys.begin(), request.keys.end());
    Waiting waiting{asker, request.range, request.custom, request.gid, {distinct.begin(), distinct.end()}, 0, deadline};
    if (waiting.keys.empty())
        return answer_(id, PMIX_ERR_BAD_PARAM, {});
    waiting.wanted = request.wait <= 0 ? waiting.keys.size() : std::min<std::size_t>(request.wait, waiting.keys.size());
    bool waits = request.wait >= 0;
    if (try_answer(id, waiting, !waits))
        return;
    if (waiting_.size() >= limits_.waiting)
        return answer_(id, PMIX_ERR_OUT_OF_RESOURCE, {});
    for (const Bytes &key : waiting.keys)
        waiting_for_[key].insert(id);
    waiting_by_[{asker.nspace, asker.rank}].insert(id);
    if (deadline != TimePoint::max())
        deadlines_.emplace(deadline, id);
    waiting_.emplace(id, std::move(waiting));
}

void DataStore::cancel(std::uint64_t id) {
    auto node = waiting_.extract(id);
    if (!node)
        return;
    const Waiting &waiting = node.mapped();
    for (const Bytes &key : waiting.keys)
        remove(waiting_for_, key, id);
    remove(waiting_by_, ProcessId{waiting.asker.nspace, waiting.asker.rank}, id);
    deadlines_.erase({waiting.deadline, id});
}

std::int32_t DataStore::unpublish(const Participant &publisher, const wire::UnpublishRequest &request) {
    std::set<Bytes> keys(request.keys.begin(), request.keys.end());
    std::size_t gone = erase_of({publisher.nspace, publisher.rank}, [&](const Entry &entry) {
        return (keys.empty() || keys.contains(entry.key)) &&
               (request.range == PMIX_RANGE_UNDEF || width(request.range) == width(entry.range));
    });
    return gone == 0 && !keys.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

void DataStore::on_process_ended(const Bytes &nspace, std::uint32_t rank) {
    erase_of({nspace, rank}, [](const Entry &entry) { return entry.persistence == PMIX_PERSIST_PROC; });
    if (auto found = waiting_by_.find({nspace, rank}); found != waiting_by_.end()) {
        for (std::uint64_t id : std::set(found->second))
            cancel(id);
    }
}

void DataStore::on_processes_ended(const Bytes &nspace, const std::vector<wire::RankRange> &ranks) {
    for (const auto &range : ranks) {
        for (const ProcessId &process : processes_of(nspace, range))
            on_process_ended(nspace, process.second);
    }
}

std::set<DataStore::ProcessId> DataStore::processes_of(const Bytes &nspace, wire::RankRange range) const {
    std::set<ProcessId> processes;
    auto collect = [&](const auto &index) {
        for (auto at = index.lower_bound({nspace, range.first});
             at != index.end() && at->first.first == nspace && at->first.second <= range.last; ++at)
            processes.insert(at->first);
    };
    collect(by_publisher_);
    collect(waiting_by_);
    return processes;
}

void DataStore::on_host_ended(const Bytes &nspace, const Bytes &host) {
    for (const ProcessId &process : processes_of(nspace)) {
        auto published = by_publisher_.find(process);
        bool there = published != by_publisher_.end()
                         ? entries_.at(*published->second.begin()).publisher.host == host
                         : waiting_.at(*waiting_by_.at(process).begin()).asker.host == host;
        if (there)
            on_process_ended(process.first, process.second);
    }
}

void DataStore::on_nspace_ended(const Bytes &nspace) {
    for (const ProcessId &process : processes_of(nspace)) {
        on_process_ended(process.first, process.second);
        erase_of(process, [](const Entry &entry) { return entry.persistence == PMIX_PERSIST_APP; });
    }
}

TimePoint DataStore::next_time() const {
    return deadlines_.empty() ? TimePoint::max() : deadlines_.begin()->first;
}

void DataStore::on_time(TimePoint now) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        std::uint64_t id = deadlines_.begin()->second;
        cancel(id);
        answer_(id, PMIX_ERR_TIMEOUT, {});
    }
}

void DataStore::erase(Order order) {
    auto node = entries_.extract(order);
    const Entry &entry = node.mapped();
    bytes_ -= cost(entry.key, entry.value);
    remove(by_key_, entry.key, order);
    remove(by_publisher_, ProcessId{entry.publisher.nspace, entry.publisher.rank}, order);
}

template <typename Condition> std::size_t DataStore::erase_of(const ProcessId &process, Condition condition) {
    auto found = by_publisher_.find(process);
    if (found == by_publisher_.end())
        return 0;
    std::vector<Order> chosen;
    std::copy_if(found->second.begin(), found->second.end(), std::back_inserter(chosen),
                 [&](Order order) { return condition(entries_.at(order)); });
    for (Order order : chosen)
        erase(order);
    return chosen.size();
}

} // namespace pmixhost
