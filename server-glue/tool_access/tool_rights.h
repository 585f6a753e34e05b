// What the rules for tools (common/policy) give the tools of a step's daemon. They are all the job's own user's: the
// guard lets nobody else in. They are on this host, or on that of a desk (step_desks.h). So there is one decision for
// each action and place.
//
// The rules are read when the first tool comes, in a thread of its own, because names of users and groups and the
// user's file may take their time; a job that no tool visits pays nothing. All else in the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/base/rate_limit.h"
#include "common/loop/worker.h"
#include "common/policy/own_rules.h"

#include <optional>

namespace pmixhost {

class ToolRights {
  public:
    ToolRights(EventLoop &loop, Log &log, const Settings &settings) : loop_(loop), log_(log), settings_(settings) {}

    struct Question {
        policy::Action action;
        std::string from;     // the numeric address of the host that the tool is on; empty: this host
        pid_t pid = 0;        // for the log; 0: not known
        std::string job = ""; // likewise
    };
    bool switched_off() const { return settings_.tools_enabled != "on"; }
    // Nothing: the rules are being read, ask again soon.
    std::optional<policy::Decision> decide(const Question &question);
    // The same as a word, with a line in the log, of which there are only so many a minute. Not known is no.
    bool may(const Question &question);

  private:
    policy::Request request_of(const Question &question) const;

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    bool reading_ = false;
    RateLimit lines_{60};
    std::optional<policy::OwnRules> rules_;
    std::optional<Worker> worker_; // last, so that it ends first
};

} // namespace pmixhost
