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

template <typename Message> void PublishService::send(std::uint64_t id, const Message &message, Pending pending) {
    auto [at, fresh] = pending_.emplace(id, std::move(pending));
    used_ = true;
    if (!hosts_.send_to_session(Message::type, share(wire::encode(message)))) {
        at->second.answer(PMIX_ERR_UNREACH);
        pending_.erase(at);
    }
}

static TimePoint after(TimePoint now, std::optional<std::chrono::seconds> asked, Duration otherwise) {
    Duration limit = asked ? Duration(*asked) : otherwise;
    return limit.count() > 0 ? now + limit : TimePoint::max();
}

void PublishService::publish(TimePoint now, PublishAsk ask) {
    wire::PublishRequest request;
    request.id = next_id_++;
    request.rank = ask.caller.rank;
    Owner owner = port_.owner_of(ask.caller.rank);
    request.uid = owner.uid;
    request.gid = ask.gid == wire::any_group ? owner.gid : ask.gid;
    request.host = host_;
    request.range = ask.range;
    request.persistence = ask.persistence;
    request.custom = std::move(ask.custom);
    request.data = std::move(ask.data);
    send(request.id, request, {ask.caller.rank, after(now, ask.timeout, limits_.answer), std::move(ask.reply), {}});
}

void PublishService::unpublish(TimePoint now, UnpublishAsk ask) {
    wire::UnpublishRequest request;
    request.id = next_id_++;
    request.rank = ask.caller.rank;
    request.range = ask.range;
    request.keys = std::move(ask.keys);
    send(request.id, request, {ask.caller.rank, after(now, ask.timeout, limits_.answer), std::move(ask.reply), {}});
}

void PublishService::lookup(TimePoint now, LookupAsk ask) {
    wire::LookupRequest request;
    request.id = next_id_++;
    request.rank = ask.caller.rank;
    request.uid = port_.owner_of(ask.caller.rank).uid;
    request.gid = ask.gid;
    request.host = host_;
    request.range = ask.range;
    request.custom = std::move(ask.custom);
    request.keys = std::move(ask.keys);
    request.wait = ask.wait;
    TimePoint deadline = after(now, ask.timeout, ask.wait >= 0 ? limits_.wait : limits_.answer);
    if (ask.wait >= 0 && deadline != TimePoint::max()) {
        auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - now + session_grace);
        request.timeout_ms = static_cast<std::uint32_t>(std::min<long long>(left.count(), UINT32_MAX));
    }
    send(request.id, request, {ask.caller.rank, deadline, {}, std::move(ask.reply)});
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
    for (auto &[id, pending] : std::exchange(pending_, {}))
        pending.answer(PMIX_ERR_UNREACH);
}

void PublishService::on_process_ended(Rank rank) {
    std::erase_if(pending_, [rank](const auto &entry) { return entry.second.caller == rank; });
    if (used_)
        hosts_.send_to_session(wire::ProcessesEnded::type, share(wire::encode(wire::ProcessesEnded{{{rank, rank}}})));
}

TimePoint PublishService::next_time() const {
    TimePoint next = TimePoint::max();
    for (const auto &[id, pending] : pending_)
        next = std::min(next, pending.deadline);
    return next;
}

void PublishService::on_time(TimePoint now) {
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
