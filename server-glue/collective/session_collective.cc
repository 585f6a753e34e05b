// See session_collective.h.
#include "server-glue/collective/session_collective.h"

#include "common/job/rank_runs.h"
#include "common/wire/frame.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

static bool names(const Signature &signature, const Bytes &nspace) {
    return std::any_of(signature.members.begin(), signature.members.end(),
                       [&](const Members &members) { return members.nspace == nspace; });
}

bool SessionCollectives::known(const Signature &signature) const {
    return std::all_of(signature.members.begin(), signature.members.end(),
                       [this](const Members &members) { return sizes_.contains(members.nspace); });
}

// The normal form of a signature: with `all` wherever all ranks are named.
Bytes SessionCollectives::normal(const Signature &signature) const {
    Signature copy = signature;
    for (auto &members : copy.members) {
        if (members.all || members.ranks.size() == sizes_.at(members.nspace)) {
            members.all = 1;
            members.ranks = {};
        }
    }
    return wire::encode(copy);
}

void SessionCollectives::here_again(const Bytes &nspace) {
    if (gone_.erase(nspace) > 0)
        std::erase(gone_order_, nspace);
}

void SessionCollectives::note_answer(const Join &join) {
    auto [at, fresh] = answered_.try_emplace({join.member.step, join.message.signature});
    Answered &last = at->second;
    if (fresh)
        answered_bytes_ += join.message.signature.size();
    else
        answered_order_.erase(last.order);
    last.sequence = std::max(last.sequence, join.message.sequence);
    last.order = ++answers_;
    answered_order_.emplace(last.order, &at->first);
    while (answered_.size() > max_answered || (answered_bytes_ > max_bytes && answered_.size() > 1))
        forget(answered_.find(*answered_order_.begin()->second));
}

void SessionCollectives::forget(Answers::iterator answer) {
    answered_bytes_ -= answer->first.second.size();
    answered_order_.erase(answer->second.order);
    answered_.erase(answer);
}

void SessionCollectives::reply(const Join &join, std::int32_t status, std::vector<wire::NamespacePart> parts) {
    note_answer(join);
    if (join.message.status != PMIX_SUCCESS)
        return; // it knows
    wire::SessionCollectiveDone done;
    done.signature = join.message.signature;
    done.sequence = join.message.sequence;
    done.status = status;
    done.parts = std::move(parts);
    answer_(join.member, std::move(done));
}

// A failure that comes after the join, or crosses with its answer, takes the join's place. False when there is no
// join.
bool SessionCollectives::replaces(const Member &member, const wire::SessionCollectiveJoin &message,
                                  const Bytes &nspace) {
    auto last = answered_.find({member.step, message.signature});
    if (last != answered_.end() && message.sequence <= last->second.sequence)
        return true;
    const Signature signature = *read_signature(message.signature);
    // Nor is that a join which met a namespace that there is not: when it comes, it has joined none of those either.
    bool alone = message.status == PMIX_ERR_TIMEOUT || (message.status == PMIX_ERR_NOT_FOUND && !known(signature));
    auto same = [&](const Join &join) {
        return join.member == member && join.message.sequence == message.sequence &&
               join.message.signature == message.signature;
    };
    auto waiting = std::find_if(unmatched_.begin(), unmatched_.end(), same);
    if (waiting != unmatched_.end()) {
        unmatched_.erase(waiting);
        return alone;
    }
    auto found = known(signature) ? places_.find(normal(signature)) : places_.end();
    if (found == places_.end())
        return alone;
    Place &place = found->second;
    for (auto &[number, meeting] : place.meetings) {
        auto at = meeting.joined.find(nspace);
        if (at == meeting.joined.end() || !same(at->second))
            continue;
        if (alone && meeting.joined.size() == 1 && place.next[nspace] == number + 1) {
            --place.next[nspace];
            --matched_;
            place.meetings.erase(number);
            forget_idle(found);
            return true;
        }
        at->second.message.status = message.status;
        meeting.failed = message.status;
        auto where = std::pair(found->first, number);
        settle(where.first, where.second);
        return true;
    }
    return alone && !awaited(signature, nspace);
}

// Do others wait for the next join of this namespace?
bool SessionCollectives::awaited(const Signature &signature, const Bytes &nspace) const {
    if (!known(signature))
        return false;
    auto place = places_.find(normal(signature));
    if (place == places_.end())
        return false;
    auto next = place->second.next.find(nspace);
    auto meeting = place->second.meetings.find(next == place->second.next.end() ? 0 : next->second);
    // Of one that has failed nobody waits any more, but this namespace has still to hear of it, by this number.
    return meeting != place->second.meetings.end() &&
           (meeting->second.failed != PMIX_SUCCESS || !meeting->second.joined.empty());
}

bool SessionCollectives::has_place_for(const Signature &signature) const {
    if (places_.size() < max_places && place_bytes_ < max_bytes)
        return true;
    return known(signature) && places_.contains(normal(signature));
}

void SessionCollectives::forget_idle(Places::iterator place) {
    if (!place->second.meetings.empty())
        return;
    place_bytes_ -= place->first.size();
    places_.erase(place);
}

Result<void> SessionCollectives::join(const Member &member, wire::SessionCollectiveJoin message) {
    auto signature = read_signature(message.signature);
    if (!signature)
        return signature.failure();
    Bytes nspace = message.part.info.nspace;
    if (signature->members.size() < 2 || !names(*signature, nspace))
        return error(ErrorKind::invalid, "a collective of several namespaces that cannot be");
    if (Rank size = size_of(message.part.info); size > 0)
        sizes_[nspace] = size;
    here_again(nspace);
    match(); // what waited for that size
    if (message.status != PMIX_SUCCESS && replaces(member, message, nspace))
        return {};
    if (waiting() >= max_waiting)
        return error(ErrorKind::limit, "{} operations over several namespaces wait already", waiting());
    if (!has_place_for(*signature))
        return error(ErrorKind::limit, "operations of {} sets of processes of several namespaces wait already",
                     places_.size());
    if (message.status != PMIX_SUCCESS)
        message.part.info.hosts.clear(); // nobody will read it
    Join join{member, std::move(*signature), std::move(message)};
    const auto &members = join.signature.members;
    if (std::any_of(members.begin(), members.end(),
                    [this](const Members &each) { return gone_.contains(each.nspace); })) {
        reply(join, PMIX_ERR_LOST_CONNECTION, {});
        return {};
    }
    // A namespace that has never joined anything has not joined this; the others are looked at when they are met.
    Meeting nobody;
    Signature strangers = join.signature;
    std::erase_if(strangers.members, [this](const Members &each) { return sizes_.contains(each.nspace); });
    if (join.message.status == PMIX_SUCCESS && hopeless(strangers, nobody)) {
        reply(join, PMIX_ERR_PROC_TERM_WO_SYNC, {});
        return {};
    }
    unmatched_.push_back(std::move(join));
    match();
    return {};
}

void SessionCollectives::match() {
    for (auto at = unmatched_.begin(); at != unmatched_.end();) {
        if (!known(at->signature)) {
            ++at;
            continue;
        }
        Join join = std::move(*at);
        at = unmatched_.erase(at);
        enter(std::move(join));
    }
}

void SessionCollectives::enter(Join join) {
    Bytes key = normal(join.signature), nspace = join.message.part.info.nspace;
    auto [at, fresh] = places_.try_emplace(key);
    Place &place = at->second;
    if (fresh) {
        place.signature = *read_signature(key);
        place_bytes_ += key.size();
    }
    std::uint64_t number = place.next[nspace]++;
    Meeting &meeting = place.meetings[number];
    if (join.message.status != PMIX_SUCCESS && meeting.failed == PMIX_SUCCESS)
        meeting.failed = join.message.status;
    meeting.joined.emplace(nspace, std::move(join));
    ++matched_;
    if (meeting.failed == PMIX_SUCCESS && hopeless(place.signature, meeting))
        meeting.failed = PMIX_ERR_PROC_TERM_WO_SYNC;
    settle(key, number);
}

static bool has_any(const Members &members, const RankRanges &ended) {
    if (members.all)
        return !ended.empty();
    return std::any_of(ended.ranges().begin(), ended.ranges().end(),
                       [&](const auto &range) { return members.ranks.has_one_of(range.first, range.second); });
}
static bool has_any(const Signature &signature, const Bytes &nspace, const RankRanges &ended) {
    return std::any_of(signature.members.begin(), signature.members.end(),
                       [&](const Members &members) { return members.nspace == nspace && has_any(members, ended); });
}

bool SessionCollectives::hopeless(const Signature &signature, const Meeting &meeting) const {
    return std::any_of(signature.members.begin(), signature.members.end(), [&](const Members &members) {
        auto ended = ended_.find(members.nspace);
        if (meeting.joined.contains(members.nspace) || ended == ended_.end())
            return false;
        return has_any(members, ended->second);
    });
}

// Answers what can be answered.
void SessionCollectives::settle(const Bytes &key, std::uint64_t number) {
    Place &place = places_.at(key);
    Meeting &meeting = place.meetings.at(number);
    bool complete = meeting.joined.size() + meeting.heard.size() == place.signature.members.size();
    if (meeting.failed == PMIX_SUCCESS && !complete)
        return;
    std::map<Bytes, Join> joined = std::move(meeting.joined);
    meeting.joined.clear();
    matched_ -= joined.size();
    std::size_t bytes = 0;
    for (const auto &[nspace, join] : joined)
        bytes += join.message.part.data.size() + 16 * join.message.part.info.hosts.size();
    if (bytes > wire::frame_limit / 2 && meeting.failed == PMIX_SUCCESS)
        meeting.failed = PMIX_ERR_OUT_OF_RESOURCE;
    std::int32_t failed = meeting.failed;
    for (const auto &[nspace, join] : joined)
        meeting.heard.insert(nspace);
    if (complete) {
        place.meetings.erase(number);
        forget_idle(places_.find(key));
    }
    for (const auto &[nspace, join] : joined) {
        std::vector<wire::NamespacePart> parts;
        for (const auto &[other, its] : joined) {
            if (other != nspace && failed == PMIX_SUCCESS)
                parts.push_back(its.message.part);
        }
        reply(join, failed, std::move(parts));
    }
}

template <typename Condition> void SessionCollectives::fail_where(Condition condition, std::int32_t status) {
    std::vector<std::pair<Bytes, std::uint64_t>> broken;
    for (auto &[key, place] : places_) {
        for (auto &[number, meeting] : place.meetings) {
            if (meeting.failed == PMIX_SUCCESS && condition(place.signature, meeting)) {
                meeting.failed = status;
                broken.emplace_back(key, number);
            }
        }
    }
    for (const auto &[key, number] : broken)
        settle(key, number);
}

void SessionCollectives::on_processes_ended(const Bytes &nspace, const std::vector<wire::RankRange> &ranks) {
    RankRanges now_ended;
    for (const auto &range : ranks)
        now_ended.add(range.first, range.last);
    RankRanges &ended = ended_[nspace];
    auto size = sizes_.find(nspace);
    for (const auto &[first, last] : now_ended.ranges()) {
        if (size == sizes_.end() || last < size->second) // no more of them than there can be
            ended.add(first, last);
    }
    fail_where(
        [&](const Signature &signature, const Meeting &meeting) {
            return !meeting.joined.contains(nspace) && has_any(signature, nspace, now_ended);
        },
        PMIX_ERR_PROC_TERM_WO_SYNC);
    std::list<Join> failed;
    for (auto at = unmatched_.begin(); at != unmatched_.end();) {
        auto now = at++;
        if (now->message.part.info.nspace != nspace && has_any(now->signature, nspace, now_ended))
            failed.splice(failed.end(), unmatched_, now);
    }
    for (const auto &join : failed)
        reply(join, PMIX_ERR_PROC_TERM_WO_SYNC, {});
}

void SessionCollectives::on_member_gone(const Member &member) {
    std::erase_if(unmatched_, [&](const Join &join) { return join.member == member; });
    fail_where(
        [&](const Signature &, const Meeting &meeting) {
            return std::any_of(meeting.joined.begin(), meeting.joined.end(),
                               [&](const auto &entry) { return entry.second.member == member; });
        },
        PMIX_ERR_LOST_CONNECTION);
}

void SessionCollectives::on_step_gone(StepId step, const Bytes &nspace) {
    std::erase_if(unmatched_, [step](const Join &join) { return join.member.step == step; });
    fail_where([&](const Signature &signature, const Meeting &) { return names(signature, nspace); },
               PMIX_ERR_LOST_CONNECTION);
    std::list<Join> failed;
    for (auto at = unmatched_.begin(); at != unmatched_.end();) {
        auto now = at++;
        if (names(now->signature, nspace))
            failed.splice(failed.end(), unmatched_, now);
    }
    for (const auto &join : failed)
        reply(join, PMIX_ERR_LOST_CONNECTION, {});
    for (auto at = places_.begin(); at != places_.end();) {
        auto place = at++;
        if (!names(place->second.signature, nspace))
            continue;
        place->second.meetings.clear(); // all who had joined have been answered
        forget_idle(place);
    }
    for (auto at = answered_.lower_bound({step, Bytes()}); at != answered_.end() && at->first.first == step;)
        forget(at++);
    sizes_.erase(nspace);
    ended_.erase(nspace);
    here_again(nspace); // what is told again is the newest
    gone_.insert(nspace);
    gone_order_.push_back(nspace);
    if (gone_order_.size() > max_gone) {
        gone_.erase(gone_order_.front());
        gone_order_.pop_front();
    }
}

} // namespace pmixhost
