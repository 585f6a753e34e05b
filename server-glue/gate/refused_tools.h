// What the gate has refused of each user's tools, for that user to hear (common/rendezvous/gate_door.h). A tool that is
// refused sees its connection close, whatever the reason (contrib/doc/decisions/gate.md), and the gate's log is the
// administrator's.
//
// Bounded: of each user a number and the last reason, for an hour behind it, and so many users.
//
// Pure: the caller has the clock, and knows who asks.
#pragma once

#include "common/loop/event_loop.h"
#include "common/rendezvous/gate_door.h"

#include <map>
#include <string>
#include <sys/types.h>

namespace pmixhost {

class RefusedTools {
  public:
    static constexpr Duration kept = std::chrono::hours(1);
    static constexpr std::size_t most_users = 4096; // whoever was refused the longest ago makes room
    static constexpr std::size_t longest_why = 500; // bytes

    void note(uid_t user, const std::string &why, TimePoint now);
    Refusals of(uid_t user, TimePoint now) const;
    std::size_t users() const { return all_.size(); }

  private:
    struct Refused {
        std::uint64_t count = 0;
        TimePoint first, last;
        std::string why;
    };
    void make_room();

    std::map<uid_t, Refused> all_;
};

} // namespace pmixhost
