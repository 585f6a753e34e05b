// The way down of a large result, in pieces from child to child (collective.h).
#include "server-glue/collective/collective.h"

#include <algorithm>

namespace pmixhost {

Collectives::Instance *Collectives::waiting_for_result(Record *record, std::uint64_t sequence) {
    if (record) {
        auto found = record->instances.find(sequence);
        if (found != record->instances.end() && found->second.up_sent && record->partner == no_host)
            return &found->second;
    }
    ++dropped_; // complete without us: a lie; or a piece that came twice, and with it all
    return nullptr;
}

void Collectives::on_complete(HostIndex from, const wire::CollectiveComplete &message) {
    Record *record = record_for(message.signature, nullptr);
    Instance *instance = waiting_for_result(record, message.sequence);
    if (instance &&
        (from != record->parent || !begin_pieces(*record, message.sequence, *instance, message.count, message.total)))
        ++dropped_;
}

void Collectives::on_piece(HostIndex from, const wire::CollectivePiece &message, SharedBytes payload) {
    Record *record = record_for(message.signature, nullptr);
    Instance *instance = waiting_for_result(record, message.sequence);
    if (!instance)
        return;
    bool from_above = from == record->parent || record->elders.contains(from);
    if (!from_above || !begin_pieces(*record, message.sequence, *instance, message.count, message.total) ||
        !instance->pieces->add(message, payload)) {
        ++dropped_;
        return;
    }
    auto next = std::find_if(record->siblings.begin(), record->siblings.end(),
                             [this](HostIndex sibling) { return !hosts_.host_gone(sibling); });
    if (next != record->siblings.end())
        hosts_.send(*next, wire::CollectivePiece::type, payload);
    if (auto handed = record->handed_down.find(message.sequence); handed != record->handed_down.end()) {
        for (HostIndex child : handed->second.fed)
            hosts_.send(child, wire::CollectivePiece::type, payload);
    }
    if (instance->pieces->whole())
        complete_with_pieces(*record, message.sequence);
}

void Collectives::complete_with_pieces(Record &record, std::uint64_t sequence) {
    auto node = record.instances.extract(sequence);
    if (record.instances.empty())
        busy_.erase(record.order);
    hosts_.send(record.parent, wire::CollectiveTaken::type,
                share(wire::encode(wire::CollectiveTaken{record.key, sequence})));
    auto down = node.mapped().pieces->take_result();
    if (!down || down->signature != record.key || down->sequence != sequence || down->status != PMIX_SUCCESS)
        return node.mapped().reply(PMIX_ERROR, nullptr); // what a daemon of ours never sends
    node.mapped().reply(PMIX_SUCCESS,
                        std::make_shared<const std::vector<wire::Contribution>>(std::move(down->contributions)));
}

void Collectives::on_taken(HostIndex from, const wire::CollectiveTaken &message) {
    Record *record = record_for(message.signature, nullptr);
    if (!record || !record->handed_down.contains(message.sequence)) {
        ++dropped_;
        return;
    }
    taken_by(*record, message.sequence, from);
}

// What comes goes on from now on. False: there is no such result.
bool Collectives::begin_pieces(Record &record, std::uint64_t sequence, Instance &instance, std::uint32_t count,
                               std::uint32_t total) {
    if (instance.pieces)
        return true;
    auto expected = ResultPieces::expect(count, total);
    if (!expected)
        return false;
    instance.pieces = std::make_shared<ResultPieces>(std::move(*expected));
    instance.probe_at = TimePoint::max();
    hand_down(record, sequence, instance.pieces);
    return true;
}

void Collectives::hand_down(Record &record, std::uint64_t sequence, std::shared_ptr<ResultPieces> pieces) {
    HandedDown handed;
    handed.pieces = std::move(pieces);
    auto complete = share(
        wire::encode(wire::CollectiveComplete{record.key, sequence, handed.pieces->count(), handed.pieces->total()}));
    for (HostIndex child : record.children) {
        if (hosts_.send(child, wire::CollectiveComplete::type, complete))
            handed.awaited.insert(child);
    }
    if (handed.awaited.empty())
        return;
    // The first one, and whoever has nobody before it who would hand on to it.
    bool is_fed = true;
    for (HostIndex child : record.children) {
        bool is_awaited = handed.awaited.contains(child);
        if (is_awaited && is_fed)
            feed(handed, child);
        is_fed = !is_awaited || record.children.size() < least_chain;
    }
    record.handed_down.emplace(sequence, std::move(handed));
    handing_down_.emplace(record.order, &record);
}

void Collectives::feed(HandedDown &handed, HostIndex child) {
    handed.fed.insert(child);
    for (const auto &piece : handed.pieces->all()) {
        if (piece)
            hosts_.send(child, wire::CollectivePiece::type, piece);
    }
}

// A child hands nothing on any more; what it had handed on may have been lost with it.
void Collectives::skip(Record &record, std::uint64_t sequence, HostIndex child) {
    HandedDown &handed = record.handed_down.at(sequence);
    auto place = std::find(record.children.begin(), record.children.end(), child);
    if (place == record.children.end())
        return;
    handed.fed.erase(child);
    auto next = std::find_if(place + 1, record.children.end(),
                             [&](HostIndex sibling) { return handed.awaited.contains(sibling); });
    if (next != record.children.end() && !handed.fed.contains(*next))
        feed(handed, *next);
    taken_by(record, sequence, child);
}

void Collectives::taken_by(Record &record, std::uint64_t sequence, HostIndex child) {
    auto handed = record.handed_down.find(sequence);
    handed->second.awaited.erase(child);
    if (!handed->second.awaited.empty())
        return;
    record.handed_down.erase(handed);
    if (record.handed_down.empty())
        handing_down_.erase(record.order);
}

} // namespace pmixhost
