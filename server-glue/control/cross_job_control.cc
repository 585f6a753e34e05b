// See cross_job_control.h.
#include "server-glue/control/cross_job_control.h"

#include "common/wire/frame.h"
#include "common/wire/time_left.h"

#include <algorithm>

namespace pmixhost {

void CrossJobControl::request(TimePoint now, JobControlAsk ask) {
    bool cross_job = ask.everyone || std::any_of(ask.targets.begin(), ask.targets.end(),
                                                 [this](const Process &p) { return p.nspace != nspace_; });
    if (!cross_job)
        return own_.request(now, std::move(ask));
    if (!makes_sense(ask.order))
        return ask.reply(PMIX_ERR_BAD_PARAM);
    if (pending_.size() >= max_pending)
        return ask.reply(PMIX_ERR_OUT_OF_RESOURCE);

    struct Who {
        bool whole = false;
        std::set<Rank> ranks;
    };
    std::map<Bytes, Who> by_namespace;
    if (ask.everyone)
        by_namespace[nspace_].whole = true;
    for (const auto &target : ask.targets) {
        Who &who = by_namespace[target.nspace];
        who.whole = who.whole || target.wildcard;
        if (!target.wildcard)
            who.ranks.insert(target.rank);
        if (by_namespace.size() > max_namespaces + 1)
            return ask.reply(PMIX_ERR_OUT_OF_RESOURCE);
    }
    if (ask.everyone) { // those just started are waited for
        for (const auto &child : port_.children())
            by_namespace[child].whole = true;
    }
    Pending pending;
    wire::ControlRequest message;
    for (auto &[nspace, who] : by_namespace) {
        wire::ControlTarget target{nspace, who.whole, {who.ranks.begin(), who.ranks.end()}};
        if (nspace == nspace_)
            pending.own = std::move(target);
        else if (nspace.empty() || port_.has_ended(nspace))
            return ask.reply(PMIX_ERR_NOT_FOUND);
        else
            message.targets.push_back(std::move(target));
    }
    if (pending.own.whole || !pending.own.ranks.empty()) {
        if (pmix_status_t status = own_.check(pending.own); status != PMIX_SUCCESS)
            return ask.reply(status);
    }
    pending.order = std::move(ask.order);
    pending.order.nspace = ask.caller.nspace;
    pending.order.rank = ask.caller.rank;
    pending.deadline = JobControl::deadline_of(now, ask);
    pending.reply = std::move(ask.reply);
    message.id = next_id_++;
    message.order = pending.order;
    message.everyone = ask.everyone;
    message.timeout_ms = milliseconds_left(now, pending.deadline);
    Bytes payload = wire::encode(message);
    if (payload.size() > wire::frame_limit)
        return pending.reply(PMIX_ERR_OUT_OF_RESOURCE);
    if (!hosts_.send_to_session(wire::ControlRequest::type, share(std::move(payload))))
        return pending.reply(PMIX_ERR_UNREACH);
    pending_.emplace(message.id, std::move(pending));
}

void CrossJobControl::on_part(TimePoint now, wire::ControlPart message) {
    auto answer = [this, id = message.id, act = message.act, of = sessions_gone_](wire::ControlOutcome outcome) {
        wire::ControlPartReply reply{id, act, outcome};
        if (hosts_.session_is_there() && of == sessions_gone_) // a new one does not know of it
            hosts_.send_to_session(wire::ControlPartReply::type, share(wire::encode(reply)));
    };
    wire::ControlOutcome outcome;
    outcome.refused = message.target.nspace == nspace_ ? own_.check(message.target) : PMIX_ERR_NOT_FOUND;
    if (!makes_sense(message.order))
        outcome.refused = PMIX_ERR_BAD_PARAM;
    if (outcome.refused != PMIX_SUCCESS || message.act == 0)
        return answer(outcome);
    JobControl::Order order;
    order.target = std::move(message.target);
    order.what = std::move(message.order);
    order.deadline = now + std::chrono::milliseconds(message.timeout_ms);
    order.done = {answer, wire::ControlOutcome{PMIX_ERROR}};
    own_.carry_out(now, std::move(order));
}

void CrossJobControl::on_reply(TimePoint now, const wire::ControlReply &message) {
    auto node = pending_.extract(message.id);
    if (!node)
        return; // its time was up
    Pending pending = std::move(node.mapped());
    const wire::ControlOutcome &cross_job = message.outcome;
    if (cross_job.refused != PMIX_SUCCESS || cross_job.late || (!pending.own.whole && pending.own.ranks.empty()))
        return pending.reply(status_of(cross_job));
    JobControl::Order order;
    order.target = std::move(pending.own);
    order.what = std::move(pending.order);
    order.deadline = pending.deadline;
    auto reply = std::make_shared<StatusReply>(std::move(pending.reply));
    order.done = {[reply, cross_job](wire::ControlOutcome outcome) {
                      add(outcome, cross_job);
                      (*reply)(status_of(outcome));
                  },
                  wire::ControlOutcome{PMIX_ERROR}};
    own_.carry_out(now, std::move(order));
}

void CrossJobControl::on_session_gone() {
    ++sessions_gone_;
    for (auto &[id, pending] : std::exchange(pending_, {}))
        pending.reply(PMIX_ERR_UNREACH);
}

TimePoint CrossJobControl::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[id, pending] : pending_)
        next = std::min(next, pending.deadline);
    return next;
}

void CrossJobControl::on_time(TimePoint now) {
    for (auto next = pending_.begin(); next != pending_.end();) {
        auto at = next++;
        if (at->second.deadline > now)
            continue;
        Pending pending = std::move(at->second);
        wire::ControlCancel cancel{at->first};
        pending_.erase(at);
        hosts_.send_to_session(wire::ControlCancel::type, share(wire::encode(cancel)));
        pending.reply(PMIX_ERR_TIMEOUT);
    }
}

} // namespace pmixhost
