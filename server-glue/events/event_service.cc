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
    spread_beyond(from == self_ ? self_ : tree_.next_hop(self_, from), hosts, type, payload);
}

void EventService::spread_beyond(HostIndex behind, const Hosts &hosts, std::uint8_t type, const SharedBytes &payload) {
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

// --- ends in disorder -------------------------------------------------------------------------------

std::vector<wire::HostReport> by_host(const wire::BadEnds &ends, const JobMap &map) {
    std::vector<wire::HostReport> out;
    std::map<std::pair<HostIndex, std::uint64_t>, std::size_t> places;
    for (const auto &each : ends.ends) {
        for (Rank rank : each.ranks) {
            HostIndex host = map.host_of(rank);
            auto [place, is_new] = places.try_emplace({host, each.time}, out.size());
            if (is_new) {
                wire::HostReport &report = out.emplace_back();
                report.host = host;
                report.time = each.time;
            }
            out[place->second].processes.push_back({rank, each.code, each.term_status, each.exit_code, each.ends_job});
        }
    }
    return out;
}

RankRanges &EventService::of_manner(Ended &ended, const Manner &manner) {
    auto found = std::find_if(ended.begin(), ended.end(), [&](const auto &each) { return each.first == manner; });
    return found != ended.end() ? found->second : ended.emplace_back(manner, RankRanges()).second;
}

void EventService::report_ended(std::vector<wire::EndedProcess> processes, std::uint64_t time) {
    Ended ended;
    for (const auto &each : processes)
        of_manner(ended, {each.code, each.term_status, each.exit_code, each.ends_job, time}).add(each.rank, each.rank);
    note_bad_ends(self_, std::move(ended));
}

void EventService::on_bad_ends(HostIndex from, const wire::BadEnds &ends) {
    if (from >= map_.host_count() || from == self_)
        return;
    // A process ends once.
    std::uint64_t processes = 0;
    for (const auto &each : ends.ends) {
        if (!each.ranks.valid() || each.ranks.empty() || each.ranks.back() >= map_.rank_count())
            return;
        processes += each.ranks.size();
        if (processes > map_.rank_count())
            return;
    }
    Ended ended;
    for (const auto &each : ends.ends) {
        RankRanges &ranks = of_manner(ended, {each.code, each.term_status, each.exit_code, each.ends_job, each.time});
        for (const auto &range : each.ranks.ranges())
            ranks.add(range.first, range.last);
    }
    note_bad_ends(from, std::move(ended));
}

// Of `ranks`, those that are not `known`. As RankRanges::subtract(), in the time of what comes, not of all that is
// known.
static RankRanges unknown_of(const RankRanges &ranks, const RankRanges &known) {
    RankRanges out;
    for (const auto &[first, last] : ranks.ranges()) {
        std::uint64_t next = first;
        auto each = known.ranges().upper_bound(first);
        if (each != known.ranges().begin())
            --each;
        for (; each != known.ranges().end() && each->first <= last; ++each) {
            if (each->first > next)
                out.add(static_cast<Rank>(next), each->first - 1);
            next = std::max(next, std::uint64_t{each->second} + 1);
        }
        if (next <= last)
            out.add(static_cast<Rank>(next), last);
    }
    return out;
}

// Passes on first: who is told here may have much to do with it.
void EventService::note_bad_ends(HostIndex from, Ended ended) {
    for (auto &[manner, ranks] : ended) {
        ranks = unknown_of(ranks, bad_ends_);
        bad_ends_.add_all(ranks);
    }
    std::erase_if(ended, [](const auto &each) { return each.second.empty(); });
    if (ended.empty())
        return;
    HostIndex behind = from == self_ ? self_ : tree_.next_hop(self_, from);
    bad_behind_ = bad_to_pass_on_.empty() || bad_behind_ == behind ? behind : self_;
    for (const auto &[manner, ranks] : ended)
        of_manner(bad_to_pass_on_, manner).add_all(ranks);
    if (!gathers_)
        pass_on_bad_ends();
    port_.deliver(message_of(ended));
}

wire::BadEnds EventService::message_of(const Ended &ended) {
    wire::BadEnds message;
    for (const auto &[manner, ranks] : ended) {
        std::vector<wire::RankRange> ranges;
        for (const auto &[first, last] : ranks.ranges())
            ranges.push_back({first, last});
        message.ends.push_back({wire::RankSet::of_ranges(ranges), manner.code, manner.term_status, manner.exit_code,
                                manner.ends_job, manner.time});
    }
    return message;
}

// Those that have come by several ways go to all neighbours alike, who drop what they know.
void EventService::pass_on_bad_ends() {
    gathers_ = !bad_to_pass_on_.empty();
    if (!gathers_)
        return;
    wire::BadEnds message = message_of(std::exchange(bad_to_pass_on_, {}));
    spread_beyond(bad_behind_, {}, wire::BadEnds::type, share(wire::encode(message)));
}

// --- hosts that are lost ----------------------------------------------------------------------------

void EventService::report_lost(HostIndex host, std::uint64_t time) {
    if (!lost_.insert(host).second)
        return;
    pass_on_bad_ends(); // which may be of that host, and say why it has gone
    wire::HostReport report;
    report.host = host;
    report.lost = 1;
    report.time = time;
    originate(report);
    port_.deliver(report);
}

void EventService::on_report(HostIndex from, wire::HostReport report, SharedBytes payload) {
    if (report.host >= map_.host_count() || report.host == self_ || !is_well_formed(from, report))
        return;
    report.lost = 1;
    // First, so that it goes around the lost one.
    bool is_first = lost_.insert(report.host).second;
    if (is_first)
        pass_on_bad_ends();
    bool is_new = pass(from, report, payload);
    // A later one of its origin may have come before it, by another way around hosts that have gone. A loss is told all
    // the same, for of other hosts' reports of it none is the first any more.
    if (is_first && !is_new)
        spread(from, report.hosts, wire::HostReport::type, payload);
    if (is_first)
        port_.deliver(report);
}

// --- ends in order ----------------------------------------------------------------------------------

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
