// See job_control.h.
#include "server-glue/control/job_control.h"

#include "common/text/printable.h"
#include "server-glue/debug/release.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

namespace pmixhost {

// The share of its own time that a host leaves to those behind it.
static Duration for_those_behind(Duration timeout) {
    return timeout * 4 / 5;
}
static constexpr Duration longest = std::chrono::hours(24);

// What one message asks is bounded by what one upcall may hold.
static bool are_signals(const std::vector<std::int32_t> &signals) {
    return !signals.empty() && signals.size() <= JobControlAsk::max_signals &&
           std::all_of(signals.begin(), signals.end(), [](int s) { return (s > 0 && s < NSIG) || s == end_of_pause; });
}

bool makes_sense(const wire::ControlOrder &order) {
    return are_signals(order.signals) || (order.signals.empty() && order.notifies);
}

pmix_status_t status_of(const wire::ControlOutcome &outcome) {
    if (outcome.refused != PMIX_SUCCESS)
        return outcome.refused;
    if (outcome.late)
        return PMIX_ERR_TIMEOUT;
    if (outcome.lost)
        return PMIX_ERR_LOST_CONNECTION;
    if (outcome.absent == 0)
        return PMIX_SUCCESS;
    return outcome.signalled > 0 ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND;
}

void add(wire::ControlOutcome &sum, const wire::ControlOutcome &more) {
    if (sum.refused == PMIX_SUCCESS)
        sum.refused = more.refused;
    sum.signalled += more.signalled;
    sum.absent += more.absent;
    sum.lost |= more.lost;
    sum.late |= more.late;
}

TimePoint JobControl::deadline_of(TimePoint now, const JobControlAsk &ask) {
    return now + (ask.timeout && ask.timeout->count() > 0 ? Duration(*ask.timeout) : patience);
}

pmix_status_t JobControl::check(const wire::ControlTarget &target) const {
    if (!target.whole && target.ranks.empty())
        return PMIX_ERR_BAD_PARAM;
    bool all = std::all_of(target.ranks.begin(), target.ranks.end(),
                           [this](Rank rank) { return map_.host_of(rank) != no_host; });
    return all ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND;
}

void JobControl::request(TimePoint now, JobControlAsk ask) {
    // Nobody named: all of the caller's job, and a tool has none.
    if (ask.caller.nspace != nspace_ && ask.targets.empty())
        return ask.reply(PMIX_ERR_NOT_FOUND);
    Order order;
    order.target.whole = ask.targets.empty();
    std::set<Rank> ranks;
    for (const auto &target : ask.targets) {
        if (target.nspace != nspace_)
            return ask.reply(PMIX_ERR_NOT_FOUND);
        if (target.wildcard)
            order.target.whole = 1;
        else
            ranks.insert(target.rank);
    }
    order.target.ranks.assign(ranks.begin(), ranks.end());
    if (pmix_status_t status = check(order.target); status != PMIX_SUCCESS)
        return ask.reply(status);
    if (!makes_sense(ask.order))
        return ask.reply(PMIX_ERR_BAD_PARAM);
    order.what = std::move(ask.order);
    order.what.nspace = ask.caller.nspace;
    order.what.rank = ask.caller.rank;
    order.deadline = deadline_of(now, ask);
    auto reply = std::make_shared<StatusReply>(std::move(ask.reply));
    order.done = {[reply](wire::ControlOutcome outcome) { (*reply)(status_of(outcome)); },
                  wire::ControlOutcome{PMIX_ERROR}};
    carry_out(now, std::move(order));
}

void JobControl::carry_out(TimePoint now, Order order) {
    if (order.what.notifies)
        port_.notify_checkpoint(order.what, order.target);
    auto &signals = order.what.signals;
    if (signals.empty())
        signals.push_back(0);
    if (order.target.whole && signals.front() == SIGKILL) { // clean up what else there is of it, too
        auto done = std::make_shared<OneShot<wire::ControlOutcome>>(std::move(order.done));
        auto why = fmt::format("rank {} {}had the whole job killed (PMIX_JOB_CTRL_KILL)", order.what.rank,
                               order.what.nspace == nspace_ ? "" : fmt::format("of {} ", printable(order.what.nspace)));
        // The job may end, and this daemon leave, before the resource manager answers: it was killed all the same.
        return port_.end_job(std::move(why), {[done, count = map_.rank_count()](pmix_status_t status) {
                                                  wire::ControlOutcome outcome;
                                                  outcome.refused = status;
                                                  outcome.signalled = status == PMIX_SUCCESS ? count : 0;
                                                  (*done)(outcome);
                                              },
                                              PMIX_SUCCESS});
    }
    Pending pending;
    if (order.what.nspace == nspace_)
        pending.last = order.what.rank;
    pending.signals = std::move(signals);
    pending.whole = order.target.whole;
    if (!pending.whole)
        pending.ranks = std::move(order.target.ranks);
    pending.timeout = order.deadline - now;
    pending.done = std::move(order.done);
    auto request = start(now, std::move(pending));
    request->second.origin = self_;
    request->second.number = request->first;
    spread(request, self_, no_host, request->second.ranks);
    if (request->second.waiting.empty())
        finish(request);
}

JobControl::Iterator JobControl::start(TimePoint now, Pending pending) {
    pending.timeout = std::clamp<Duration>(pending.timeout, Duration(0), longest);
    pending.deadline = now + pending.timeout;
    return pending_.emplace(next_id_++, std::move(pending)).first;
}

bool JobControl::has_target(const Pending &pending, HostIndex host) const {
    return pending.whole || std::any_of(pending.ranks.begin(), pending.ranks.end(),
                                        [&](Rank rank) { return map_.host_of(rank) == host; });
}

// Asks the neighbours of `at`, which is this host or one that has gone, for those of `ranks` that lie
// behind them.
void JobControl::spread(Iterator pending, HostIndex at, HostIndex coming_from, const std::vector<Rank> &ranks) {
    Pending &request = pending->second;
    std::map<HostIndex, std::vector<Rank>> by_neighbour;
    for (Rank rank : ranks) {
        if (HostIndex host = map_.host_of(rank); host != at)
            by_neighbour[tree_.next_hop(at, host)].push_back(rank);
    }
    auto ask = [&](HostIndex neighbour) {
        std::vector<Rank> &there = by_neighbour[neighbour];
        if (neighbour == coming_from || (!request.whole && there.empty()))
            return;
        wire::SignalRanks message;
        message.id = pending->first;
        message.nspace = nspace_;
        message.origin = request.origin;
        message.number = request.number;
        message.behind = at;
        message.whole = request.whole;
        message.ranks = there;
        message.signals = request.signals;
        message.timeout_ms = static_cast<std::uint32_t>(
            std::chrono::duration_cast<std::chrono::milliseconds>(for_those_behind(request.timeout)).count());
        if (!hosts_.host_gone(neighbour) &&
            hosts_.send(neighbour, wire::SignalRanks::type, share(wire::encode(message))))
            request.waiting.emplace(neighbour, at);
        else
            spread(pending, neighbour, at, there);
    };
    if (HostIndex parent = tree_.parent(at); parent != no_host)
        ask(parent);
    HostIndex first = tree_.first_child(at);
    for (std::uint32_t i = 0; i < tree_.child_count(at); ++i)
        ask(first + i);
}

std::size_t JobControl::signal(const std::vector<Rank> &ranks, const std::vector<std::int32_t> &signals) {
    std::size_t good = 0;
    for (Rank rank : ranks) {
        bool all = true;
        for (std::int32_t one : signals)
            all = port_.signal_local(rank, one) && all;
        good += all;
    }
    return good;
}

void JobControl::reply(HostIndex to, std::uint64_t id, wire::SignalReply message) {
    message.id = id;
    hosts_.send(to, wire::SignalReply::type, share(wire::encode(message)));
}

void JobControl::on_request(TimePoint now, HostIndex from, wire::SignalRanks message) {
    HostIndex hosts = map_.host_count(), behind = message.behind;
    if (from >= hosts || behind >= hosts || behind == self_ || message.origin == self_ ||
        (tree_.parent(behind) != self_ && tree_.parent(self_) != behind))
        return;
    bool good = are_signals(message.signals) || message.signals == std::vector<std::int32_t>{0};
    if (message.nspace != nspace_ || !good ||
        std::any_of(message.ranks.begin(), message.ranks.end(),
                    [this](Rank rank) { return map_.host_of(rank) == no_host; }))
        return reply(from, message.id, {});
    // Whoever asked before has gone: it cannot have had the answer.
    if (auto done = remembered_.find({message.origin, message.number}); done != remembered_.end())
        return reply(from, message.id, done->second);
    for (auto &[id, pending] : pending_) {
        if (pending.origin != message.origin || pending.number != message.number)
            continue;
        pending.asker = from;
        pending.id_there = message.id;
        return;
    }
    Pending pending;
    pending.asker = from;
    pending.id_there = message.id;
    pending.origin = message.origin;
    pending.number = message.number;
    pending.signals = std::move(message.signals);
    pending.whole = message.whole != 0;
    pending.ranks = std::move(message.ranks);
    pending.timeout = std::chrono::milliseconds(message.timeout_ms);
    auto request = start(now, std::move(pending));
    spread(request, self_, behind, request->second.ranks);
    if (request->second.waiting.empty())
        finish(request);
}

void JobControl::on_reply(HostIndex from, const wire::SignalReply &message) {
    auto pending = pending_.find(message.id);
    if (pending == pending_.end() || pending->second.waiting.erase(from) == 0)
        return; // its time was up
    auto &outcome = pending->second.outcome;
    outcome.signalled += message.signalled;
    outcome.lost |= message.lost;
    outcome.late |= message.late;
    if (pending->second.waiting.empty())
        finish(pending);
}

void JobControl::on_host_gone(HostIndex host, bool lost) {
    for (auto next = pending_.begin(); next != pending_.end();) {
        auto pending = next++;
        Pending &request = pending->second;
        auto asked = request.waiting.find(host);
        if (asked == request.waiting.end())
            continue;
        HostIndex behind = asked->second;
        request.waiting.erase(asked);
        request.outcome.lost |= lost && has_target(request, host);
        spread(pending, host, behind, request.ranks);
        if (request.waiting.empty())
            finish(pending);
    }
}

void JobControl::finish(Iterator pending, bool in_time) {
    Pending request = std::move(pending->second);
    pending_.erase(pending);
    std::vector<Rank> local, caller;
    for (Rank rank : request.whole ? map_.ranks_on(self_) : std::span<const Rank>(request.ranks)) {
        if (map_.host_of(rank) == self_)
            (rank == request.last ? caller : local).push_back(rank);
    }
    wire::ControlOutcome outcome = request.outcome;
    outcome.late |= !in_time;
    std::size_t all = request.whole ? map_.rank_count() : request.ranks.size();
    outcome.signalled += signal(local, request.signals);
    if (request.asker != no_host) {
        wire::SignalReply message{0, static_cast<std::uint32_t>(std::min<std::uint64_t>(outcome.signalled, all)),
                                  outcome.lost, outcome.late};
        Place place{request.origin, request.number};
        if (remembered_.emplace(place, message).second)
            oldest_.push_back(place);
        if (oldest_.size() > max_remembered) {
            remembered_.erase(oldest_.front());
            oldest_.pop_front();
        }
        return reply(request.asker, request.id_there, message);
    }
    outcome.signalled = std::min<std::uint64_t>(outcome.signalled + signal(caller, request.signals), all);
    outcome.absent = request.whole && outcome.signalled > 0 ? 0 : all - outcome.signalled;
    request.done(outcome);
}

TimePoint JobControl::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[id, request] : pending_)
        next = std::min(next, request.deadline);
    return next;
}

void JobControl::on_time(TimePoint now) {
    for (auto next = pending_.begin(); next != pending_.end();) {
        auto pending = next++;
        if (pending->second.deadline <= now)
            finish(pending, false);
    }
}

} // namespace pmixhost
