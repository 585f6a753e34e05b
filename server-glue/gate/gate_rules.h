// The site's rules, as the gate asks them: may this user, on this host, look at jobs of that one? Without that a
// tool has nothing to come for; what it may do beyond, each job's daemon decides (common/policy/policy.h). Users'
// own files are not read: those concern their own jobs, whose daemons read them. So who comes to the own jobs is let
// in where the site leaves it to that file.
//
// Who comes to others' jobs needs every right there (decisions/gate.md), or the one that a command takes which that
// job's user is to run, from one of this host's addresses, as they were when the rules were read: the daemon sees such
// an address, and this host itself only where there is none. Which one it sees is not known here: a command's right
// is enough where that holds from more of them.
//
// Rules, and accounts with their groups, are read in threads. All else in the loop's thread.
#pragma once

#include "common/base/log.h"
#include "common/base/user_lines.h"
#include "common/config/config.h"
#include "common/loop/slow_calls.h"
#include "common/policy/policy.h"

#include <map>
#include <optional>

namespace pmixhost {

class GateRules {
  public:
    struct Read {
        Settings settings;
        policy::Policy policy;
        std::vector<std::string> wrong;         // closes the policy
        bool has_settings = false;              // else these are the defaults
        std::vector<policy::Network> addresses; // of this host
    };
    // Reads the configuration, and may wait for a directory service. What is wrong with it refuses every tool.
    static Read read(const std::string &config);

    using Done = std::function<void(const Settings &)>;
    static constexpr Duration again_in = std::chrono::minutes(1);
    // `read` is what read(config) gave. As long as something is wrong, `config` is read again after `again` and again:
    // a directory service may only not have been there. `done` gets the settings each time that others are in force
    // than those of `read`; where the configuration is so wrong that it has none, it is not called.
    GateRules(EventLoop &loop, Log &log, Read read, std::string config, Done done, Duration again = again_in);
    // From now on as the configuration says now.
    void reload();
    struct Question {
        uid_t asker = 0;
        uid_t owner = 0;      // of the jobs
        pid_t pid = 0;        // for the log
        std::string job = ""; // likewise; empty: all of them
        // Of jobs of others: what would do where the rules do not give everything.
        std::optional<policy::Action> action = std::nullopt;
        policy::Location from = policy::Location::here(); // of the own jobs: where who asks is
    };
    enum class Given { everything, action }; // of the own jobs: what tools come for
    // With a line in the log for what the rules say, twenty a minute of each user who asks; for who is let in to jobs
    // of others always, as a warning, so the caller bounds these. A refusal of theirs is `denied`, as no other failure
    // is, and says where the rule stands. `done` comes later, or at once; no later than tools wait (tool_gate.h), of
    // somebody else's jobs than the asker's twice as late.
    void judge(Question question, std::function<void(Result<Given>)> done);

    // Is there a rule, of the site's or perhaps of a user's, by which any user's tool might come from there? Without it
    // nothing need be asked.
    bool may_anybody_come(const policy::Location &from) const {
        return policy_.may_anybody(policy::Action::observe, from);
    }

  private:
    using Found = std::function<void(const Result<policy::Person> &)>;
    struct Known {
        policy::Person person;
        TimePoint until;
    };
    void find(uid_t user, Found found);
    Result<Given> decide(const policy::Person &asker, const policy::Person &owner, const Question &question);
    policy::Decision decide_on_others(policy::Request &request, Given &given,
                                      std::optional<policy::Action> action) const;
    policy::Decision decide_on_own(const policy::Request &request) const;
    void read_again_later(bool was_asked_for);
    void use(Read read, bool was_asked_for);
    void read_again(bool was_asked_for);

    EventLoop &loop_;
    Log &log_;
    const std::string config_;
    const Done done_;
    const Duration again_;
    std::vector<std::string> wrong_; // as the log has it
    policy::Policy policy_;
    std::map<uid_t, Known> known_;
    std::vector<policy::Network> addresses_;
    std::map<uid_t, std::vector<Found>> asked_; // of whom the account is looked up
    UserLines lines_;
    SlowCalls accounts_, files_;
    EventLoop::Handle next_reading_;
};

} // namespace pmixhost
