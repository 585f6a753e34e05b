// See group_registry.h.
#include "server-glue/groups/group_registry.h"

#include <algorithm>
#include <set>

namespace pmixhost {

bool GroupRegistry::is_taken(const Group &group) const {
    const Group *old = find(group.name);
    if (!old || !group.leader)
        return false;
    auto is_leader = [&](const std::optional<Process> &one) {
        return one && one->nspace == group.leader->nspace && one->rank == group.leader->rank;
    };
    // A leader need not be a member of the group that it builds.
    return !is_leader(old->leader) &&
           (!old->leader || !old->members.contains(group.leader->nspace, group.leader->rank));
}

bool GroupRegistry::add(Group group) {
    if (is_taken(group))
        return false;
    auto old = groups_.find(group.name);
    std::size_t count = groups_.size(), runs = runs_ + group.members.runs();
    if (old != groups_.end()) {
        --count;
        runs -= old->second.members.runs();
    }
    if (count >= max_groups || runs > max_runs)
        return false;
    runs_ = runs;
    Bytes name = group.name;
    groups_.insert_or_assign(std::move(name), std::move(group));
    return true;
}

bool GroupRegistry::remove(const Bytes &name) {
    auto found = groups_.find(name);
    if (found == groups_.end())
        return false;
    runs_ -= found->second.members.runs();
    groups_.erase(found);
    return true;
}

const Group *GroupRegistry::find(const Bytes &name) const {
    auto found = groups_.find(name);
    return found == groups_.end() ? nullptr : &found->second;
}

std::vector<GroupRegistry::Affected> GroupRegistry::affected(const Bytes &nspace, std::span<const Rank> ended) const {
    std::vector<Affected> out;
    for (const auto &[name, group] : groups_) {
        if (!group.tells_of_ends)
            continue;
        if (auto failed = group.members.among(nspace, ended); !failed.empty())
            out.push_back({&group, std::move(failed)});
    }
    return out;
}

Result<std::vector<Process>> GroupRegistry::expand(std::vector<Process> processes) const {
    if (groups_.empty())
        return processes;
    std::vector<Process> out;
    std::set<const Group *> whole;
    for (auto &process : processes) {
        if (out.size() > max_expanded)
            return error(ErrorKind::limit, "more than {} processes are named by groups", max_expanded);
        const Group *group = find(process.nspace);
        if (group && process.wildcard && !whole.insert(group).second)
            continue; // each once
        if (!group)
            out.push_back(std::move(process));
        else if (process.wildcard && !group->members.empty()) // or it would stand for everybody
            std::ranges::move(group->members.all(), std::back_inserter(out));
        else if (group->members.size() == 1 && group->members.at(0).wildcard)
            out.push_back({group->members.at(0).nspace, process.rank, false});
        else if (process.rank < group->members.size())
            out.push_back(group->members.at(process.rank));
        else
            return error(ErrorKind::not_found, "the group {} has no rank {}", process.nspace, process.rank);
    }
    return out;
}

} // namespace pmixhost
