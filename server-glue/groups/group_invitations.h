// Invitations to groups (PMIx_Group_invite) that are under way, as far as this host sees their events. libpmix builds
// such a group by events between the processes alone, so nobody but the host environment sees what becomes of it when
// one of them ends. Pure: events and ends in, events out.
//
// An answer does not name its group (libpmix 4.2.2), only the leader: it is taken for the oldest
// invitation of that leader that its sender has not yet answered.
#pragma once

#include "server-glue/groups/group_registry.h"

#include <list>

namespace pmixhost {

// What is of interest in an event between processes.
struct GroupEvent {
    std::int32_t code = 0; // PMIX_GROUP_...
    Process source;
    Bytes group;                  // empty when it names none
    std::vector<Process> targets; // its custom range; empty: everybody
};

class GroupInvitations {
  public:
    // Beyond these the oldest are forgotten.
    static constexpr std::size_t max_invitations = 10'000;
    static constexpr std::size_t max_members = 1'000'000; // runs of them, and answers

    // Has an event with this code to be given to on_event()?
    static bool is_of_interest(std::int32_t code);
    // Returns the group, when its leader says that it is complete, and has invited its members, as far as was seen
    // here: each host of a member sees the invitation before.
    std::optional<Group> on_event(const GroupEvent &event);

    struct Notice {
        std::int32_t code; // PMIX_GROUP_INVITE_FAILED, PMIX_GROUP_MEMBER_FAILED or PMIX_GROUP_LEADER_FAILED
        Bytes group;
        std::vector<Process> recipients;
    };
    // A process has ended. If it is an invitee that has not answered, or has accepted and the group is not complete,
    // the leader is told; if it is the leader of a group that is not complete, those that have not declined are told.
    std::vector<Notice> on_ended(const Process &process);

    std::size_t size() const { return invitations_.size(); }

  private:
    struct Invitation {
        Bytes group;
        Process leader;
        MemberList invited;                              // but for the leader
        std::map<std::pair<Bytes, Rank>, bool> answered; // or ended; true: accepted
        std::size_t cost() const { return invited.runs() + answered.size(); }
    };
    using Place = std::list<Invitation>::iterator;
    bool is_of_invited(const GroupEvent &event) const;
    void answer(const GroupEvent &event, bool accepted);
    void note(Invitation &invitation, const Process &process, bool accepted);
    void forget(Place place);
    void forget(const Bytes &group, const Process &leader);
    void forget_oldest();
    std::list<Invitation> invitations_; // oldest first
    std::size_t cost_ = 0;
};

} // namespace pmixhost
