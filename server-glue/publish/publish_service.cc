// See publish_service.h.
#include "server-glue/publish/publish_service.h"

#include "common/wire/session_messages.h"

#include <algorithm>

namespace pmixhost {

// A lookup that waits ends here at its time; the session forgets it a little later.
static constexpr auto session_grace = std::chrono::seconds(10);

void PublishService::Pending::answer(pmix_status_t code, std::vector<wire::Found> found) {
    if (lookup.pending())
        lookup(code, std::move(found));
    else
        status(code);
}

template <typename Message> void PublishService::send(const Message &message, Pending pending) {
    auto [at, fresh] = pending_.emplace(message.id, std::move(pending));
    used_ = true;
    if (!hosts_.send_to_session(Message::type, share(wire::encode(message)))) {
        at->second.answer(PMIX_ERR_UNREACH);
        pending_.erase(at);
    }
}

template <typename Message> Bytes PublishService::name_caller(TimePoint now, const Process &caller, Message &message) {
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
    std::erase_if(pending_, [&caller](const auto &entry) { return entry.second.caller == caller; });
}

void PublishService::tool_has_gone(Caller tool) {
    tools_.erase(tool);
    drop_asks_of(tool);
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
    send(request, {{request.tool, request.rank}, after(now, ask.timeout, limits_.answer), std::move(ask.reply), {}});
}

void PublishService::unpublish(TimePoint now, UnpublishAsk ask) {
    if (is_of_other_user(ask.caller, ask.other_user))
        return ask.reply(PMIX_ERR_NO_PERMISSIONS);
    wire::UnpublishRequest request;
    name_caller(now, ask.caller, request);
    request.range = ask.range;
    request.keys = std::move(ask.keys);
    send(request, {{request.tool, request.rank}, after(now, ask.timeout, limits_.answer), std::move(ask.reply), {}});
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
    if (ask.wait >= 0 && deadline != TimePoint::max()) {
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now + session_grace);
        request.timeout_ms = static_cast<std::uint32_t>(std::min<long long>(left.count(), UINT32_MAX));
    }
    send(request, {{request.tool, request.rank}, deadline, {}, std::move(ask.reply)});
}

void PublishService::on_reply(wire::DataReply reply) {
    auto node = pending_.extract(reply.id);
    if (!node)
        return;
    if (node.mapped().lookup.pending() && reply.status != PMIX_SUCCESS)
        port_.not_found();
    node.mapped().answer(reply.status, std::move(reply.found));
}

void PublishService::on_session_gone() {
    used_ = false;
    tools_.clear(); // with it went what they had published
    for (auto &[id, pending] : std::exchange(pending_, {}))
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
        auto due = at++;
        if (due->second.deadline > now)
            continue;
        if (due->second.lookup.pending())
            port_.not_found();
        due->second.answer(PMIX_ERR_TIMEOUT);
        pending_.erase(due);
    }
}

} // namespace pmixhost
