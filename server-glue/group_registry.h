// The process groups that this host knows: those that were built with one of its processes, from
// their completion until they are destructed. What queries about groups are answered from, and what
// a group's name stands for in other calls. Pure.
#pragma once

#include "server-glue/signature.h"

#include <map>
#include <optional>

namespace pmixhost {

struct Group {
    Bytes name;
    std::vector<Process> members; // in group-rank order; a wildcard stands for a whole namespace
    std::optional<std::uint64_t> context_id;
    bool tells_of_ends = false; // PMIX_GROUP_NOTIFY_TERMINATION
    bool tolerant = false;      // built, and destructed, without members that have ended
};

class GroupRegistry {
  public:
    static constexpr std::size_t max_groups = 100'000;

    // Takes the place of one of the same name. False when there are too many.
    bool add(Group group);
    // False when there is none of that name.
    bool remove(const Bytes &name);
    // A member has gone, or has left; the group stays while it has others.
    void remove_member(const Bytes &name, const Bytes &nspace, Rank rank);

    const Group *find(const Bytes &name) const;
    const std::map<Bytes, Group> &all() const { return groups_; } // by name
    // Those that have the process as a member.
    std::vector<const Group *> of(const Bytes &nspace, Rank rank) const;
    // With the names of groups replaced by their members: all of them for the wildcard, else the
    // one of that group rank. Fails (not_found) on a group rank that is none.
    Result<std::vector<Process>> expand(std::vector<Process> processes) const;

  private:
    std::map<Bytes, Group> groups_;
};

} // namespace pmixhost
