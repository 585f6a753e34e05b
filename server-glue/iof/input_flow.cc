// See input_flow.h.
#include "server-glue/iof/input_flow.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

void InputFlow::note(Pending &pending, std::uint32_t given, pmix_status_t status) {
    pending.given += given;
    if (pending.status == PMIX_SUCCESS)
        pending.status = status;
}

// Is one of the processes behind that neighbour, as seen from `at`?
bool InputFlow::leads_to(HostIndex at, HostIndex neighbour, const std::vector<Rank> &ranks) const {
    return ranks.empty() || std::any_of(ranks.begin(), ranks.end(), [&](Rank rank) {
               HostIndex host = map_.host_of(rank);
               return host < map_.host_count() && host != at && tree_.next_hop(at, host) == neighbour;
           });
}

void InputFlow::spread(Iterator pending, HostIndex at, HostIndex coming_from) {
    auto tell = [&](HostIndex neighbour) {
        if (neighbour == coming_from || !leads_to(at, neighbour, pending->second.message.ranks))
            return;
        const bool is_gone = hosts_.host_gone(neighbour);
        if (is_gone && !gone_.contains(neighbour)) { // what has been sent there goes around it first
            pending->second.waiting.emplace(neighbour, at);
            return;
        }
        auto message = pending->second.message;
        message.behind = at;
        if (!is_gone && hosts_.send(neighbour, wire::InputPush::type, share(wire::encode(message)))) {
            pending->second.waiting.emplace(neighbour, at);
        } else {
            note(pending->second, 0, why_gone(neighbour));
            spread(pending, neighbour, at);
        }
    };
    if (HostIndex parent = tree_.parent(at); parent != no_host)
        tell(parent);
    HostIndex first = tree_.first_child(at);
    for (std::uint32_t i = 0; i < tree_.child_count(at); ++i)
        tell(first + i);
}

void InputFlow::push(Pusher pusher, std::vector<Rank> ranks, Bytes bytes, bool end, StatusReply reply) {
    auto account = accounts_.find(pusher);
    bool fits = (account == accounts_.end() ? Account() : account->second).admits(bytes.size(), 1);
    if (!fits || !all_.admits(bytes.size(), max_accounts))
        return reply(PMIX_ERR_OUT_OF_RESOURCE);
    for (Account *each : {&accounts_[pusher], &all_}) {
        ++each->pending;
        each->bytes += bytes.size();
    }
    auto pending = pending_.try_emplace(next_id_++).first;
    pending->second.reply = std::move(reply);
    pending->second.pusher = std::move(pusher);
    pending->second.message = {pending->first, self_, next_serial_++, self_, end, std::move(ranks), std::move(bytes)};
    spread(pending, self_, no_host);
    give(pending);
}

void InputFlow::on_push(HostIndex from, wire::InputPush message) {
    bool neighbours = message.behind < map_.host_count() &&
                      (tree_.parent(self_) == message.behind || tree_.parent(message.behind) == self_);
    if (from >= map_.host_count() || message.root >= map_.host_count() || message.root == self_ || !neighbours)
        return;
    auto &seen = seen_[message.root];
    if (message.serial <= seen) {
        // It came by a host that has gone: its answer goes where this one came from.
        auto same = std::find_if(pending_.begin(), pending_.end(), [&](const auto &pending) {
            const auto &other = pending.second.message;
            return other.root == message.root && other.serial == message.serial;
        });
        if (same == pending_.end()) {
            hosts_.send(from, wire::InputTaken::type,
                        share(wire::encode(wire::InputTaken{message.id, 1, PMIX_SUCCESS})));
            return;
        }
        same->second.asker = from;
        same->second.id_there = message.id;
        return;
    }
    seen = message.serial;
    auto pending = pending_.try_emplace(next_id_++).first;
    HostIndex behind = message.behind;
    pending->second.asker = from;
    pending->second.id_there = message.id;
    pending->second.message = std::move(message);
    pending->second.message.id = pending->first;
    spread(pending, self_, behind);
    give(pending);
}

// The answers may come at once.
void InputFlow::give(Iterator pending) {
    const std::uint64_t id = pending->first;
    std::vector<Rank> mine;
    const auto &ranks = pending->second.message.ranks;
    if (ranks.empty()) {
        auto here = map_.ranks_on(self_);
        mine.assign(here.begin(), here.end());
    }
    for (Rank rank : ranks) {
        if (rank < map_.rank_count() && map_.host_of(rank) == self_)
            mine.push_back(rank);
    }
    auto bytes = share(pending->second.message.bytes);
    bool end = pending->second.message.end != 0;
    pending->second.local = mine.size() + 1;
    for (Rank rank : mine) {
        port_.give(rank, bytes, end,
                   StatusReply(
                       [this, id, alive = std::weak_ptr(alive_)](pmix_status_t status) {
                           if (alive.expired())
                               return;
                           auto pending = pending_.find(id);
                           --pending->second.local;
                           note(pending->second, status == PMIX_SUCCESS, status);
                           finish_if_done(id);
                       },
                       PMIX_ERR_IOF_COMPLETE));
    }
    --pending_.at(id).local;
    finish_if_done(id);
}

void InputFlow::on_taken(HostIndex from, const wire::InputTaken &message) {
    auto pending = pending_.find(message.id);
    if (pending == pending_.end() || pending->second.waiting.erase(from) == 0)
        return;
    note(pending->second, message.given, message.status);
    finish_if_done(message.id);
}

void InputFlow::on_host_gone(HostIndex host, bool left) {
    gone_.insert(host);
    if (left)
        left_.insert(host);
    for (auto next = pending_.begin(); next != pending_.end();) {
        auto pending = next++;
        auto asked = pending->second.waiting.find(host);
        if (asked == pending->second.waiting.end())
            continue;
        HostIndex behind = asked->second;
        pending->second.waiting.erase(asked);
        note(pending->second, 0, why_gone(host));
        spread(pending, host, behind);
        finish_if_done(pending->first);
    }
}

void InputFlow::finish_if_done(std::uint64_t id) {
    auto pending = pending_.find(id);
    if (pending == pending_.end() || pending->second.local > 0 || !pending->second.waiting.empty())
        return;
    Pending done = std::move(pending->second);
    pending_.erase(pending);
    if (done.asker == no_host) {
        auto account = accounts_.find(done.pusher);
        for (Account *each : {&account->second, &all_}) {
            --each->pending;
            each->bytes -= done.message.bytes.size();
        }
        if (account->second.pending == 0)
            accounts_.erase(account);
        bool nobody = done.given == 0 && done.status == PMIX_SUCCESS;
        return done.reply(done.given > 0 ? PMIX_SUCCESS : nobody ? PMIX_ERR_NOT_FOUND : done.status);
    }
    hosts_.send(done.asker, wire::InputTaken::type,
                share(wire::encode(wire::InputTaken{done.id_there, done.given, done.status})));
}

} // namespace pmixhost
