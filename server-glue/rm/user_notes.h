// A facet of the RM's backend (rm_backend.h): lines on the user's terminal while the step goes on. Without it
// they stand in the daemon's log alone.
#pragma once

#include "common/base/result.h"

#include <functional>
#include <string>

namespace pmixhost {

class RmUserNotes {
  public:
    virtual ~RmUserNotes() = default;
    // Shows one line, without its line break. Errors: unreachable.
    virtual void tell_user(std::string line, std::function<void(Result<void>)> done) = 0;
};

} // namespace pmixhost
