// See publish_service.h.
#include "server-glue/publish/publish_service.h"

#include "common/wire/session_messages.h"

#include <algorithm>
#include <set>
#include <utility>

namespace pmixhost {

// The session says when the time of a lookup is over. When it says nothing, it ends here a little later.
static constexpr auto session_grace = std::chrono::seconds(10);

void PublishService::Pending::answer(pmix_status_t code, std::vector<wire::Found> found) {
    if (lookup.pending())
        lookup(code, std::move(found));
    else
        status(code);
}

static SharedBytes encoded(const auto &message) {
    return share(std::visit([](const auto &request) { return wire::encode(request); }, message));
}

void PublishService::send(TimePoint now, std::uint64_t id, Message message, Pending pending) {
    bool is_there = hosts_.session_is_there();
    pending.kept_bytes = is_there ? 0 : encoded(message)->size();
    if (pending.kept_bytes > limits_.kept_bytes - kept_bytes_)
        return pending.answer(PMIX_ERR_OUT_OF_RESOURCE);
    kept_bytes_ += pending.kept_bytes;
    pending.kept = std::move(message);
    auto at = pending_.emplace(id, std::move(pending)).first;
    if (is_there)
        send_kept(now, at);
    else
        port_.reach_session();
}

void PublishService::send_kept(TimePoint now, Place at) {
    Pending &pending = at->second;
    auto *lookup = std::get_if<wire::LookupRequest>(&*pending.kept);
    if (lookup && lookup->wait >= 0 && pending.deadline != TimePoint::max()) {
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(pending.deadline - now);
        lookup->timeout_ms = static_cast<std::uint32_t>(std::clamp<long long>(left.count(), 1, UINT32_MAX));
        pending.deadline += session_grace;
    }
    std::uint8_t type = std::visit([](const auto &request) { return request.type; }, *pending.kept);
    SharedBytes bytes = encoded(*pending.kept);
    kept_bytes_ -= std::exchange(pending.kept_bytes, 0);
    pending.kept.reset();
    used_ = true;
    if (!hosts_.send_to_session(type, std::move(bytes)))
        take(at).answer(PMIX_ERR_UNREACH);
}

PublishService::Pending PublishService::take(Place at) {
    kept_bytes_ -= at->second.kept_bytes;
    return std::move(pending_.extract(at).mapped());
}

void PublishService::on_session_here(TimePoint now) {
    was_here_ = true;
    for (auto at = pending_.begin(); at != pending_.end();) {
        auto pending = at++;
        if (pending->second.kept)
            send_kept(now, pending);
    }
}

template <typename Request> Bytes PublishService::name_caller(TimePoint now, const Process &caller, Request &message) {
    message.id = next_id_++;
    message.rank = caller.rank;
    auto place = port_.tool(caller);
    if (!place)
        return host_;
    message.tool = caller.nspace;
    Caller tool{caller.nspace, caller.rank};
    // Another one may have had that name until now.
    if (auto known = tools_.find(tool); known != tools_.end() && !known->second())
        tool_has_gone(tool);
    tools_[tool] = std::move(place->is_here);
    next_look_ = std::min(next_look_, now + look_again);
    return place->host;
}

bool PublishService::is_of_other_user(const Process &caller, std::optional<std::uint32_t> said) {
    if (!said)
        return false;
    auto place = port_.tool(caller);
    return !place || place->asker != std::optional<uid_t>(*said);
}

void PublishService::drop_asks_of(const Caller &caller) {
    for (auto at = pending_.begin(); at != pending_.end();) {
        auto pending = at++;
        if (pending->second.caller == caller)
            take(pending);
    }
}

void PublishService::tool_has_gone(Caller tool) {
    tools_.erase(tool);
    drop_asks_of(tool);
    if (used_)
        hosts_.send_to_session(wire::ToolEnded::type, share(wire::encode(wire::ToolEnded{tool.first, tool.second})));
}

static TimePoint after(TimePoint now, std::optional<std::chrono::seconds> asked, Duration otherwise) {
    Duration limit = asked ? Duration(*asked) : otherwise;
    return limit.count() > 0 ? now + limit : TimePoint::max();
}

void PublishService::publish(TimePoint now, PublishAsk ask) {
    if (is_of_other_user(ask.caller, ask.other_user))
        return ask.reply(PMIX_ERR_NO_PERMISSIONS);
    wire::PublishRequest request;
    request.host = name_caller(now, ask.caller, request);
    Owner owner = port_.owner_of(ask.caller);
    request.uid = owner.uid;
    request.gid = ask.gid == wire::any_group ? owner.gid : ask.gid;
    request.range = ask.range;
    request.persistence = ask.persistence;
    request.custom = std::move(ask.custom);
    request.data = std::move(ask.data);
    Pending pending{{request.tool, request.rank}, after(now, ask.timeout, limits_.answer), std::move(ask.reply), {}};
    send(now, request.id, std::move(request), std::move(pending));
}

void PublishService::unpublish(TimePoint now, UnpublishAsk ask) {
    if (is_of_other_user(ask.caller, ask.other_user))
        return ask.reply(PMIX_ERR_NO_PERMISSIONS);
    wire::UnpublishRequest request;
    name_caller(now, ask.caller, request);
    request.range = ask.range;
    request.keys = std::move(ask.keys);
    Pending pending{{request.tool, request.rank}, after(now, ask.timeout, limits_.answer), std::move(ask.reply), {}};
    send(now, request.id, std::move(request), std::move(pending));
}

void PublishService::lookup(TimePoint now, LookupAsk ask) {
    if (is_of_other_user(ask.caller, ask.other_user))
        return ask.reply(PMIX_ERR_NO_PERMISSIONS, {});
    wire::LookupRequest request;
    request.host = name_caller(now, ask.caller, request);
    request.uid = port_.owner_of(ask.caller).uid;
    request.gid = ask.gid;
    request.range = ask.range;
    request.custom = std::move(ask.custom);
    request.keys = std::move(ask.keys);
    request.wait = ask.wait;
    TimePoint deadline = after(now, ask.timeout, ask.wait >= 0 ? limits_.wait : limits_.answer);
    Pending pending{{request.tool, request.rank}, deadline, {}, std::move(ask.reply)};
    send(now, request.id, std::move(request), std::move(pending));
}

void PublishService::on_reply(wire::DataReply reply) {
    auto at = pending_.find(reply.id);
    if (at == pending_.end() || at->second.kept)
        return;
    Pending pending = take(at);
    if (pending.lookup.pending() && reply.status != PMIX_SUCCESS)
        port_.not_found();
    pending.answer(reply.status, std::move(reply.found));
}

void PublishService::on_session_gone() {
    used_ = false;
    bool was_here = std::exchange(was_here_, false);
    std::vector<Pending> lost;
    std::set<Caller> waiting;
    for (auto at = pending_.begin(); at != pending_.end();) {
        auto pending = at++;
        if (was_here && pending->second.kept)
            waiting.insert(pending->second.caller);
        else
            lost.push_back(take(pending));
    }
    // With it went what they had published.
    std::erase_if(tools_, [&waiting](const auto &tool) { return !waiting.contains(tool.first); });
    if (!waiting.empty())
        port_.reach_session();
    for (auto &pending : lost)
        pending.answer(PMIX_ERR_UNREACH);
}

void PublishService::on_process_ended(Rank rank) {
    drop_asks_of({Bytes(), rank});
    if (used_)
        hosts_.send_to_session(wire::ProcessesEnded::type, share(wire::encode(wire::ProcessesEnded{{{rank, rank}}})));
}

TimePoint PublishService::next_time() const {
    TimePoint next = tools_.empty() ? TimePoint::max() : next_look_;
    for (const auto &[id, pending] : pending_)
        next = std::min(next, pending.deadline);
    return next;
}

void PublishService::on_time(TimePoint now) {
    if (now >= next_look_) {
        std::vector<Caller> gone;
        for (const auto &[tool, is_here] : tools_) {
            if (!is_here())
                gone.push_back(tool);
        }
        for (auto &tool : gone)
            tool_has_gone(std::move(tool));
        next_look_ = tools_.empty() ? TimePoint::max() : now + look_again;
    }
    for (auto at = pending_.begin(); at != pending_.end();) {
        auto next = at++;
        if (next->second.deadline > now)
            continue;
        Pending due = take(next);
        if (due.lookup.pending())
            port_.not_found();
        due.answer(PMIX_ERR_TIMEOUT);
    }
}

} // namespace pmixhost
