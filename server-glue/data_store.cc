// See data_store.h.
#include "server-glue/data_store.h"

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
    case PMIX_RANGE_PROC_LOCAL: return same_process(center, who);
    case PMIX_RANGE_LOCAL: return center.host == who.host;
    case PMIX_RANGE_NAMESPACE: return center.nspace == who.nspace;
    case PMIX_RANGE_CUSTOM: return same_process(center, who) || names(custom, who);
    default: return true;
    }
}

static int width(std::uint8_t range) {
    switch (range) {
    case PMIX_RANGE_PROC_LOCAL: return 0;
    case PMIX_RANGE_CUSTOM: return 1;
    case PMIX_RANGE_LOCAL: return 2;
    case PMIX_RANGE_NAMESPACE: return 3;
    default: return 4;
    }
}

bool DataStore::visible(const Entry &entry, const Participant &asker) {
    return within(entry.range, entry.publisher, asker, entry.custom);
}

bool DataStore::looked_at(const Entry &entry, std::uint8_t range, const Participant &asker,
                          const std::vector<wire::ProcessName> &custom) {
    return within(range, asker, entry.publisher, custom);
}

// Of the same key: would somebody see both in the same range?
bool DataStore::collide(const Entry &one, const Entry &other) {
    if (width(one.range) != width(other.range))
        return false;
    switch (one.range) {
    case PMIX_RANGE_PROC_LOCAL: return same_process(one.publisher, other.publisher);
    case PMIX_RANGE_LOCAL: return one.publisher.host == other.publisher.host;
    case PMIX_RANGE_NAMESPACE: return one.publisher.nspace == other.publisher.nspace;
    case PMIX_RANGE_CUSTOM:
        return same_process(one.publisher, other.publisher) ||
               std::any_of(one.custom.begin(), one.custom.end(), [&](const auto &mine) {
                   return std::any_of(other.custom.begin(), other.custom.end(), [&](const auto &its) {
                       return mine.nspace == its.nspace &&
                              (mine.rank == its.rank || mine.rank == PMIX_RANK_WILDCARD ||
                               its.rank == PMIX_RANK_WILDCARD);
                   });
               });
    default: return true;
    }
}

std::int32_t DataStore::publish(const Participant &publisher, const wire::PublishRequest &request) {
    std::uint64_t wanted = bytes_;
    std::set<Bytes> fresh;
    for (const auto &datum : request.data) {
        if (datum.key.empty() || datum.key.size() > PMIX_MAX_KEYLEN)
            return PMIX_ERR_BAD_PARAM;
        if (!fresh.insert(datum.key).second)
            return PMIX_ERR_DUPLICATE_KEY;
        Entry entry{0, publisher, request.range, request.persistence, request.custom, {}};
        auto [at, end] = entries_.equal_range(datum.key);
        if (std::any_of(at, end, [&](const auto &known) { return collide(known.second, entry); }))
            return PMIX_ERR_DUPLICATE_KEY;
        wanted += cost(datum.key, datum.value);
        if (wanted > limits_.total_bytes)
            return PMIX_ERR_OUT_OF_RESOURCE;
    }
    for (const auto &datum : request.data)
        entries_.emplace(datum.key, Entry{next_order_++, publisher, request.range, request.persistence,
                                          request.custom, datum.value});
    bytes_ = wanted;
    // Whoever waited longest is served first, for it may take the data away.
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        auto now = at++;
        if (std::any_of(now->second.keys.begin(), now->second.keys.end(),
                        [&](const Bytes &key) { return fresh.contains(key); }) &&
            try_answer(now->first, now->second, false))
            waiting_.erase(now);
    }
    return PMIX_SUCCESS;
}

DataStore::Entries::iterator DataStore::best(const Bytes &key, const Waiting &waiting) {
    auto [at, end] = entries_.equal_range(key);
    auto found = entries_.end();
    for (; at != end; ++at) {
        if (!visible(at->second, waiting.asker) ||
            !looked_at(at->second, waiting.range, waiting.asker, waiting.custom))
            continue;
        if (found == entries_.end() || width(at->second.range) < width(found->second.range))
            found = at;
    }
    return found;
}

// Answers when there is enough, or when there will be no other chance.
bool DataStore::try_answer(std::uint64_t id, Waiting &waiting, bool last_chance) {
    std::vector<Entries::iterator> found;
    for (const Bytes &key : waiting.keys) {
        if (auto at = best(key, waiting); at != entries_.end())
            found.push_back(at);
    }
    if (found.size() < waiting.wanted && !last_chance)
        return false;
    std::vector<wire::Found> out;
    bool partial = found.size() < waiting.keys.size() && found.size() < waiting.wanted;
    for (auto at : found) {
        out.push_back({at->second.publisher.nspace, at->second.publisher.rank, at->first, at->second.value});
        // A client of libpmix 4.2.2 does not get to see what comes with a partial success.
        if (at->second.persistence == PMIX_PERSIST_FIRST_READ && !partial)
            erase(at);
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
    Waiting waiting{asker, request.range, request.custom, {distinct.begin(), distinct.end()}, 0, deadline};
    if (waiting.keys.empty())
        return answer_(id, PMIX_ERR_BAD_PARAM, {});
    waiting.wanted = request.wait <= 0 ? waiting.keys.size()
                                       : std::min<std::size_t>(request.wait, waiting.keys.size());
    bool waits = request.wait >= 0;
    if (try_answer(id, waiting, !waits))
        return;
    if (waiting_.size() >= limits_.waiting)
        return answer_(id, PMIX_ERR_OUT_OF_RESOURCE, {});
    waiting_.emplace(id, std::move(waiting));
}

std::int32_t DataStore::unpublish(const Participant &publisher, const wire::UnpublishRequest &request) {
    std::set<Bytes> keys(request.keys.begin(), request.keys.end());
    std::size_t gone = erase_if([&](const Bytes &key, const Entry &entry) {
        return same_process(entry.publisher, publisher) && (keys.empty() || keys.contains(key)) &&
               (request.range == PMIX_RANGE_UNDEF || width(request.range) == width(entry.range));
    });
    return gone == 0 && !keys.empty() ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS;
}

void DataStore::on_process_ended(const Bytes &nspace, std::uint32_t rank) {
    erase_if([&](const Bytes &, const Entry &entry) {
        return entry.persistence == PMIX_PERSIST_PROC && entry.publisher.nspace == nspace &&
               entry.publisher.rank == rank;
    });
    std::erase_if(waiting_, [&](const auto &entry) {
        return entry.second.asker.nspace == nspace && entry.second.asker.rank == rank;
    });
}

void DataStore::on_nspace_ended(const Bytes &nspace) {
    erase_if([&](const Bytes &, const Entry &entry) {
        return (entry.persistence == PMIX_PERSIST_PROC || entry.persistence == PMIX_PERSIST_APP) &&
               entry.publisher.nspace == nspace;
    });
    std::erase_if(waiting_, [&](const auto &entry) { return entry.second.asker.nspace == nspace; });
}

TimePoint DataStore::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[id, waiting] : waiting_)
        next = std::min(next, waiting.deadline);
    return next;
}

void DataStore::on_time(TimePoint now) {
    for (auto at = waiting_.begin(); at != waiting_.end();) {
        auto due = at++;
        if (due->second.deadline > now)
            continue;
        std::uint64_t id = due->first;
        waiting_.erase(due);
        answer_(id, PMIX_ERR_TIMEOUT, {});
    }
}

void DataStore::erase(Entries::iterator at) {
    bytes_ -= cost(at->first, at->second.value);
    entries_.erase(at);
}

template <typename Condition> std::size_t DataStore::erase_if(Condition condition) {
    std::size_t count = 0;
    for (auto at = entries_.begin(); at != entries_.end();) {
        auto now = at++;
        if (condition(now->first, now->second)) {
            erase(now);
            ++count;
        }
    }
    return count;
}

} // namespace pmixhost
