// How many commands and visits on jobs of others (common/rendezvous/gate_door.h) the gate has at a time, at all desks
// together: of one user who asks, and of all. At the desk of each user, and at each step, they are few anyway
// (DeskRuns, DeskVisits, StepDesks); but who may do something on jobs of many users would have so many of each, and
// keep all desks busy. One counts from when the rules are asked until who has asked has gone, or its desk.
//
// Pure.
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <map>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

class VisitLimits {
  public:
    using Id = std::uint64_t;
    // One user has at most a quarter of the desks busy (two of these at least, so that one can be looked at beside
    // another one), all of them together four times as many as there are desks.
    explicit VisitLimits(std::size_t desks) { set_desks(desks); }
    void set_desks(std::size_t desks); // those that are here stay
    std::size_t of_one() const { return of_one_; }
    std::size_t of_all() const { return of_all_; }

    // `asker` has come for a job of `owner`. Fails (limit) with what to do; then it is not counted.
    Result<void> come(Id id, uid_t asker, uid_t owner);
    // The desk of its owner has it.
    void handed_over(Id id);
    void gone(Id id); // of one that is not here, nothing happens
    std::vector<Id> of(uid_t asker) const;
    std::vector<Id> at_desk_of(uid_t owner) const;
    std::size_t size() const { return all_.size(); }

  private:
    struct Visit {
        uid_t asker, owner;
        bool at_desk = false;
    };
    std::size_t of_one_ = 0, of_all_ = 0;
    std::map<Id, Visit> all_;
};

} // namespace pmixhost
