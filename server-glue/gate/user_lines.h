// How many lines of the log each user can cause, so that a flood of one does not hide what is said of another.
//
// Pure: the caller has the clock.
#pragma once

#include "common/base/rate_limit.h"

#include <map>
#include <optional>
#include <sys/types.h>

namespace pmixhost {

class UserLines {
  public:
    // As RateLimit::admit().
    std::optional<std::size_t> admit(uid_t user, RateLimit::Time::time_point now) {
        if (users_.size() >= most)
            users_.clear();
        return users_.try_emplace(user, 20u).first->second.admit(now);
    }

  private:
    static constexpr std::size_t most = 4096;
    std::map<uid_t, RateLimit> users_;
};

} // namespace pmixhost
