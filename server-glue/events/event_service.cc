// See event_service.h.
#include "server-glue/events/event_service.h"

#include <algorithm>
#include <pmix_common.h>
#include <utility>

namespace pmixhost {

template <typename Body> void EventService::each_neighbour(HostIndex of, Body body) const {
    if (HostIndex parent = tree_.parent(of); parent != no_host)
        body(parent);
    HostIndex first = tree_.first_child(of);
    for (std::uint32_t i = 0; i < tree_.child_count(of); ++i)
        body(first + i);
}

void EventService::spread(HostIndex from, const Hosts &hosts, std::uint8_t type, const SharedBytes &payload) {
    // The sender has seen to everyone who lies behind the neighbour it came by.
    HostIndex behind = from == self_ ? self_ : tree_.next_hop(self_, from);
    each_neighbour(self_, [&](HostIndex neighbour) {
        if (neighbour != behind)
            reach(neighbour, self_, hosts, type, payload);
    });
}

void EventService::reach(HostIndex at, HostIndex coming_from, const Hosts &hosts, std::uint8_t type,
                         const SharedBytes &payload) {
    bool wanted = hosts.empty() || std::any_of(hosts.begin(), hosts.end(), [&](HostIndex host) {
                      return host != coming_from && tree_.next_hop(coming_from, host) == at;
                  });
    if (!wanted)
        return;
    bool may_be_there = !lost_.contains(at) && !hosts_.host_gone(at);
    if (may_be_there && (type != wire::NormalExits::type || hosts_.connected(at))) {
        if (type == wire::EventNotice::type && !has_room(at, payload->size()))
            return;
        if (hosts_.send(at, type, payload))
            return;
    }
    each_neighbour(at, [&](HostIndex neighbour) {
        if (neighbour != coming_from)
            reach(neighbour, at, hosts, type, payload);
    });
}

// The queue has more than events in it, so that neither number alone says how many of them wait.
bool EventService::has_room(HostIndex to, std::size_t bytes) {
    std::size_t queued = hosts_.queued_bytes(to);
    Sent &sent = sent_[to];
    if (queued == 0)
        sent = {};
    if (std::min(sent.bytes, queued) + bytes > max_waiting) {
        if (!std::exchange(sent.lost, true))
            port_.event_lost(to);
        return false;
    }
    sent.bytes += bytes;
    return true;
}

std::size_t EventService::waiting_bytes() {
    std::size_t out = 0;
    std::erase_if(sent_, [&](const auto &one) {
        std::size_t queued = hosts_.queued_bytes(one.first);
        out += std::min(one.second.bytes, queued);
        return queued == 0;
    });
    return out;
}

template <typename Message> void EventService::originate(Message &message) {
    message.origin = self_;
    message.sequence = ++sequence_;
    spread(self_, message.hosts, Message::type, share(wire::encode(message)));
}

bool EventService::here(const Hosts &hosts) const {
    return hosts.empty() || std::find(hosts.begin(), hosts.end(), self_) != hosts.end();
}

template <typename Message> bool EventService::is_well_formed(HostIndex from, const Message &message) const {
    auto unknown = [this](HostIndex host) { return host >= map_.host_count(); };
    return !unknown(from) && from != self_ && !unknown(message.origin) && message.origin != self_ &&
           std::none_of(message.hosts.begin(), message.hosts.end(), unknown);
}

template <typename Message> bool EventService::pass(HostIndex from, const Message &message, SharedBytes payload) {
    if (!is_well_formed(from, message))
        return false;
    auto &seen = seen_[message.origin];
    if (message.sequence <= seen)
        return false;
    seen = message.sequence;
    spread(from, message.hosts, Message::type, payload);
    return true;
}

std::optional<EventService::Hosts> EventService::hosts_of(const std::vector<wire::ProcessName> &custom) const {
    std::set<HostIndex> hosts;
    for (const auto &target : custom) {
        if (target.nspace != nspace_)
            continue;
        if (target.rank == PMIX_RANK_WILDCARD)
            return Hosts{};
        if (HostIndex host = map_.host_of(target.rank); host != no_host)
            hosts.insert(host);
    }
    if (hosts.empty())
        return std::nullopt;
    return Hosts(hosts.begin(), hosts.end());
}

void EventService::notify(NotifyAsk ask) {
    if (ask.range == PMIX_RANGE_RM || ask.range == PMIX_RANGE_LOCAL || ask.range == PMIX_RANGE_PROC_LOCAL)
        return; // for nobody on another host
    bool custom = ask.range == PMIX_RANGE_CUSTOM;
    std::vector<wire::ProcessName> targets;
    std::set<Bytes> cross_job;
    for (auto &target : ask.custom) {
        if (custom && target.nspace != nspace_)
            cross_job.insert(target.nspace);
        targets.push_back({std::move(target.nspace), target.wildcard ? PMIX_RANK_WILDCARD : target.rank});
    }
    if (ask.range == PMIX_RANGE_SESSION || ask.range == PMIX_RANGE_GLOBAL || !cross_job.empty()) {
        wire::CrossJobEvent event;
        event.nspaces.assign(cross_job.begin(), cross_job.end());
        event.status = ask.status;
        event.nspace = ask.source.nspace;
        event.rank = ask.source.rank;
        event.range = ask.range;
        event.custom = targets;
        event.info_count = ask.info_count;
        event.info = ask.info;
        port_.send_cross_job(std::move(event));
    }
    wire::EventNotice notice;
    if (custom) {
        auto hosts = hosts_of(targets);
        if (!hosts || *hosts == Hosts{self_})
            return;
        notice.hosts = std::move(*hosts);
        std::erase(notice.hosts, self_);
    }
    notice.status = ask.status;
    notice.nspace = std::move(ask.source.nspace);
    notice.rank = ask.source.rank;
    notice.range = ask.range;
    notice.info_count = ask.info_count;
    notice.info = std::move(ask.info);
    originate(notice);
}

void EventService::on_cross_job(wire::CrossJobEvent event) {
    wire::EventNotice notice;
    if (event.range == PMIX_RANGE_CUSTOM) {
        auto hosts = hosts_of(event.custom);
        if (!hosts)
            return;
        notice.hosts = std::move(*hosts);
    }
    notice.status = event.status;
    notice.nspace = std::move(event.nspace);
    notice.rank = event.rank;
    notice.range = event.range;
    notice.of_host = event.of_host;
    notice.info_count = event.info_count;
    notice.info = std::move(event.info);
    originate(notice);
    if (here(notice.hosts))
        port_.deliver(notice);
}

void EventService::on_notice(HostIndex from, wire::EventNotice notice, SharedBytes payload) {
    if (pass(from, notice, std::move(payload)) && here(notice.hosts))
        port_.deliver(notice);
}

void EventService::report_ended(std::vector<wire::EndedProcess> processes, std::uint64_t time) {
    wire::HostReport report;
    report.host = self_;
    report.time = time;
    report.processes = std::move(processes);
    originate(report);
    port_.deliver(report);
}

void EventService::report_lost(HostIndex host, std::uint64_t time) {
    if (!lost_.insert(host).second)
        return;
    wire::HostReport report;
    report.host = host;
    report.lost = 1;
    report.time = time;
    originate(report);
    port_.deliver(report);
}

void EventService::on_report(HostIndex from, wire::HostReport report, SharedBytes payload) {
    if (report.host >= map_.host_count() || (report.lost != 0 && report.host == self_) || !is_well_formed(from, report))
        return;
    for (const auto &process : report.processes) {
        if (map_.host_of(process.rank) != report.host)
            return;
    }
    // First, so that it goes around the lost one.
    bool is_first = report.lost != 0 && lost_.insert(report.host).second;
    bool is_new = pass(from, report, payload);
    // A later one of its origin may have come before it, by another way around hosts that have gone. A loss is told all
    // the same, for of other hosts' reports of it none is the first any more.
    if (is_first && !is_new)
        spread(from, report.hosts, wire::HostReport::type, payload);
    if (is_first || (is_new && report.lost == 0))
        port_.deliver(report);
}

void EventService::tell_ends(std::uint64_t time) {
    if (!ends_to_tell())
        return;
    wire::NormalExits ends;
    ends.time = time;
    ends.ranks = normal_exits_.take_all();
    ends.uncertain = uncertain_ends_.take_all();
    HostIndex up = tree_.parent(self_);
    while (up != no_host && (lost_.contains(up) || hosts_.host_gone(up)))
        up = tree_.parent(up);
    if (up != no_host) {
        ends.up = 1;
        if (hosts_.connected(up) && hosts_.send(up, wire::NormalExits::type, share(wire::encode(ends))))
            return;
    }
    ends.up = 0; // as far as connections go
    originate(ends);
    port_.deliver(ends);
}

void EventService::on_ends(HostIndex from, wire::NormalExits ends, SharedBytes payload) {
    auto none = [this](const wire::RankRange &range) {
        return range.last < range.first || range.last >= map_.rank_count();
    };
    if (std::any_of(ends.ranks.begin(), ends.ranks.end(), none) ||
        std::any_of(ends.uncertain.begin(), ends.uncertain.end(), none))
        return;
    if (ends.up == 0) {
        if (pass(from, ends, std::move(payload)))
            port_.deliver(ends);
        return;
    }
    for (const auto &range : ends.ranks)
        normal_exits_.add(range.first, range.last);
    for (const auto &range : ends.uncertain)
        uncertain_ends_.add(range.first, range.last);
}

} // namespace pmixhost
