// What the rules for tools (common/policy) give the tools of a step's daemon. Those of this host are the job's own
// user's: the guard lets nobody else in. Those that a desk relays (step_desks.h) may be another user's, to whom the
// site gives everything on this job. So there is one decision for each action, place and user. A tool that has come to
// its desk from a third host has what the rules give to both hosts.
//
// The rules are read when the first tool comes, in a thread of its own, because names of users and groups and the
// user's file may take their time; a job that no tool visits pays nothing. So are the groups of another user, who is
// asked for again when an hour has passed. What does not come in time refuses every tool, and says so; it is read again
// for a tool that comes later, as are rules whose names could not be looked up. All else in the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/base/user_lines.h"
#include "common/loop/slow_calls.h"
#include "common/policy/own_rules.h"
#include "server-glue/guard/tool_visitor.h"

#include <map>
#include <optional>
#include <tuple>

namespace pmixhost {

// How long a reading may take: less than tools wait for their server (guard/connection_guard.h), and desks
// (desk/desk_server.h), so that these hear the reason; but who comes by the gate waits 8 s alone
// (desk/gate_desk.cc), and the log has it. And when one that has failed is done again: who comes then waits for it.
struct RightsTimes {
    Duration patience = std::chrono::seconds(20), again = std::chrono::seconds(30);
};

class ToolRights {
  public:
    using Reader = std::function<policy::OwnRules(const Settings &)>; // in another thread
    ToolRights(EventLoop &loop, Log &log, const Settings &settings, Reader reader = policy::read_own_rules,
               RightsTimes times = {})
        : loop_(loop), log_(log), settings_(settings), reader_(std::move(reader)), times_(times) {}

    struct Question {
        policy::Action action;
        ToolOrigin origin;
        pid_t pid = 0;        // for the log; 0: not known
        std::string job = ""; // likewise
    };
    bool switched_off() const { return settings_.tools_enabled != "on"; }
    // Nothing: the rules are being read, or who asks is looked up; ask again soon.
    std::optional<policy::Decision> decide(const Question &question);
    // The same as a word, with a line in the log, of which there are only so many a minute, of each tool and of all.
    // Where the log is a file of the site's they are written whatever log.level says, which users may set. Not known is
    // no.
    bool may(const Question &question);

  private:
    struct Asker {
        std::optional<Result<policy::Person>> person; // nothing: it is being looked up
        TimePoint again = TimePoint::max();           // when it is looked up again
    };
    void read_rules();
    void use(Result<policy::OwnRules> read);
    SlowCalls &calls();
    void look_up(uid_t user);
    struct Judged {
        policy::Request request; // of the place that decided
        policy::Decision decision;
    };
    policy::Request request_of(const Question &question, const std::string &address) const;
    Judged judge(const Question &question) const;
    std::optional<std::size_t> admit_line(const Question &question);

    EventLoop &loop_;
    Log &log_;
    const Settings &settings_;
    const Reader reader_;
    const RightsTimes times_;
    bool reading_ = false, failed_ = false; // the reading before
    TimePoint read_at_{};                   // when the rules are read for who comes then
    std::vector<std::string> wrong_;        // with them, as the log has it
    LinesOf<std::tuple<ToolOrigin, pid_t, policy::Action>> lines_;
    RateLimit all_lines_{600};
    std::size_t not_logged_ = 0; // of those that had been counted, but for the other limit
    std::optional<policy::OwnRules> rules_;
    std::map<uid_t, Asker> askers_;
    std::optional<SlowCalls> calls_; // last, so that it ends first
};

} // namespace pmixhost
