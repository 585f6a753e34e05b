// What the rules for tools (common/policy) give the tools of a step's daemon. They are all the job's own user's, and on
// this host: the guard lets nobody else in. So there is one decision for each action.
//
// The rules are read when the first tool comes, in a thread of its own, because names of users and groups and the
// user's file may take their time; a job that no tool visits pays nothing. All else in the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/base/rate_limit.h"
#include "common/loop/worker.h"
#include "common/policy/policy.h"

#include <array>
#include <optional>

namespace pmixhost {

class ToolRights {
  public:
    ToolRights(EventLoop &loop, Log &log, const Settings &settings) : loop_(loop), log_(log), settings_(settings) {}

    bool switched_off() const { return settings_.tools_enabled != "on"; }
    // Nothing: the rules are being read, ask again soon.
    const policy::Decision *decision(policy::Action action);
    // The same as a word, with a line in the log, of which there are only so many a minute. Not known is no.
    bool may(policy::Action action, pid_t pid, const std::string &job);

  private:
    using Decisions = std::array<policy::Decision, std::size(policy::action_names)>;
    struct Read {
        Decisions decisions;
        std::vector<std::string> wrong; // what is wrong with the rules
    };
    static Result<Read> read(const Settings &settings);

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    bool reading_ = false;
    RateLimit lines_{60};
    std::optional<Decisions> decisions_;
    std::optional<Worker> worker_; // last, so that it ends first
};

} // namespace pmixhost
