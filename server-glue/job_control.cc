// See job_control.h.
#include "server-glue/job_control.h"

#include "common/config_options.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

namespace pmixhost {

// What one message asks is bounded by what one upcall may hold.
static bool are_signals(const std::vector<std::int32_t> &signals) {
    return !signals.empty() && signals.size() <= JobControlAsk::max_signals &&
           std::all_of(signals.begin(), signals.end(), [](int s) { return s > 0 && s < NSIG; });
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
    if (ask.caller.nspace != nspace_)
        return ask.reply(PMIX_ERR_NO_PERMISSIONS);
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
    carry_out(std::move(order));
}

void JobControl::carry_out(Order order) {
    if (order.what.notifies)
        port_.notify_checkpoint(order.what, order.target);
    auto &signals = order.what.signals;
    if (signals.empty())
        signals.push_back(0);
    if (order.target.whole && signals.front() == SIGKILL) { // clean up what else there is of it, too
        auto done = std::make_shared<OneShot<wire::ControlOutcome>>(std::move(order.done));
        auto why = fmt::format("rank {} {}had the whole job killed (PMIX_JOB_CTRL_KILL)", order.what.rank,
                               order.what.nspace == nspace_
                                   ? ""
                                   : fmt::format("of {} ", printable(order.what.nspace)));
        return port_.end_job(std::move(why),
                             {[done, count = map_.rank_count()](pmix_status_t status) {
                                  wire::ControlOutcome outcome;
                                  outcome.refused = status;
                                  outcome.signalled = status == PMIX_SUCCESS ? count : 0;
                                  (*done)(outcome);
                              },
                              PMIX_ERROR});
    }
    std::uint64_t id = next_id_++;
    auto pending = pending_.try_emplace(id).first;
    Pending &request = pending->second;
    if (order.what.nspace == nspace_)
        request.last = order.what.rank;
    request.signals = std::move(signals);
    request.whole = order.target.whole;
    request.deadline = order.deadline;
    request.done = std::move(order.done);
    std::map<HostIndex, wire::SignalRanks> by_host;
    auto add = [&](HostIndex host, Rank rank) {
        if (host == self_)
            request.local.push_back(rank);
        else
            by_host[host].ranks.push_back(rank);
    };
    if (request.whole) {
        for (HostIndex host = 0; host < map_.host_count(); ++host) {
            for (Rank rank : map_.ranks_on(host))
                add(host, rank);
        }
    } else {
        for (Rank rank : order.target.ranks)
            add(map_.host_of(rank), rank);
    }
    for (auto &[host, message] : by_host) {
        message.id = id;
        message.nspace = nspace_;
        message.signals = request.signals;
        if (port_.send(host, wire::SignalRanks::type, share(wire::encode(message))))
            request.waiting.emplace(host, message.ranks.size());
        else
            request.outcome.absent += message.ranks.size();
    }
    if (request.waiting.empty())
        finish(pending);
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

void JobControl::on_request(HostIndex from, const wire::SignalRanks &message) {
    wire::SignalReply reply;
    reply.id = message.id;
    if (message.nspace == nspace_ && (are_signals(message.signals) || message.signals == std::vector<std::int32_t>{0}))
        reply.signalled = static_cast<std::uint32_t>(signal(message.ranks, message.signals));
    port_.send(from, wire::SignalReply::type, share(wire::encode(reply)));
}

void JobControl::on_reply(HostIndex from, const wire::SignalReply &message) {
    auto pending = pending_.find(message.id);
    if (pending == pending_.end())
        return; // its time was up
    Pending &request = pending->second;
    auto asked = request.waiting.find(from);
    if (asked == request.waiting.end())
        return;
    std::size_t good = std::min<std::size_t>(message.signalled, asked->second);
    request.outcome.signalled += good;
    request.outcome.absent += asked->second - good;
    request.waiting.erase(asked);
    if (request.waiting.empty())
        finish(pending);
}

void JobControl::on_host_gone(HostIndex host, bool lost) {
    for (auto next = pending_.begin(); next != pending_.end();) {
        auto pending = next++;
        Pending &request = pending->second;
        auto asked = request.waiting.find(host);
        if (asked == request.waiting.end())
            continue;
        request.outcome.absent += asked->second;
        request.outcome.lost |= lost;
        request.waiting.erase(asked);
        if (request.waiting.empty())
            finish(pending);
    }
}

void JobControl::finish(Iterator pending, bool in_time) {
    Pending request = std::move(pending->second);
    pending_.erase(pending);
    auto last = std::stable_partition(request.local.begin(), request.local.end(),
                                      [&](Rank rank) { return rank != request.last; });
    std::vector<Rank> caller(last, request.local.end());
    request.local.erase(last, request.local.end());
    wire::ControlOutcome outcome = request.outcome;
    std::size_t good = signal(request.local, request.signals) + signal(caller, request.signals);
    outcome.signalled += good;
    outcome.absent += request.local.size() + caller.size() - good;
    outcome.late |= !in_time;
    if (request.whole && outcome.signalled > 0)
        outcome.absent = 0;
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
