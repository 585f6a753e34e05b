// See gathering.h.
#include "server-glue/gathering.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

static constexpr std::size_t max_members = 1'000'000;

static Rank size_of(const wire::NamespaceInfo &info) {
    std::size_t size = 0;
    for (const auto &host : info.hosts)
        size += host.ranks.size();
    return static_cast<Rank>(std::min<std::size_t>(size, UINT32_MAX));
}

static bool names(const Signature &signature, const Bytes &nspace) {
    return std::any_of(signature.members.begin(), signature.members.end(),
                       [&](const Members &members) { return members.nspace == nspace; });
}

bool Gatherings::known(const Signature &signature) const {
    return std::all_of(signature.members.begin(), signature.members.end(),
                       [this](const Members &members) { return sizes_.contains(members.nspace); });
}

// With `all` wherever all ranks are named.
Bytes Gatherings::normal(const Signature &signature) const {
    Signature copy = signature;
    for (auto &members : copy.members) {
        if (members.all || members.ranks.size() == sizes_.at(members.nspace)) {
            members.all = 1;
            members.ranks.clear();
        }
    }
    return wire::encode(copy);
}

void Gatherings::reply(const Join &join, std::int32_t status, std::vector<wire::NamespacePart> parts) {
    if (join.message.status != PMIX_SUCCESS)
        return; // it knows
    wire::GatheringDone done;
    done.signature = join.message.signature;
    done.sequence = join.message.sequence;
    done.status = status;
    done.parts = std::move(parts);
    answer_(join.member, std::move(done));
}

Result<void> Gatherings::join(const Member &member, wire::GatheringJoin message) {
    auto signature = wire::decode<Signature>(message.signature);
    if (!signature)
        return signature.failure();
    const Bytes &nspace = message.part.info.nspace;
    std::size_t members = 0;
    for (const auto &of_one : signature->members)
        members += of_one.ranks.size() + 1;
    if (signature->members.size() < 2 || members > max_members || !names(*signature, nspace))
        return error(ErrorKind::invalid, "a collective of several namespaces that cannot be");
    // A failure after the join takes its place.
    if (message.status != PMIX_SUCCESS) {
        bool was_here = false;
        auto same = [&](const Join &join) {
            return join.member == member && join.message.sequence == message.sequence &&
                   join.message.signature == message.signature;
        };
        std::erase_if(unmatched_, [&](const Join &join) {
            bool is_it = !was_here && same(join);
            was_here = was_here || is_it;
            return is_it;
        });
        for (auto &[key, place] : places_) {
            for (auto &[number, meeting] : place.meetings) {
                auto at = meeting.joined.find(nspace);
                if (at == meeting.joined.end() || !same(at->second))
                    continue;
                at->second.message.status = message.status;
                meeting.failed = message.status;
                auto where = std::pair(key, number);
                settle(where.first, where.second);
                return {};
            }
        }
    } else if (waiting() >= max_waiting) {
        return error(ErrorKind::limit, "{} operations over several namespaces wait already", waiting());
    }
    if (Rank size = size_of(message.part.info); size > 0)
        sizes_[nspace] = size;
    gone_.erase(nspace);
    Join join{member, std::move(*signature), std::move(message)};
    bool hopeless = std::any_of(join.signature.members.begin(), join.signature.members.end(),
                                [this](const Members &m) { return gone_.contains(m.nspace); });
    if (hopeless) {
        reply(join, PMIX_ERR_LOST_CONNECTION, {});
        return {};
    }
    unmatched_.push_back(std::move(join));
    match();
    return {};
}

void Gatherings::match() {
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

void Gatherings::enter(Join join) {
    Bytes key = normal(join.signature), nspace = join.message.part.info.nspace;
    Place &place = places_[key];
    if (place.signature.members.empty())
        place.signature = *wire::decode<Signature>(key);
    std::uint64_t number = place.next[nspace]++;
    Meeting &meeting = place.meetings[number];
    if (join.message.status != PMIX_SUCCESS && meeting.failed == PMIX_SUCCESS)
        meeting.failed = join.message.status;
    meeting.joined.emplace(nspace, std::move(join));
    ++matched_;
    settle(key, number);
}

// Answers what can be answered.
void Gatherings::settle(const Bytes &key, std::uint64_t number) {
    Place &place = places_.at(key);
    Meeting &meeting = place.meetings.at(number);
    bool complete = meeting.joined.size() + meeting.heard.size() == place.signature.members.size();
    if (meeting.failed == PMIX_SUCCESS && !complete)
        return;
    std::map<Bytes, Join> joined = std::move(meeting.joined);
    meeting.joined.clear();
    matched_ -= joined.size();
    std::int32_t failed = meeting.failed;
    for (const auto &[nspace, join] : joined)
        meeting.heard.insert(nspace);
    if (complete)
        place.meetings.erase(number);
    for (const auto &[nspace, join] : joined) {
        std::vector<wire::NamespacePart> parts;
        for (const auto &[other, its] : joined) {
            if (other != nspace && failed == PMIX_SUCCESS)
                parts.push_back(its.message.part);
        }
        reply(join, failed, std::move(parts));
    }
}

template <typename Condition> void Gatherings::fail_where(Condition condition, std::int32_t status) {
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

void Gatherings::on_process_ended(const Bytes &nspace, Rank rank) {
    fail_where(
        [&](const Signature &signature, const Meeting &meeting) {
            return signature.contains(nspace, rank) && !meeting.joined.contains(nspace);
        },
        PMIX_ERR_PROC_TERM_WO_SYNC);
    std::list<Join> failed;
    for (auto at = unmatched_.begin(); at != unmatched_.end();) {
        auto now = at++;
        if (now->message.part.info.nspace != nspace && now->signature.contains(nspace, rank))
            failed.splice(failed.end(), unmatched_, now);
    }
    for (const auto &join : failed)
        reply(join, PMIX_ERR_PROC_TERM_WO_SYNC, {});
}

void Gatherings::on_member_gone(const Member &member) {
    std::erase_if(unmatched_, [&](const Join &join) { return join.member == member; });
    fail_where(
        [&](const Signature &, const Meeting &meeting) {
            return std::any_of(meeting.joined.begin(), meeting.joined.end(),
                               [&](const auto &entry) { return entry.second.member == member; });
        },
        PMIX_ERR_LOST_CONNECTION);
}

void Gatherings::on_step_gone(StepId step, const Bytes &nspace) {
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
    std::erase_if(places_, [&](const auto &entry) { return names(entry.second.signature, nspace); });
    sizes_.erase(nspace);
    gone_.insert(nspace);
}

} // namespace pmixhost
