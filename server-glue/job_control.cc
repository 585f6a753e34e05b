// See job_control.h.
#include "server-glue/job_control.h"

#include <algorithm>
#include <csignal>
#include <fmt/format.h>

namespace pmixhost {

// What one message asks is bounded by what one upcall may hold.
static bool are_signals(const std::vector<std::int32_t> &signals) {
    return !signals.empty() && signals.size() <= JobControlAsk::max_signals &&
           std::all_of(signals.begin(), signals.end(), [](int s) { return s > 0 && s < NSIG; });
}

void JobControl::request(TimePoint now, JobControlAsk ask) {
    if (ask.caller.nspace != nspace_)
        return ask.reply(PMIX_ERR_NO_PERMISSIONS);
    bool whole = ask.targets.empty();
    std::set<Rank> ranks;
    for (const auto &target : ask.targets) {
        if (target.nspace != nspace_ || (!target.wildcard && map_.host_of(target.rank) == no_host))
            return ask.reply(PMIX_ERR_NOT_FOUND);
        whole = whole || target.wildcard;
        ranks.insert(target.rank);
    }
    if (!are_signals(ask.signals))
        return ask.reply(PMIX_ERR_BAD_PARAM);
    if (whole && ask.signals.front() == SIGKILL) // clean up what else there is of it, too
        return port_.end_job(fmt::format("rank {} had the whole job killed (PMIX_JOB_CTRL_KILL)",
                                         ask.caller.rank),
                             std::move(ask.reply));

    std::uint64_t id = next_id_++;
    auto pending = pending_.try_emplace(id).first;
    Pending &request = pending->second;
    request.caller = ask.caller.rank;
    request.signals = ask.signals;
    request.whole = whole;
    request.deadline = now + (ask.timeout && ask.timeout->count() > 0 ? Duration(*ask.timeout) : patience);
    request.reply = std::move(ask.reply);
    std::map<HostIndex, wire::SignalRanks> by_host;
    auto add = [&](HostIndex host, Rank rank) {
        if (host == self_)
            request.local.push_back(rank);
        else
            by_host[host].ranks.push_back(rank);
    };
    if (whole) {
        for (HostIndex host = 0; host < map_.host_count(); ++host) {
            for (Rank rank : map_.ranks_on(host))
                add(host, rank);
        }
    } else {
        for (Rank rank : ranks)
            add(map_.host_of(rank), rank);
    }
    for (auto &[host, message] : by_host) {
        message.id = id;
        message.nspace = nspace_;
        message.signals = request.signals;
        if (port_.send(host, wire::SignalRanks::type, share(wire::encode(message))))
            request.waiting.emplace(host, message.ranks.size());
        else
            request.absent += message.ranks.size();
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
    if (message.nspace == nspace_ && are_signals(message.signals))
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
    request.signalled += good;
    request.absent += asked->second - good;
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
        request.absent += asked->second;
        request.lost = request.lost || lost;
        request.waiting.erase(asked);
        if (request.waiting.empty())
            finish(pending);
    }
}

void JobControl::finish(Iterator pending, bool in_time) {
    Pending request = std::move(pending->second);
    pending_.erase(pending);
    auto caller = std::stable_partition(request.local.begin(), request.local.end(),
                                        [&](Rank rank) { return rank != request.caller; });
    std::size_t good = 0;
    if (caller != request.local.end()) {
        std::vector<Rank> last(caller, request.local.end());
        request.local.erase(caller, request.local.end());
        good = signal(request.local, request.signals) + signal(last, request.signals);
        request.absent += request.local.size() + last.size() - good;
    } else {
        good = signal(request.local, request.signals);
        request.absent += request.local.size() - good;
    }
    request.signalled += good;
    if (!in_time)
        return request.reply(PMIX_ERR_TIMEOUT);
    if (request.lost)
        return request.reply(PMIX_ERR_LOST_CONNECTION);
    if (request.absent == 0 || (request.whole && request.signalled > 0))
        return request.reply(PMIX_SUCCESS);
    request.reply(request.signalled > 0 ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_ERR_NOT_FOUND);
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
