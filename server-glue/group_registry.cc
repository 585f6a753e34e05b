// See group_registry.h.
#include "server-glue/group_registry.h"

#include <algorithm>

namespace pmixhost {

static bool is(const Process &member, const Bytes &nspace, Rank rank) {
    return member.nspace == nspace && (member.wildcard || member.rank == rank);
}

bool GroupRegistry::add(Group group) {
    if (groups_.size() >= max_groups && !groups_.contains(group.name))
        return false;
    Bytes name = group.name;
    groups_.insert_or_assign(std::move(name), std::move(group));
    return true;
}

bool GroupRegistry::remove(const Bytes &name) {
    return groups_.erase(name) > 0;
}

void GroupRegistry::remove_member(const Bytes &name, const Bytes &nspace, Rank rank) {
    auto found = groups_.find(name);
    if (found == groups_.end())
        return;
    std::erase_if(found->second.members, [&](const Process &member) {
        return !member.wildcard && is(member, nspace, rank);
    });
    if (found->second.members.empty())
        groups_.erase(found);
}

const Group *GroupRegistry::find(const Bytes &name) const {
    auto found = groups_.find(name);
    return found == groups_.end() ? nullptr : &found->second;
}

std::vector<const Group *> GroupRegistry::of(const Bytes &nspace, Rank rank) const {
    std::vector<const Group *> out;
    for (const auto &[name, group] : groups_) {
        if (std::any_of(group.members.begin(), group.members.end(),
                        [&](const Process &member) { return is(member, nspace, rank); }))
            out.push_back(&group);
    }
    return out;
}

Result<std::vector<Process>> GroupRegistry::expand(std::vector<Process> processes) const {
    if (groups_.empty())
        return processes;
    std::vector<Process> out;
    for (auto &process : processes) {
        const Group *group = find(process.nspace);
        if (!group)
            out.push_back(std::move(process));
        else if (process.wildcard && !group->members.empty()) // or it would stand for everybody
            out.insert(out.end(), group->members.begin(), group->members.end());
        else if (process.rank < group->members.size())
            out.push_back(group->members[process.rank]);
        else
            return error(ErrorKind::not_found, "the group {} has no rank {}", process.nspace,
                         process.rank);
    }
    return out;
}

} // namespace pmixhost
