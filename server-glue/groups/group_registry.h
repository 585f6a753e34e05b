// The process groups that this host knows: those that were built with one of its processes, from their completion
// until they are destructed. Queries about groups are answered from it, and it says what a group's name stands for in
// other calls. Pure.
#pragma once

#include "server-glue/groups/member_list.h"

#include <map>
#include <optional>

namespace pmixhost {

struct Group {
    Bytes name;
    MemberList members; // a wildcard stands for a whole namespace
    std::optional<std::uint64_t> context_id;
    bool tells_of_ends = false;                   // PMIX_GROUP_NOTIFY_TERMINATION
    bool tolerant = false;                        // built, and destructed, without members that have ended
    std::optional<Process> leader = std::nullopt; // of one that was built by invitation: who invited
};

class GroupRegistry {
  public:
    static constexpr std::size_t max_groups = 100'000;
    // The bound for all groups together (MemberList::runs): some 100 MB at most.
    static constexpr std::size_t max_runs = 4'000'000;
    static constexpr std::size_t max_expanded = 4'000'000; // processes

    // Is that the name of a group which the leader of this one, built by invitation, has no say in? What a
    // collective has built goes by a collective, or any process could put another one in its place by an event.
    bool is_taken(const Group &group) const;
    // Takes the place of one of the same name. False when that is taken, or when there are too many, or too many
    // members.
    bool add(Group group);
    // False when there is none of that name.
    bool remove(const Bytes &name);

    const Group *find(const Bytes &name) const;
    const std::map<Bytes, Group> &all() const { return groups_; } // by name
    struct Affected {
        const Group *group;
        std::vector<Rank> failed; // of the members, in the order in which they were given
    };
    // Groups that tell of the end of their members (tells_of_ends) and have some of these. Costs
    // O(log n) for each rank and group of n members.
    std::vector<Affected> affected(const Bytes &nspace, std::span<const Rank> ended) const;
    // Replaces names of groups by their members: all of them for the wildcard, else the one of that group rank. Fails
    // (not_found) on a group rank that is none.
    Result<std::vector<Process>> expand(std::vector<Process> processes) const;

  private:
    std::map<Bytes, Group> groups_;
    std::size_t runs_ = 0;
};

} // namespace pmixhost
