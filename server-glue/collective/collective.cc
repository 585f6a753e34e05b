// See collective.h.
#include "server-glue/collective/collective.h"

#include "common/wire/frame.h"

#include <algorithm>
#include <pmix_common.h>
#include <utility>

namespace pmixhost {

// A peer that counts on ahead of us by more than this is not one we can have a collective with.
static constexpr std::uint64_t max_ahead = 1024;

// Of as many as a tree has at a host, at most.
static bool has(const std::vector<HostIndex> &hosts, HostIndex host) {
    return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
}

Collectives::Record *Collectives::record_for(const Bytes &key, const Signature *known) {
    auto found = records_.find(key);
    if (found != records_.end())
        return &found->second;
    auto record = is_full() ? std::nullopt : make_record(key, known);
    if (!record)
        return nullptr;
    bytes_ += bytes_of(*record);
    auto at = records_.emplace(key, std::move(*record)).first;
    at->second.key = &at->first;
    return &at->second;
}

std::size_t Collectives::bytes_of(const Record &record) {
    std::size_t bytes = sizeof(Record) + record.key->size() + record.signature.group.size() + record.hosts.bytes();
    for (const Members &members : record.signature.members)
        bytes += sizeof(Members) + members.ranks.bytes();
    for (const auto *list : {&record.children, &record.leaves, &record.siblings, &record.elders})
        bytes += list->capacity() * sizeof(HostIndex);
    return bytes;
}

std::optional<Collectives::Record> Collectives::make_record(const Bytes &key, const Signature *known) {
    Signature signature;
    if (known) {
        signature = *known;
    } else {
        auto decoded = read_signature(key);
        if (!decoded)
            return std::nullopt;
        signature = std::move(*decoded);
    }
    auto hosts = port_.hosts_of(signature);
    if (!hosts)
        return std::nullopt;
    auto position = std::lower_bound(hosts->begin(), hosts->end(), self_);
    if (position == hosts->end() || *position != self_)
        return std::nullopt;
    auto self = static_cast<HostIndex>(position - hosts->begin());
    Tree tree(static_cast<HostIndex>(hosts->size()), radix_);

    Record record;
    record.order = records_.size();
    record.signature = std::move(signature);
    record.key = &key;
    const bool in_pairs = hosts->size() == 2 && record.signature.kind == CollectiveKind::fence &&
                          record.signature.tolerant == 0 && !port_.spans_jobs(record.signature);
    if (in_pairs) {
        record.partner = (*hosts)[1 - self];
        record.children = {record.partner};
    } else {
        if (self != 0) {
            record.parent = (*hosts)[tree.parent(self)];
            HostIndex first = tree.first_child(tree.parent(self)), count = tree.child_count(tree.parent(self));
            for (HostIndex i = first; count >= least_chain && i < first + count; ++i) {
                if (i < self)
                    record.elders.push_back((*hosts)[i]);
                else if (i > self)
                    record.siblings.push_back((*hosts)[i]);
            }
        }
        for (std::uint32_t i = 0; i < tree.child_count(self); ++i) {
            HostIndex child = tree.first_child(self) + i;
            record.children.push_back((*hosts)[child]);
            if (tree.child_count(child) == 0)
                record.leaves.push_back((*hosts)[child]);
        }
    }
    record.hosts = wire::RankSet(*hosts);
    return record;
}

// Of a signature for which there is no room: whoever waits for this host's part hears that there is none, since this
// host may be the only one whose table is full. Nothing has to be remembered for that. True: it was one.
bool Collectives::refuse_for_want_of_room(HostIndex from, const Bytes &key, std::uint64_t sequence, bool has_part) {
    if (!is_full() || records_.contains(key))
        return false;
    auto record = make_record(key, nullptr);
    if (!record)
        return false;
    const auto &children = record->children;
    bool is_child = has(children, from);
    if (record->partner == from || (!has_part && record->parent == from)) {
        send_up(from, *record, sequence, PMIX_ERR_OUT_OF_RESOURCE);
    } else if (has_part && is_child) {
        wire::CollectiveDown down;
        down.signature = key;
        down.sequence = sequence;
        down.status = PMIX_ERR_OUT_OF_RESOURCE;
        hosts_.send(from, wire::CollectiveDown::type, share(wire::encode(down)));
        if (record->parent == no_host && port_.spans_jobs(record->signature))
            port_.leave_cross_job(key, sequence, PMIX_ERR_OUT_OF_RESOURCE);
    }
    ++dropped_;
    return true;
}

bool Collectives::finished(const Record &record, std::uint64_t sequence) const {
    if (record.failed_early.contains(sequence))
        return true;
    return sequence < record.next_sequence && !record.instances.contains(sequence);
}

Collectives::Instance &Collectives::instance_for(TimePoint now, Record &record, std::uint64_t sequence) {
    auto [at, fresh] = record.instances.try_emplace(sequence);
    if (fresh) {
        busy_.emplace(record.order, &record);
        if (!record.children.empty())
            at->second.probe_at = now + probe_after;
    }
    return at->second;
}

void Collectives::enter(TimePoint now, const Signature &signature, Bytes data, std::int32_t local_status,
                        TimePoint deadline, CollectiveReply reply) {
    Record *record = record_for(wire::encode(signature), &signature);
    if (!record)
        return reply(is_full() ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_NOT_FOUND, nullptr);
    std::uint64_t sequence = record->next_sequence++;
    if (auto early = record->failed_early.extract(sequence))
        return reply(early.mapped(), nullptr);

    Instance &instance = instance_for(now, *record, sequence);
    instance.entered = true;
    instance.reply = std::move(reply);
    instance.deadline = deadline;
    contribute(instance, std::move(data));
    if (local_status != PMIX_SUCCESS)
        return fail(now, *record, sequence, local_status);
    advance_without_the_lost(now, *record, sequence);
}

bool Collectives::cut_off(const Record &record) {
    return (record.parent != no_host && hosts_.host_gone(record.parent)) ||
           std::any_of(record.children.begin(), record.children.end(),
                       [&](HostIndex child) { return hosts_.host_gone(child) && !dispensable(record, child); });
}

// This host has just entered; some of the others may have gone before.
void Collectives::advance_without_the_lost(TimePoint now, Record &record, std::uint64_t sequence) {
    if (cut_off(record))
        return fail(now, record, sequence, PMIX_ERR_LOST_CONNECTION);
    for (HostIndex child : record.children) {
        if (hosts_.host_gone(child))
            record.instances.at(sequence).arrived.insert(child);
    }
    advance(now, record, sequence);
}

void Collectives::contribute(Instance &instance, Bytes data) {
    if (!data.empty())
        instance.contributions.push_back({self_, std::move(data)});
}

void Collectives::drop_all() {
    std::vector<std::map<std::uint64_t, Instance>> dropped; // answered when nothing here points to them
    for (auto [order, record] : std::exchange(busy_, {}))
        dropped.push_back(std::exchange(record->instances, {}));
}

// What does not fit into one message cannot be sent on to anyone.
bool Collectives::fits(const Record &record, const std::vector<wire::Contribution> &contributions) {
    std::size_t total = record.key->size() + 64;
    for (const auto &contribution : contributions)
        total += contribution.data.size() + 8;
    return total <= wire::frame_limit;
}

void Collectives::advance(TimePoint now, Record &record, std::uint64_t sequence) {
    if (record.partner != no_host)
        return advance_with_partner(now, record, sequence);
    Instance &instance = record.instances.at(sequence);
    if (!instance.entered || instance.up_sent || instance.arrived.size() < record.children.size())
        return;
    if (!fits(record, instance.contributions))
        return fail(now, record, sequence, PMIX_ERR_OUT_OF_RESOURCE);
    if (record.parent == no_host) {
        if (!port_.spans_jobs(record.signature))
            return finish(record, sequence, PMIX_SUCCESS, std::move(instance.contributions));
        if (!std::exchange(instance.cross_job, true))
            port_.join_cross_job(*record.key, sequence, instance.contributions);
        return;
    }
    instance.up_sent = true;
    send_up(record.parent, record, sequence, PMIX_SUCCESS, std::exchange(instance.contributions, {}));
}

void Collectives::send_up(HostIndex to, const Record &record, std::uint64_t sequence, std::int32_t status,
                          std::vector<wire::Contribution> contributions) {
    wire::CollectiveUp up;
    up.signature = *record.key;
    up.sequence = sequence;
    up.status = status;
    up.contributions = std::move(contributions);
    hosts_.send(to, wire::CollectiveUp::type, share(wire::encode(up)));
}

void Collectives::cross_job_done(const Bytes &key, std::uint64_t sequence, std::int32_t status,
                                 std::vector<wire::Contribution> parts) {
    auto found = records_.find(key);
    if (found == records_.end())
        return;
    Record &record = found->second;
    auto at = record.instances.find(sequence);
    if (at == record.instances.end() || !at->second.cross_job) {
        ++dropped_;
        return;
    }
    if (status != PMIX_SUCCESS)
        return finish(record, sequence, status);
    // In a connect, what this namespace brings is for the other ones only.
    std::vector<wire::Contribution> all;
    if (record.signature.kind != CollectiveKind::connect)
        all = std::move(at->second.contributions);
    for (auto &part : parts)
        all.push_back(std::move(part));
    if (!fits(record, all)) // the others have theirs, and that is all they need
        return finish(record, sequence, PMIX_ERR_OUT_OF_RESOURCE);
    finish(record, sequence, PMIX_SUCCESS, std::move(all));
}

void Collectives::on_cross_job_gone() {
    for (auto [order, record] : std::map(busy_)) {
        std::vector<std::uint64_t> broken;
        for (const auto &[sequence, instance] : record->instances) {
            if (instance.cross_job)
                broken.push_back(sequence);
        }
        for (std::uint64_t sequence : broken)
            finish(*record, sequence, PMIX_ERR_UNREACH);
    }
}

void Collectives::fail(TimePoint now, Record &record, std::uint64_t sequence, std::int32_t status) {
    if (record.partner != no_host)
        return fail_with_partner(now, record, sequence, status);
    if (record.parent == no_host && port_.spans_jobs(record.signature))
        port_.leave_cross_job(*record.key, sequence, status);
    if (record.parent != no_host)
        send_up(record.parent, record, sequence, status);
    finish(record, sequence, status);
}

void Collectives::finish(Record &record, std::uint64_t sequence, std::int32_t status,
                         std::vector<wire::Contribution> contributions) {
    if (!record.children.empty() && record.partner == no_host) {
        // They are in the message only while it is encoded: nothing of what all have brought is copied for it.
        wire::CollectiveDown down{*record.key, sequence, status, std::move(contributions)};
        auto payload = share(wire::encode(down));
        contributions = std::move(down.contributions);
        std::size_t bytes = payload->size() - record.key->size();
        if (status == PMIX_SUCCESS && piece_sizes_.cut(bytes, record.children.size())) {
            // The key is in each piece, and may be long.
            std::size_t each = std::max(piece_sizes_.each, 8 * record.key->size());
            hand_down(record, sequence,
                      std::make_shared<ResultPieces>(ResultPieces::cut(*record.key, sequence, *payload, each)));
        } else {
            for (HostIndex child : record.children)
                hosts_.send(child, wire::CollectiveDown::type, payload);
        }
    }
    if (status != PMIX_SUCCESS)
        forget_handed_down(record, sequence); // the children have just been told that it has failed
    auto node = record.instances.extract(sequence);
    if (record.instances.empty())
        busy_.erase(record.order);
    if (!node || !node.mapped().entered) {
        if (sequence < record.next_sequence || status == PMIX_SUCCESS)
            return;
        // libpmix may have given up here on its own, and told nobody; not where an earlier one, which may be under
        // way or have failed, waits for its entry.
        auto &early = record.failed_early;
        early.emplace(sequence, status);
        if (sequence != record.next_sequence || record.signature.of_group())
            return;
        for (auto next = early.begin();
             next != early.end() && next->first == record.next_sequence && next->second == PMIX_ERR_TIMEOUT;) {
            next = early.erase(next);
            ++record.next_sequence;
        }
        return;
    }
    if (status != PMIX_SUCCESS)
        return node.mapped().reply(status, nullptr);
    node.mapped().reply(status, std::make_shared<const std::vector<wire::Contribution>>(std::move(contributions)));
}

// Ends the collective if a local participant has gone, before it entered or while it was inside.
bool Collectives::ends_with_the_dead(TimePoint now, Record &record, std::uint64_t sequence) {
    if (record.instances.at(sequence).pieces || !port_.local_member_gone(record.signature))
        return false;
    if (port_.is_tolerant(record.signature)) {
        Instance &instance = record.instances.at(sequence);
        auto part = instance.entered ? std::nullopt : port_.part_of_the_dead(record.signature);
        if (!part)
            return false;
        instance.entered = true;
        contribute(instance, std::move(*part));
        record.next_sequence = std::max(record.next_sequence, sequence + 1);
        advance_without_the_lost(now, record, sequence);
        return true;
    }
    fail(now, record, sequence, PMIX_ERR_PROC_TERM_WO_SYNC);
    return true;
}

// --- two hosts that tell each other -----------------------------------------------------------------

void Collectives::advance_with_partner(TimePoint now, Record &record, std::uint64_t sequence) {
    Instance &instance = record.instances.at(sequence);
    if (!instance.entered)
        return;
    auto &parts = instance.contributions;
    if (!instance.up_sent) {
        std::vector<wire::Contribution> own;
        std::copy_if(parts.begin(), parts.end(), std::back_inserter(own),
                     [this](const auto &part) { return part.host == self_; });
        if (!fits(record, own))
            return fail_with_partner(now, record, sequence, PMIX_ERR_OUT_OF_RESOURCE);
        instance.up_sent = true;
        send_up(record.partner, record, sequence, PMIX_SUCCESS, std::move(own));
    }
    if (instance.arrived.empty())
        return;
    // On both hosts in the same order.
    std::sort(parts.begin(), parts.end(), [](const auto &a, const auto &b) { return a.host < b.host; });
    finish(record, sequence, PMIX_SUCCESS, std::move(parts));
}

void Collectives::fail_with_partner(TimePoint now, Record &record, std::uint64_t sequence, std::int32_t status) {
    auto at = record.instances.find(sequence);
    bool has_told = at != record.instances.end() && at->second.up_sent;
    if (hosts_.host_gone(record.partner))
        return finish(record, sequence, status);
    if (!has_told) {
        send_up(record.partner, record, sequence, status);
        return finish(record, sequence, status);
    }
    Instance &instance = at->second;
    if (instance.wants_to_fail) {
        if (instance.deadline <= now)
            finish(record, sequence, *instance.wants_to_fail);
        return;
    }
    send_up(record.partner, record, sequence, status);
    instance.wants_to_fail = status;
    instance.deadline = now + verdict_patience;
    instance.probe_at = TimePoint::max();
}

// It fails, or says so to one who wants to. Who wants to hears of it, or of what the other had told before: never of
// another's wish, since both have told then, and that comes first.
void Collectives::on_partner_failed(Record &record, const wire::CollectiveUp &message) {
    const Instance &instance = record.instances.at(message.sequence);
    if (!instance.wants_to_fail && !instance.arrived.empty())
        send_up(record.partner, record, message.sequence, message.status);
    finish(record, message.sequence, message.status);
}

// ----------------------------------------------------------------------------------------------------

bool Collectives::dispensable(const Record &record, HostIndex host) {
    return has(record.leaves, host) && port_.is_tolerant(record.signature);
}

void Collectives::on_up(TimePoint now, HostIndex from, wire::CollectiveUp message) {
    if (message.status == PMIX_SUCCESS && refuse_for_want_of_room(from, message.signature, message.sequence, true))
        return;
    Record *record = record_for(message.signature, nullptr);
    if (record && record->handed_down.contains(message.sequence))
        return skip(*record, message.sequence, from); // it has failed there, and waits for nothing
    if (!record || !has(record->children, from) || message.sequence >= record->next_sequence + max_ahead ||
        finished(*record, message.sequence)) {
        ++dropped_;
        return;
    }
    bool fresh = !record->instances.contains(message.sequence);
    Instance &instance = instance_for(now, *record, message.sequence);
    if (instance.pieces) {
        ++dropped_; // it is complete
        return;
    }
    if (message.status != PMIX_SUCCESS && record->partner != no_host)
        return on_partner_failed(*record, message);
    if (message.status != PMIX_SUCCESS)
        return fail(now, *record, message.sequence, message.status);
    if (!instance.arrived.insert(from).second) {
        ++dropped_;
        return;
    }
    for (auto &contribution : message.contributions) {
        bool may_be =
            record->partner != no_host ? contribution.host == from : record->hosts.contains(contribution.host);
        if (!may_be) {
            ++dropped_;
            continue;
        }
        instance.contributions.push_back(std::move(contribution));
    }
    if (fresh && cut_off(*record))
        return fail(now, *record, message.sequence, PMIX_ERR_LOST_CONNECTION);
    // Of two, who has told and hears the other is as complete as that one is.
    bool decided = record->partner != no_host && instance.up_sent;
    if (decided || !ends_with_the_dead(now, *record, message.sequence))
        advance(now, *record, message.sequence);
}

void Collectives::on_down(HostIndex from, wire::CollectiveDown message, SharedBytes payload) {
    Record *record = record_for(message.signature, nullptr);
    if (!record || from != record->parent || message.sequence >= record->next_sequence + max_ahead ||
        finished(*record, message.sequence)) {
        ++dropped_;
        return;
    }
    auto found = record->instances.find(message.sequence);
    if (message.status != PMIX_SUCCESS)
        return finish(*record, message.sequence, message.status);
    if (found == record->instances.end() || !found->second.up_sent) {
        ++dropped_; // complete without us: a lie
        return;
    }
    for (HostIndex child : record->children)
        hosts_.send(child, wire::CollectiveDown::type, payload);
    forget_handed_down(*record, message.sequence);
    auto node = record->instances.extract(found);
    if (record->instances.empty())
        busy_.erase(record->order);
    node.mapped().reply(PMIX_SUCCESS,
                        std::make_shared<const std::vector<wire::Contribution>>(std::move(message.contributions)));
}

void Collectives::on_probe(TimePoint now, HostIndex from, const wire::CollectiveProbe &message) {
    if (refuse_for_want_of_room(from, message.signature, message.sequence, false))
        return;
    Record *record = record_for(message.signature, nullptr);
    if (record && record->handed_down.contains(message.sequence))
        return feed_who_waits(now, *record, message.sequence);
    if (!record || from != (record->partner != no_host ? record->partner : record->parent) ||
        message.sequence >= record->next_sequence + max_ahead || finished(*record, message.sequence)) {
        ++dropped_;
        return;
    }
    bool fresh = !record->instances.contains(message.sequence);
    Instance &instance = instance_for(now, *record, message.sequence);
    if (fresh && cut_off(*record))
        return fail(now, *record, message.sequence, PMIX_ERR_LOST_CONNECTION);
    if (instance.probed_by_parent || ends_with_the_dead(now, *record, message.sequence))
        return;
    instance.probed_by_parent = true;
    // Its own missing children are asked at its own probe time, which instance_for has set.
}

void Collectives::on_host_gone(TimePoint now, HostIndex host) {
    for (auto [order, record] : std::map(handing_down_)) {
        std::vector<std::uint64_t> handed_down;
        for (const auto &[sequence, handed] : record->handed_down)
            handed_down.push_back(sequence);
        for (std::uint64_t sequence : handed_down)
            skip(*record, sequence, host);
    }
    for (auto [order, record] : std::map(busy_)) {
        bool is_child = has(record->children, host);
        if (host != record->parent && !is_child)
            continue;
        std::vector<std::uint64_t> broken;
        for (const auto &[sequence, instance] : record->instances)
            broken.push_back(sequence);
        for (std::uint64_t sequence : broken) {
            auto at = record->instances.find(sequence);
            if (at == record->instances.end())
                continue;
            if (at->second.pieces) {
                if (host == record->parent) { // the others have their pieces, or get them from it no more
                    at->second.pieces_by = now + verdict_patience;
                }
            } else if (record->partner == host) {
                finish(*record, sequence, PMIX_ERR_LOST_CONNECTION);
            } else if (!dispensable(*record, host)) {
                fail(now, *record, sequence, PMIX_ERR_LOST_CONNECTION);
            } else if (at->second.arrived.insert(host).second) {
                advance(now, *record, sequence);
            }
        }
    }
}

void Collectives::on_local_process_gone(TimePoint now) {
    for (auto [order, record] : std::map(busy_)) {
        std::vector<std::uint64_t> under_way;
        for (const auto &[sequence, instance] : record->instances)
            under_way.push_back(sequence);
        for (std::uint64_t sequence : under_way) {
            if (record->instances.contains(sequence))
                ends_with_the_dead(now, *record, sequence);
        }
    }
}

TimePoint Collectives::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[order, record] : busy_) {
        for (const auto &[sequence, instance] : record->instances)
            next = std::min({next, instance.deadline, instance.pieces_by, instance.probe_at});
    }
    return next;
}

void Collectives::on_time(TimePoint now) {
    for (auto [order, record] : std::map(busy_)) {
        std::vector<std::pair<std::uint64_t, std::int32_t>> late;
        for (auto &[sequence, instance] : record->instances) {
            if (instance.deadline <= now) {
                late.emplace_back(sequence, PMIX_ERR_TIMEOUT);
            } else if (instance.pieces_by <= now) {
                late.emplace_back(sequence, PMIX_ERR_LOST_CONNECTION);
            } else if (instance.probe_at <= now) {
                auto probe = share(wire::encode(wire::CollectiveProbe{*record->key, sequence}));
                instance.probe_at = instance.pieces ? now + piece_patience : TimePoint::max();
                if (instance.pieces) {
                    hosts_.send(record->parent, wire::CollectiveProbe::type, probe);
                    continue;
                }
                for (HostIndex child : record->children) {
                    if (!instance.arrived.contains(child))
                        hosts_.send(child, wire::CollectiveProbe::type, probe);
                }
            }
        }
        for (auto [sequence, status] : late) {
            if (record->instances.contains(sequence))
                fail(now, *record, sequence, status);
        }
    }
}

bool Collectives::waits_for(const Bytes &nspace) const {
    return std::any_of(busy_.begin(), busy_.end(), [&](const auto &entry) {
        const auto &members = entry.second->signature.members;
        return std::any_of(members.begin(), members.end(), [&](const Members &each) { return each.nspace == nspace; });
    });
}

std::size_t Collectives::active() const {
    std::size_t n = 0;
    for (const auto &[order, record] : busy_)
        n += record->instances.size();
    return n;
}

} // namespace pmixhost
