// See session_relay.h.
#include "server-glue/cross_job/session_relay.h"

#include "common/wire/all_messages.h"

#include <algorithm>
#include <pmix_common.h>
#include <utility>

namespace pmixhost {

SessionRelay::SessionRelay(SessionPeers &peers)
    : SessionService(peers.services), peers_(peers),
      finder_({[this](const Bytes &nspace) { return !peers_.hosts_of(peers_.step_of(nspace)).empty(); },
               [this](std::function<void(TimePoint, CalledSteps)> done) { peers_.call_others(std::move(done)); }}) {}

void SessionRelay::take_messages(SessionMessages &messages) {
    take_relayed(messages, static_cast<wire::AllMessages *>(nullptr));
}

template <typename... All> void SessionRelay::take_relayed(SessionMessages &messages, std::tuple<All...> *) {
    (take_if_relayed<All>(messages), ...);
}

template <typename Reply> void SessionRelay::take_if_relayed(SessionMessages &messages) {
    if constexpr (requires { Reply::relayed; })
        relays<typename Reply::Answers, Reply>(messages, Reply::relayed);
}

template <typename Reply> static Bytes refusal_of(std::uint64_t id, std::int32_t status) {
    Reply reply;
    reply.id = id;
    reply.status = status;
    return wire::encode(reply);
}

template <typename Request, typename Reply> void SessionRelay::relays(SessionMessages &messages, wire::Relayed kind) {
    messages.on<Request>([this, kind](TimePoint now, const SessionMember &from, Request message, const SharedBytes &) {
        if constexpr (requires { message.source; })
            message.source = from.nspace; // whatever it says
        find(now, {Reply::type, refusal_of<Reply>, from.step, from.host, message.id, 0, 0, {}}, kind,
             std::move(message));
    });
    messages.on<Reply>([this](TimePoint, const SessionMember &from, Reply message, const SharedBytes &) {
        bring_back(from.step, std::move(message));
    });
}

template <typename Request>
void SessionRelay::find(TimePoint now, Question question, wire::Relayed kind, Request message) {
    TimePoint deadline = now + find_patience;
    if constexpr (requires { message.timeout_ms; })
        deadline =
            message.timeout_ms == UINT32_MAX ? TimePoint::max() : now + std::chrono::milliseconds(message.timeout_ms);
    // The asker knows when it has waited long enough; this side only forgets in time.
    bool for_ever = kind.waits_for_people || deadline == TimePoint::max();
    question.until = for_ever ? TimePoint::max() : deadline + find_patience;
    Bytes nspace = message.nspace;
    finder_.find(now, nspace, deadline,
                 [this, question, kind, message = std::move(message)](StepFinder::Where where) mutable {
                     if (where == StepFinder::Where::here)
                         return put(question, kind, std::move(message));
                     bool in_doubt = kind.ends && where == StepFinder::Where::unknown;
                     refuse(question, in_doubt ? PMIX_ERR_UNREACH : PMIX_ERR_NOT_FOUND);
                 });
}

template <typename Request> void SessionRelay::put(Question question, const wire::Relayed &kind, Request message) {
    question.asked = peers_.step_of(message.nspace);
    auto hosts = peers_.hosts_of(question.asked);
    if (hosts.empty())
        return refuse(question, PMIX_ERR_LOST_CONNECTION);
    if (questions_.size() >= max_relayed)
        return refuse(question, PMIX_ERR_OUT_OF_RESOURCE);
    if (kind.is_asked_again)
        question.again = [this, kind, message](Question once_more) { put(std::move(once_more), kind, message); };
    message.id = next_id_++;
    // Any host knows the way, and so the load is spread.
    question.asked_host = kind.gathers ? hosts.front() : hosts[message.id % hosts.size()];
    if constexpr (requires { message.host; }) {
        if (std::find(hosts.begin(), hosts.end(), message.host) == hosts.end())
            return refuse(question, PMIX_ERR_NOT_FOUND); // it has gone, or is still to come
        question.asked_host = message.host;
    }
    until_.emplace(question.until, message.id);
    questions_.emplace(message.id, question);
    peers_.send(question.asked, question.asked_host, message);
}

template <typename Reply> void SessionRelay::bring_back(StepId from, Reply message) {
    auto found = questions_.find(message.id);
    if (found == questions_.end() || found->second.asked != from || found->second.reply_type != Reply::type)
        return;
    Question question = found->second;
    until_.erase({question.until, found->first});
    questions_.erase(found);
    message.id = question.asker_id;
    peers_.send(question.asker, question.asker_host, message);
}

void SessionRelay::refuse(const Question &question, std::int32_t status) {
    peers_.send(question.asker, question.asker_host, question.reply_type,
                share(question.refusal(question.asker_id, status)));
}

void SessionRelay::heard(TimePoint, const SessionMember &member) {
    finder_.heard(member.nspace);
}

TimePoint SessionRelay::next_time() const {
    return std::min(finder_.next_time(), until_.empty() ? TimePoint::max() : until_.begin()->first);
}

void SessionRelay::on_time(TimePoint now) {
    finder_.on_time(now);
    while (!until_.empty() && until_.begin()->first <= now) {
        questions_.erase(until_.begin()->second);
        until_.erase(until_.begin());
    }
}

template <typename Gone> void SessionRelay::on_gone(Gone gone, bool others_are_there) {
    std::vector<Question> lost;
    for (auto next = questions_.begin(); next != questions_.end();) {
        auto at = next++;
        const Question &question = at->second;
        bool asker_gone = gone(question.asker, question.asker_host);
        if (!asker_gone && !gone(question.asked, question.asked_host))
            continue;
        if (!asker_gone)
            lost.push_back(question);
        until_.erase({question.until, at->first});
        questions_.erase(at);
    }
    for (auto &question : lost) {
        auto again = std::exchange(question.again, nullptr);
        if (again && others_are_there)
            again(std::move(question)); // which refuses it where none is left
        else
            refuse(question, PMIX_ERR_LOST_CONNECTION);
    }
}

void SessionRelay::on_host_gone(TimePoint, const SessionMember &member, bool) {
    on_gone([&](StepId step, HostIndex host) { return step == member.step && host == member.host; }, true);
}

void SessionRelay::on_step_gone(TimePoint, StepId gone, const Bytes &) {
    on_gone([gone](StepId step, HostIndex) { return step == gone; }, false);
}

} // namespace pmixhost
