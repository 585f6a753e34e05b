// See modex.h.
#include "server-glue/modex/modex.h"

#include "common/wire/time_left.h"

#include <algorithm>
#include <pmix_common.h>
#include <utility>

namespace pmixhost {

void Modex::request(const Bytes &nspace, Rank rank, TimePoint now, TimePoint deadline, PostedReply reply,
                    ModexKey key) {
    // libpmix asks only for processes of other hosts; one of this host that it does not know is
    // one that never was.
    if (port_.host_of(nspace, rank) == self_)
        return reply(PMIX_ERR_NOT_FOUND, {});
    ask(now, {{nspace, rank}, deadline, std::move(reply), std::move(key)});
}

void Modex::drop_all() {
    questions_.clear();
    asked_until_.clear();
    served_ = 0;
    auto dropped = std::exchange(asked_, {}); // answered when nothing here points to them
}

void Modex::ask(TimePoint now, Asked asked) {
    const auto &[nspace, rank] = asked.owner;
    auto kept = port_.kept(nspace, rank);
    if (kept.refused)
        asked.not_there.insert(self_);
    asked.host = port_.holder_of(nspace, rank, asked.not_there);
    if (kept.data && asked.host != port_.host_of(nspace, rank)) // which may have come again, with more
        return asked.reply(PMIX_SUCCESS, Bytes(*kept.data));
    if (asked.host == no_host || asked.tries++ == max_tries)
        return asked.reply(PMIX_ERR_NOT_FOUND, {});
    wire::ModexRequest message;
    message.id = next_++;
    message.nspace = nspace;
    message.rank = rank;
    message.timeout_ms = milliseconds_left(now, asked.deadline);
    message.key = asked.key.name;
    message.key_ms = milliseconds_left(now, now + asked.key.patience);
    HostIndex host = asked.host;
    asked_until_.emplace(asked.deadline, message.id);
    asked_.emplace(message.id, std::move(asked));
    if (host == self_)
        return on_request(now, self_, message);
    if (hosts_.send(host, wire::ModexRequest::type, share(wire::encode(message))))
        return;
    // It has gone just now; on_host_gone() will say whether in order.
    if (!lost_.contains(host))
        return;
    if (auto found = asked_.find(message.id); found != asked_.end())
        take(found).reply(PMIX_ERR_LOST_CONNECTION, {});
}

Modex::Asked Modex::take(std::map<std::uint64_t, Asked>::iterator asked) {
    asked_until_.erase({asked->second.deadline, asked->first});
    return std::move(asked_.extract(asked).mapped());
}

void Modex::reply(TimePoint now, HostIndex to, std::uint64_t id, std::int32_t status, Bytes data) {
    wire::ModexReply message;
    message.id = id;
    message.status = status;
    message.data = std::move(data);
    if (to == self_)
        return on_reply(now, self_, std::move(message));
    hosts_.send(to, wire::ModexReply::type, share(wire::encode(message)));
}

void Modex::on_request(TimePoint now, HostIndex from, const wire::ModexRequest &message) {
    HostIndex home = port_.host_of(message.nspace, message.rank);
    if (home != self_) {
        auto kept = port_.kept(message.nspace, message.rank);
        if (kept.data)
            return reply(now, from, message.id, PMIX_SUCCESS, *kept.data);
        if (home != no_host && kept.refused)
            return reply(now, from, message.id, PMIX_ERR_NOT_AVAILABLE, {});
        if (home == no_host || !kept.may_still_come)
            return reply(now, from, message.id, PMIX_ERR_NOT_FOUND, {});
    }
    if (served_ >= max_served)
        return reply(now, from, message.id, PMIX_ERR_OUT_OF_RESOURCE, {});
    TimePoint deadline = TimePoint::max();
    if (message.timeout_ms != UINT32_MAX)
        deadline = now + std::chrono::milliseconds(message.timeout_ms);
    if (message.key.size() > PMIX_MAX_KEYLEN)
        return reply(now, from, message.id, PMIX_ERR_BAD_PARAM, {});
    auto [question, fresh] = questions_.try_emplace({message.nspace, message.rank});
    Served served{from, message.id, deadline, {message.key, std::chrono::milliseconds(message.key_ms)}};
    if (question->second.posted)
        served.key_deadline = now + served.key.patience;
    look_by(deadline);
    question->second.waiting.push_back(std::move(served));
    ++served_;
    if (home != self_ || question->second.asking)
        return;
    question->second.last = port_.local_process_gone(message.nspace, message.rank);
    question->second.interval = first_look;
    look(question, fresh && !question->second.last ? ModexPort::Wait::for_commit : ModexPort::Wait::if_there);
}

void Modex::look(Place question, ModexPort::Wait wait) {
    Question &it = question->second;
    it.token = next_++;
    it.asking = true;
    it.look_again = TimePoint::max();
    port_.ask_library(it.token, question->first.first, question->first.second, wait);
}

void Modex::reply_all(TimePoint now, Place question, std::int32_t status, const Bytes &data) {
    auto node = questions_.extract(question);
    served_ -= node.mapped().waiting.size();
    for (const auto &served : node.mapped().waiting)
        reply(now, served.from, served.id, status, data);
}

// The library may say at once that a process has committed nothing for other hosts yet, instead of waiting for it.
void Modex::on_local_data(TimePoint now, std::uint64_t token, std::int32_t status, Bytes data) {
    auto found = std::find_if(questions_.begin(), questions_.end(),
                              [&](const auto &entry) { return entry.second.token == token; });
    if (found == questions_.end())
        return;
    Question &question = found->second;
    bool may_come = status == PMIX_SUCCESS || status == PMIX_ERR_NOT_FOUND || status == PMIX_ERR_EXISTS_OUTSIDE_SCOPE;
    if (question.last || !may_come)
        return reply_all(now, found, status, data);
    question.posted = true;
    for (auto &served : question.waiting) {
        if (served.key_deadline == TimePoint::max())
            served.key_deadline = now + served.key.patience;
    }
    auto content = std::stable_partition(question.waiting.begin(), question.waiting.end(), [&](const Served &served) {
        return !served.key.name.empty() && served.key_deadline > now && !served.key.is_in(data);
    });
    std::vector<Served> answered(content, question.waiting.end());
    served_ -= answered.size();
    question.waiting.erase(content, question.waiting.end());
    if (question.waiting.empty()) {
        questions_.erase(found);
    } else {
        question.asking = false;
        question.look_again = now + question.interval;
        for (const auto &served : question.waiting)
            question.look_again = std::min(question.look_again, served.key_deadline);
        look_by(question.look_again);
        question.interval = std::min(2 * question.interval, last_look);
    }
    for (const auto &served : answered)
        reply(now, served.from, served.id, status, data);
}

// Askers who meet the condition wait no longer. The questions stay.
template <typename Condition> void Modex::forget(Condition condition) {
    for (auto &[owner, question] : questions_)
        served_ -= std::erase_if(question.waiting, condition);
}

void Modex::on_reply(TimePoint now, HostIndex from, wire::ModexReply message) {
    auto found = asked_.find(message.id);
    if (found == asked_.end() || found->second.host != from)
        return;
    const auto &[nspace, rank] = found->second.owner;
    bool goes_on = message.status == PMIX_ERR_NOT_AVAILABLE && port_.host_of(nspace, rank) != from;
    Asked asked = take(found);
    if (!goes_on)
        return asked.reply(message.status, std::move(message.data));
    asked.not_there.insert(from);
    ask(now, std::move(asked));
}

void Modex::on_local_process_gone(const Bytes &nspace, Rank rank) {
    auto found = questions_.find({nspace, rank});
    if (found == questions_.end())
        return;
    found->second.last = true;
    look(found, ModexPort::Wait::if_there); // what it has committed may just be on its way here
}

void Modex::on_kept(TimePoint now, const Bytes &nspace, Rank rank) {
    auto found = questions_.find({nspace, rank});
    auto kept = port_.kept(nspace, rank);
    if (found != questions_.end() && kept.data)
        reply_all(now, found, PMIX_SUCCESS, Bytes(*kept.data));
}

void Modex::on_refused(TimePoint now, const Bytes &nspace, Rank rank) {
    if (auto found = questions_.find({nspace, rank}); found != questions_.end())
        reply_all(now, found, PMIX_ERR_NOT_AVAILABLE, {});
}

void Modex::on_host_gone(TimePoint now, HostIndex host, bool orderly) {
    if (!orderly)
        lost_.insert(host);
    std::vector<std::uint64_t> unanswered;
    for (const auto &[wire_id, asked] : asked_) {
        if (asked.host == host)
            unanswered.push_back(wire_id);
    }
    for (std::uint64_t wire_id : unanswered) {
        auto found = asked_.find(wire_id);
        if (found == asked_.end())
            continue;
        Asked asked = take(found);
        if (orderly)
            ask(now, std::move(asked));
        else
            asked.reply(PMIX_ERR_LOST_CONNECTION, {});
    }
    forget([&](const Served &served) { return served.from == host; });
    std::vector<Owner> waiting; // for what will perhaps not come any more
    for (const auto &[owner, question] : questions_) {
        if (port_.host_of(owner.first, owner.second) != self_ && !port_.kept(owner.first, owner.second).may_still_come)
            waiting.push_back(owner);
    }
    for (const auto &owner : waiting) {
        if (auto found = questions_.find(owner); found != questions_.end())
            reply_all(now, found, PMIX_ERR_NOT_FOUND, {});
    }
}

TimePoint Modex::next_time() const {
    TimePoint next = questions_.empty() ? TimePoint::max() : look_by_;
    return asked_until_.empty() ? next : std::min(next, asked_until_.begin()->first);
}

void Modex::on_time(TimePoint now) {
    while (!asked_until_.empty() && asked_until_.begin()->first <= now)
        take(asked_.find(asked_until_.begin()->second)).reply(PMIX_ERR_TIMEOUT, {});
    if (look_by_ > now)
        return;
    look_by_ = TimePoint::max();
    forget([&](const Served &served) { return served.deadline <= now; });
    for (auto question = questions_.begin(); question != questions_.end();) {
        auto each = question++;
        if (each->second.look_again <= now && each->second.waiting.empty()) {
            questions_.erase(each); // nobody waits, and the library is not being asked
            continue;
        }
        for (const auto &served : each->second.waiting)
            look_by(served.deadline);
        if (each->second.look_again > now)
            look_by(each->second.look_again);
        else
            look(each, ModexPort::Wait::if_there); // which may answer at once
    }
}

} // namespace pmixhost
