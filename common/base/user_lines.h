// How many lines of the log each user, host or tool can cause, so that a flood of one does not hide what is said of
// others.
//
// Pure: the caller has the clock.
#pragma once

#include "common/base/rate_limit.h"

#include <map>
#include <optional>
#include <sys/types.h>

namespace pmixhost {

template <typename Whose> class LinesOf {
  public:
    // As RateLimit::admit().
    std::optional<std::size_t> admit(const Whose &whose, RateLimit::Time::time_point now) {
        if (all_.size() >= most)
            all_.clear();
        return all_.try_emplace(whose, 20u).first->second.admit(now);
    }

  private:
    static constexpr std::size_t most = 4096;
    std::map<Whose, RateLimit> all_;
};
using UserLines = LinesOf<uid_t>;

} // namespace pmixhost
