// Who may do what to whose jobs: the one place where that is decided, for the guard, the desk and the command alike.
//
// The site's rules (tools.policy) come first; of these the first that matches counts. What none of them matches is
// allowed to a user who is on this host for the user's own jobs, as is every signal, and refused otherwise. Nobody is
// excepted by number: root, and who a resource manager runs as, have what a rule gives them, beside what the kernel
// gives root anyway.
//
// The job's user may have rules too, for the user's own jobs (tools.user_policy):
//
//     the site's rules say    the user's rules say    tighten                loosen
//     refused                 anything                refused                refused
//     allowed, or no rule     refused                 refused                refused
//     allowed                 allowed, or no rule     allowed                allowed
//     no rule                 allowed                 as without any rule    allowed
//
// So under `tighten` the user's allow rules are exceptions of the user's later deny rules, and nothing else.
//
// Pure: no clock, no socket, no look-up. A Policy that is not changed may be asked by any thread. It fails closed: what
// cannot be read refuses everything.
#pragma once

#include "common/policy/rule.h"

#include <map>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pmixhost::policy {

// The uid is what the kernel, or munge, gives; never what somebody says of himself. The gids are all that the
// system's database gives the user (find_account() of common/policy/accounts.h), beside those of the process: it may
// have put one down (newgrp(1), a user namespace) to escape a rule that refuses it.
struct Person {
    uid_t uid = no_id;
    std::vector<gid_t> gids;
};

// Where who asks is. Not known matches no rule, not even one for anywhere.
struct Location {
    enum class Kind { unknown, here, address };
    Kind kind = Kind::unknown;
    Network address = {};

    // A process of this host, whose uid this host's kernel gives.
    static Location here() { return {Kind::here}; }
    // The other end of a connection. One of the loopback network is here.
    static Location at(const Network &address) {
        return address.is_loopback() ? here() : Location{Kind::address, address};
    }
    std::string text() const; // "this host", "10.1.2.3"
};

struct Request {
    Person asker;
    pid_t pid = 0; // for the log; 0: not known
    Location from;
    Person owner;    // whose job it is
    std::string job; // for the log; may be empty, and anything
    Action action = Action::observe;
};

struct Decision {
    bool allowed = false;
    PlacedText by;    // the rule, and where it stands: "/etc/pmixhost/pmixhost.conf:12", "built in"
    std::string note; // one sentence more for who asks why; mostly empty
};

enum class UserRules { off, tighten, loosen };

class Policy {
  public:
    // Refuses everything, as nothing was loaded.
    Policy();
    Policy(std::vector<Rule> site, UserRules users);
    // Refuses everything. `why` is what stands at `place`, or what is wrong there.
    static Policy closed(PlacedText why);

    // The rules of a user's own file, for the jobs of that user. A daemon that serves this user's jobs gives them
    // before it asks; what is given twice replaces. Without effect where users have no rules.
    void set_user_rules(uid_t user, std::vector<Rule> rules);
    // The user's file is there, but cannot be read or is wrong: everything is refused for that user's jobs.
    void close_user(uid_t user, PlacedText why);

    // Takes time in the number of rules.
    Decision decide(const Request &request) const;
    // Is it left to the owner's own file, which is not known here? No rule of the site's matches, and users may loosen.
    bool leaves_to_owner(const Request &request) const;
    // Does a rule of the site's let anybody do this from there, or may a user's? A no is certain; with a yes decide()
    // may still refuse.
    bool may_anybody(Action action, const Location &from) const;
    // Allowed where every action is; else what is decided of the first that is not, which `request` names then.
    Decision decide_everything(Request &request) const;

    const std::vector<Rule> &site_rules() const { return site_; }
    UserRules user_rules() const { return users_; }
    // Why everything is refused; empty when it is not.
    const std::optional<PlacedText> &closed_by() const { return closed_; }

  private:
    struct OfUser {
        std::vector<Rule> rules;
        std::optional<PlacedText> closed;
    };
    std::optional<PlacedText> closed_;
    std::vector<Rule> site_;
    UserRules users_ = UserRules::off;
    std::map<uid_t, OfUser> of_users_;
};

// What holds where no rule matches, as rules: the first that matches.
const std::vector<Rule> &built_in_rules();

bool matches(const Rule &rule, const Request &request);

// The line for the log, without a time: "tools: refused: uid 1001, pid 77, from 10.1.2.3: control of job 12.0 of uid
// 1000, by FILE:12 "deny ..."".
std::string log_line(const Request &request, const Decision &decision);

} // namespace pmixhost::policy
