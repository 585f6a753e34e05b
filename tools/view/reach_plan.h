// Which steps of other hosts are to be reached when, and what is to be said of those that were not: for commands that
// look at all jobs, once or again and again. Pure; what opens the ways to them is all_jobs.h.
#pragma once

#include "common/base/result.h"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace pmixhost {

class ReachPlan {
  public:
    using Time = std::chrono::steady_clock::time_point;
    // When one that was not reached is tried again; where no pmixhost serves it, unserved_step.h says that. The rules
    // of one that refused hold as long as it runs.
    static constexpr std::chrono::seconds next_wait{30};

    // Those of `steps` that are to be tried now; `steps` are all that run and are not reached. What is known of others
    // is forgotten.
    std::vector<std::string> due(const std::vector<std::string> &steps, Time now);
    // What came of trying one.
    void reached(const std::string &step) { failures_.erase(step); }
    void failed(const std::string &step, const Error &why, Time now);

    std::vector<std::string> complaints() const; // one for each cause, with the steps that it is of
    std::string unserved() const;                // a line; empty: there are none

  private:
    struct Failure {
        Error why;
        Time next;
        unsigned times = 1;
    };
    struct ByNumbers { // 9.0 is before 10.0
        bool operator()(const std::string &one, const std::string &other) const;
    };
    std::map<std::string, Failure, ByNumbers> failures_;
};

} // namespace pmixhost
