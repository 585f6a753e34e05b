// See group_invitations.h.
#include "server-glue/group_invitations.h"

#include <algorithm>
#include <pmix_common.h>

namespace pmixhost {

// A wildcard stands for every rank of its namespace.
static bool same(const Process &a, const Process &b) {
    return a.nspace == b.nspace && (a.wildcard || b.wildcard || a.rank == b.rank);
}
static bool contains(const std::vector<Process> &list, const Process &process) {
    return std::any_of(list.begin(), list.end(),
                       [&](const Process &each) { return same(each, process); });
}
static void remove(std::vector<Process> &list, const Process &process) {
    std::erase_if(list, [&](const Process &each) { return !each.wildcard && same(each, process); });
}

bool GroupInvitations::is_of_interest(std::int32_t code) {
    return code == PMIX_GROUP_INVITED || code == PMIX_GROUP_INVITE_ACCEPTED ||
           code == PMIX_GROUP_INVITE_DECLINED || code == PMIX_GROUP_CONSTRUCT_COMPLETE ||
           code == PMIX_GROUP_CONSTRUCT_ABORT;
}

std::optional<Group> GroupInvitations::on_event(const GroupEvent &event) {
    switch (event.code) {
    case PMIX_GROUP_INVITED: {
        Invitation invitation{event.group, event.source, event.targets, {}};
        remove(invitation.invited, event.source);
        if (invitation.group.empty() || invitation.invited.empty())
            break;
        std::erase_if(invitations_, [&](const Invitation &each) {
            return each.group == event.group && same(each.leader, event.source);
        });
        if (invitations_.size() >= max_invitations)
            invitations_.pop_front();
        invitations_.push_back(std::move(invitation));
        break;
    }
    case PMIX_GROUP_INVITE_ACCEPTED:
        answer(event, true);
        break;
    case PMIX_GROUP_INVITE_DECLINED:
        answer(event, false);
        break;
    case PMIX_GROUP_CONSTRUCT_COMPLETE:
    case PMIX_GROUP_CONSTRUCT_ABORT:
        std::erase_if(invitations_, [&](const Invitation &each) {
            return each.group == event.group && same(each.leader, event.source);
        });
        if (event.code == PMIX_GROUP_CONSTRUCT_COMPLETE && !event.group.empty() &&
            !event.targets.empty())
            return Group{event.group, event.targets, std::nullopt, false, false};
        break;
    default:
        break;
    }
    return std::nullopt;
}

void GroupInvitations::answer(const GroupEvent &event, bool accepted) {
    for (auto &invitation : invitations_) {
        bool meant = event.targets.empty() || contains(event.targets, invitation.leader);
        bool named = event.group.empty() || event.group == invitation.group;
        if (!meant || !named || !contains(invitation.invited, event.source) ||
            contains(invitation.answered, event.source))
            continue;
        invitation.answered.push_back(event.source);
        if (!accepted)
            remove(invitation.invited, event.source);
        return;
    }
}

std::vector<GroupInvitations::Notice> GroupInvitations::on_ended(const Process &process) {
    std::vector<Notice> notices;
    for (auto at = invitations_.begin(); at != invitations_.end();) {
        auto invitation = at++;
        if (same(invitation->leader, process)) {
            notices.push_back({PMIX_GROUP_LEADER_FAILED, invitation->group, invitation->invited});
            invitations_.erase(invitation);
        } else if (contains(invitation->invited, process)) {
            if (!contains(invitation->answered, process))
                notices.push_back(
                    {PMIX_GROUP_INVITE_FAILED, invitation->group, {invitation->leader}});
            invitation->answered.push_back(process);
            remove(invitation->invited, process);
        }
    }
    return notices;
}

} // namespace pmixhost
