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

void Collectives::on_complete(TimePoint now, HostIndex from, const wire::CollectiveComplete &message) {
    Record *record = record_for(message.signature, nullptr);
    Instance *instance = waiting_for_result(record, message.sequence);
    if (!instance)
        return;
    if (from != record->parent) {
        ++dropped_;
        return;
    }
    // The parent's word counts, whatever a sibling has said before.
    if (auto &pieces = instance->pieces;
        pieces && (pieces->count() != message.count || pieces->total() != message.total)) {
        pieces = nullptr;
        forget_handed_down(*record, message.sequence);
    }
    if (!begin_pieces(now, *record, message.sequence, *instance, message.count, message.total))
        ++dropped_;
}

HostIndex Collectives::next_sibling(const Record &record) {
    auto next = std::find_if(record.siblings.begin(), record.siblings.end(),
                             [this](HostIndex sibling) { return !hosts_.host_gone(sibling); });
    return next == record.siblings.end() ? no_host : *next;
}

void Collectives::on_piece(TimePoint now, HostIndex from, const wire::CollectivePiece &message, SharedBytes payload) {
    Record *record = record_for(message.signature, nullptr);
    Instance *instance = waiting_for_result(record, message.sequence);
    if (!instance)
        return;
    bool from_above = from == record->parent || std::binary_search(record->elders.begin(), record->elders.end(), from);
    if (!from_above || !begin_pieces(now, *record, message.sequence, *instance, message.count, message.total) ||
        !instance->pieces->add(message, payload)) {
        ++dropped_;
        return;
    }
    instance->probe_at = now + piece_patience;
    if (hosts_.host_gone(record->parent))
        instance->pieces_by = now + verdict_patience;
    if (HostIndex next = next_sibling(*record); next != no_host)
        hosts_.send(next, wire::CollectivePiece::type, payload);
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
                share(wire::encode(wire::CollectiveTaken{*record.key, sequence})));
    auto down = node.mapped().pieces->take_result();
    node.mapped().pieces = nullptr; // no more memory than need be, while the library copies it
    if (!down || down->signature != *record.key || down->sequence != sequence || down->status != PMIX_SUCCESS)
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
bool Collectives::begin_pieces(TimePoint now, Record &record, std::uint64_t sequence, Instance &instance,
                               std::uint32_t count, std::uint32_t total) {
    if (instance.pieces)
        return true;
    auto expected = ResultPieces::expect(count, total);
    if (!expected)
        return false;
    instance.pieces = std::make_shared<ResultPieces>(std::move(*expected));
    if (HostIndex next = next_sibling(record); next != no_host)
        hosts_.prepare(next); // all at the same time, and not each when the one before it has its first piece
    instance.probe_at = now + piece_patience;
    hand_down(record, sequence, instance.pieces);
    return true;
}

void Collectives::hand_down(Record &record, std::uint64_t sequence, std::shared_ptr<ResultPieces> pieces) {
    HandedDown handed;
    handed.pieces = std::move(pieces);
    auto complete = share(
        wire::encode(wire::CollectiveComplete{*record.key, sequence, handed.pieces->count(), handed.pieces->total()}));
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

// A child has waited for long: nobody hands anything on to it. Others behind it may have waited as long, for what it
// will hand on to them. While this host waits itself, nothing is wrong with its children.
void Collectives::feed_who_waits(TimePoint now, Record &record, std::uint64_t sequence) {
    HandedDown &handed = record.handed_down.at(sequence);
    if (!handed.pieces->whole() || now < handed.heeds_probes_at)
        return;
    auto first = std::find_if(record.children.begin(), record.children.end(), [&](HostIndex child) {
        return handed.awaited.contains(child) && !handed.fed.contains(child);
    });
    if (first == record.children.end())
        return;
    handed.heeds_probes_at = now + piece_patience;
    feed(handed, *first);
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
    forget_handed_down(record, sequence);
}

void Collectives::forget_handed_down(Record &record, std::uint64_t sequence) {
    if (record.handed_down.erase(sequence) != 0 && record.handed_down.empty())
        handing_down_.erase(record.order);
}

} // namespace pmixhost
