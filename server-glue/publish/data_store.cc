// See data_store.h.
#include "server-glue/publish/data_store.h"

#include "server-glue/publish/publish_asks.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

// What an entry costs beside its bytes.
static constexpr std::uint64_t entry_overhead = 128;
// Of a key that is waited for: it is kept with who waits and on a shelf of each circle but that of the lists. What
// these shelves take beside the key is about so much, and more where nobody else waits on them.
static constexpr std::uint64_t copies_waited_for = std::size(range_widths), key_overhead = 512;

// `sharing`: entries that have the same list.
static std::uint64_t cost_of(const wire::Datum &datum, const Audience &audience, std::size_t sharing) {
    return datum.key.size() + datum.value.size() + (audience.bytes() + sharing - 1) / sharing + entry_overhead;
}

static std::uint64_t cost_of_waiting(const std::vector<Bytes> &keys, const Audience &wanted_of) {
    std::uint64_t bytes = wanted_of.bytes();
    for (const Bytes &key : keys)
        bytes += copies_waited_for * key.size() + key_overhead;
    return bytes;
}

static std::int32_t check_keys(const std::vector<Bytes> &keys) {
    if (keys.size() > most_keys)
        return PMIX_ERR_OUT_OF_RESOURCE;
    bool good = std::all_of(keys.begin(), keys.end(), [](const Bytes &key) { return key.size() <= PMIX_MAX_KEYLEN; });
    return good ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

bool DataStore::visible(const Entry &entry, const Waiting &waiting) {
    return entry.publisher().uid == waiting.asker().uid &&
           (waiting.gid == wire::any_group || entry.publisher().gid == waiting.gid) &&
           entry.audience.includes(waiting.asker()) && waiting.wanted_of.includes(entry.publisher());
}

// Would somebody see two of the same key in the same range?
bool DataStore::is_taken(const Bytes &key, const Audience &audience) const {
    auto shelf = shelves_.find({key, audience.circle()});
    return shelf != shelves_.end() && std::any_of(shelf->second.begin(), shelf->second.end(), [&](Order order) {
               return entries_.at(order).audience.meets(audience);
           });
}

void DataStore::add_waiters(const Bytes &key, const Audience &audience, std::set<std::uint64_t> &waiters) const {
    Circle circle = audience.circle();
    if (circle.width == RangeWidth::list)
        circle.width = RangeWidth::session;
    if (auto found = waiting_for_.find({key, std::move(circle)}); found != waiting_for_.end())
        waiters.insert(found->second.begin(), found->second.end());
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
    const Audience audience(request.range, publisher, request.custom);
    std::uint64_t wanted = bytes_;
    std::set<Bytes> fresh;
    for (const auto &datum : request.data) {
        if (datum.key.empty() || datum.key.size() > PMIX_MAX_KEYLEN)
            return PMIX_ERR_BAD_PARAM;
        if (!fresh.insert(datum.key).second)
            return PMIX_ERR_DUPLICATE_KEY;
        if (is_taken(datum.key, audience))
            return PMIX_ERR_DUPLICATE_KEY;
        wanted += cost_of(datum, audience, request.data.size());
        if (wanted > limits_.total_bytes)
            return PMIX_ERR_OUT_OF_RESOURCE;
    }
    std::set<std::uint64_t> waiters;
    for (const auto &datum : request.data) {
        Order order = next_order_++;
        entries_.emplace(order, Entry{datum.key, audience, request.persistence, datum.value,
                                      cost_of(datum, audience, request.data.size())});
        shelves_[{datum.key, audience.circle()}].insert(order);
        by_publisher_[{publisher.nspace, publisher.rank}].insert(order);
        by_host_[{publisher.nspace, publisher.host}].insert(order);
        add_waiters(datum.key, audience, waiters);
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
    for (RangeWidth width : range_widths) {
        auto shelf = shelves_.find({key, circle_of(width, waiting.asker())});
        if (shelf == shelves_.end())
            continue;
        auto seen = std::find_if(shelf->second.begin(), shelf->second.end(),
                                 [&](Order order) { return visible(entries_.at(order), waiting); });
        if (seen != shelf->second.end())
            return *seen;
    }
    return std::nullopt;
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
        const Participant &of = entry.publisher();
        out.push_back({of.nspace, of.rank, of.uid, of.gid, entry.key, entry.value});
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
    if (std::int32_t refused = check_keys(request.keys); refused != PMIX_SUCCESS)
        return answer_(id, refused, {});
    std::set<Bytes> distinct(request.keys.begin(), request.keys.end());
    Waiting waiting{
        {request.range, asker, request.custom}, request.gid, {distinct.begin(), distinct.end()}, 0, deadline, 0};
    if (waiting.keys.empty())
        return answer_(id, PMIX_ERR_BAD_PARAM, {});
    waiting.wanted = request.wait <= 0 ? waiting.keys.size() : std::min<std::size_t>(request.wait, waiting.keys.size());
    bool waits = request.wait >= 0;
    if (try_answer(id, waiting, !waits))
        return;
    waiting.cost = cost_of_waiting(waiting.keys, waiting.wanted_of);
    if (waiting_.size() >= limits_.waiting || waiting.cost > limits_.total_bytes - waiting_bytes_)
        return answer_(id, PMIX_ERR_OUT_OF_RESOURCE, {});
    waiting_bytes_ += waiting.cost;
    for (const Bytes &key : waiting.keys) {
        for (RangeWidth width : range_widths) {
            if (width != RangeWidth::list)
                waiting_for_[{key, circle_of(width, asker)}].insert(id);
        }
    }
    waiting_by_[{asker.nspace, asker.rank}].insert(id);
    waiting_on_[{asker.nspace, asker.host}].insert(id);
    if (deadline != TimePoint::max())
        deadlines_.emplace(deadline, id);
    waiting_.emplace(id, std::move(waiting));
}

void DataStore::cancel(std::uint64_t id) {
    auto node = waiting_.extract(id);
    if (!node)
        return;
    const Waiting &waiting = node.mapped();
    waiting_bytes_ -= waiting.cost;
    const Participant &asker = waiting.asker();
    for (const Bytes &key : waiting.keys) {
        for (RangeWidth width : range_widths)
            remove(waiting_for_, Shelf{key, circle_of(width, asker)}, id);
    }
    remove(waiting_by_, ProcessId{asker.nspace, asker.rank}, id);
    remove(waiting_on_, HostId{asker.nspace, asker.host}, id);
    deadlines_.erase({waiting.deadline, id});
}

std::int32_t DataStore::unpublish(const Participant &publisher, const wire::UnpublishRequest &request) {
    if (std::int32_t refused = check_keys(request.keys); refused != PMIX_SUCCESS)
        return refused;
    std::set<Bytes> keys(request.keys.begin(), request.keys.end());
    std::size_t gone = erase_of({publisher.nspace, publisher.rank}, [&](const Entry &entry) {
        return (keys.empty() || keys.contains(entry.key)) &&
               (request.range == PMIX_RANGE_UNDEF || width_of(request.range) == entry.audience.width());
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
    std::set<std::uint32_t> ranks;
    if (auto found = by_host_.find({nspace, host}); found != by_host_.end()) {
        for (Order order : found->second)
            ranks.insert(entries_.at(order).publisher().rank);
    }
    if (auto found = waiting_on_.find({nspace, host}); found != waiting_on_.end()) {
        for (std::uint64_t id : found->second)
            ranks.insert(waiting_.at(id).asker().rank);
    }
    for (std::uint32_t rank : ranks)
        on_process_ended(nspace, rank);
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
    bytes_ -= entry.cost;
    const Participant &of = entry.publisher();
    remove(shelves_, Shelf{entry.key, entry.audience.circle()}, order);
    remove(by_publisher_, ProcessId{of.nspace, of.rank}, order);
    remove(by_host_, HostId{of.nspace, of.host}, order);
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
