// See group_invitations.h.
#include "server-glue/groups/group_invitations.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

// A wildcard stands for every rank of its namespace.
static bool same(const Process &a, const Process &b) {
    return a.nspace == b.nspace && (a.wildcard || b.wildcard || a.rank == b.rank);
}
static bool contains(const std::vector<Process> &list, const Process &process) {
    return std::any_of(list.begin(), list.end(), [&](const Process &each) { return same(each, process); });
}
static std::pair<Bytes, Rank> key(const Process &process) {
    return {process.nspace, process.rank};
}

bool GroupInvitations::is_of_interest(std::int32_t code) {
    return code == PMIX_GROUP_INVITED || code == PMIX_GROUP_INVITE_ACCEPTED || code == PMIX_GROUP_INVITE_DECLINED ||
           code == PMIX_GROUP_CONSTRUCT_COMPLETE || code == PMIX_GROUP_CONSTRUCT_ABORT;
}

std::optional<Group> GroupInvitations::on_event(const GroupEvent &event) {
    switch (event.code) {
    case PMIX_GROUP_INVITED: {
        std::vector<Process> others = event.targets;
        std::erase_if(others, [&](const Process &each) { return !each.wildcard && same(each, event.source); });
        if (event.group.empty() || event.targets.empty())
            break;
        forget(event.group, event.source);
        invitations_.push_back({event.group, event.source, MemberList(others), {}});
        cost_ += invitations_.back().cost();
        forget_oldest();
        break;
    }
    case PMIX_GROUP_INVITE_ACCEPTED:
        answer(event, true);
        break;
    case PMIX_GROUP_INVITE_DECLINED:
        answer(event, false);
        break;
    case PMIX_GROUP_CONSTRUCT_COMPLETE: {
        bool is_group = is_of_invited(event);
        forget(event.group, event.source);
        if (is_group)
            return Group{event.group, event.targets, std::nullopt, false, false, event.source};
        break;
    }
    case PMIX_GROUP_CONSTRUCT_ABORT:
        forget(event.group, event.source);
        break;
    default:
        break;
    }
    return std::nullopt;
}

bool GroupInvitations::is_of_invited(const GroupEvent &event) const {
    auto invitation = std::find_if(invitations_.begin(), invitations_.end(), [&](const Invitation &each) {
        return each.group == event.group && same(each.leader, event.source);
    });
    if (invitation == invitations_.end() || event.targets.empty())
        return false;
    return std::all_of(event.targets.begin(), event.targets.end(), [&](const Process &each) {
        if (each.wildcard) // only who was invited in that way
            return invitation->invited.contains(each.nspace, PMIX_RANK_WILDCARD);
        return same(each, invitation->leader) || invitation->invited.contains(each.nspace, each.rank);
    });
}

void GroupInvitations::answer(const GroupEvent &event, bool accepted) {
    for (auto &invitation : invitations_) {
        bool meant = event.targets.empty() || contains(event.targets, invitation.leader);
        bool named = event.group.empty() || event.group == invitation.group;
        if (!meant || !named || !invitation.invited.contains(event.source.nspace, event.source.rank) ||
            invitation.answered.contains(key(event.source)))
            continue;
        note(invitation, event.source, accepted);
        return forget_oldest();
    }
}

void GroupInvitations::note(Invitation &invitation, const Process &process, bool accepted) {
    cost_ -= invitation.cost();
    invitation.answered[key(process)] = accepted;
    cost_ += invitation.cost();
}

void GroupInvitations::forget(Place place) {
    cost_ -= place->cost();
    invitations_.erase(place);
}

void GroupInvitations::forget(const Bytes &group, const Process &leader) {
    for (auto at = invitations_.begin(); at != invitations_.end();) {
        auto place = at++;
        if (place->group == group && same(place->leader, leader))
            forget(place);
    }
}

void GroupInvitations::forget_oldest() {
    while (invitations_.size() > max_invitations || cost_ > max_members)
        forget(invitations_.begin());
}

std::vector<GroupInvitations::Notice> GroupInvitations::on_ended(const Process &process) {
    std::vector<Notice> notices;
    for (auto at = invitations_.begin(); at != invitations_.end();) {
        auto invitation = at++;
        if (same(invitation->leader, process)) {
            auto recipients = invitation->invited.all();
            std::erase_if(recipients, [&](const Process &each) {
                auto said = invitation->answered.find(key(each));
                return !each.wildcard && said != invitation->answered.end() && !said->second;
            });
            notices.push_back({PMIX_GROUP_LEADER_FAILED, invitation->group, std::move(recipients)});
            forget(invitation);
        } else if (invitation->invited.contains(process.nspace, process.rank)) {
            auto said = invitation->answered.find(key(process));
            bool answered = said != invitation->answered.end();
            if (!answered || said->second)
                notices.push_back({answered ? PMIX_GROUP_MEMBER_FAILED : PMIX_GROUP_INVITE_FAILED,
                                   invitation->group,
                                   {invitation->leader}});
            note(*invitation, process, false);
        }
    }
    forget_oldest();
    return notices;
}

} // namespace pmixhost
