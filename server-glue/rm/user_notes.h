// A facet of the RM's backend (rm_backend.h): lines on the user's terminal while the step goes on. Without it
// they stand in the daemon's log alone.
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <functional>
#include <string>

namespace pmixhost {

struct UserNote {
    // Of one of these subjects the first line of a step is enough, whichever host it comes from.
    // `stands` is not shown where another program has started the step and hears what becomes of it, as
    // `pmixhost debug` does.
    enum class Subject : std::uint8_t { own = 0, groups_of_versions = 1, turned_away = 2, stands = 3 };
    std::string line;
    Subject subject = Subject::own; // a line of its own, which is always shown
};

class RmUserNotes {
  public:
    virtual ~RmUserNotes() = default;
    // Shows one line, without its line break. Errors: unreachable.
    virtual void tell_user(UserNote note, std::function<void(Result<void>)> done) = 0;
    // Lets tools of the host where the user has started the step find it there: `offer` is a ToolOffer
    // (common/rendezvous/tool_offer.h). Errors: unsupported, unreachable.
    virtual void offer_tools(std::string, std::function<void(Result<void>)> done) {
        done(error(ErrorKind::unsupported, "this resource manager has no command that stays with the step"));
    }
};

} // namespace pmixhost
