// What the site's rules come to for users on the jobs of others. Such a user comes by the gate of a host, which asks
// the site's rules alone and lets in who is given everything; for who is given less, a process of the owner runs the
// commands that take no more (contrib/doc/decisions/gate.md has why). Each job's daemon asks again, the owner's rules
// among them, for the address from which it sees that host. So a rule that gives a part of what no command does is
// obeyed by nobody, nor is one for "here", and whoever looks at rules has to be told.
//
// Pure.
#pragma once

#include "common/policy/policy.h"

#include <vector>

namespace pmixhost::policy {

// What commands take that the owner runs for others (common/rendezvous/asked_run.h).
inline constexpr std::uint8_t by_commands = bit_of(Action::observe) | bit_of(Action::output) | bit_of(Action::control);

// Whether somebody else than the owner comes to do that, and if so, on what condition. `site` has the site's rules
// alone, `all` the owner's, too. Where a rule has no effect, the note names it and says why.
Decision decide_on_others(const Policy &site, const Policy &all, const Request &request);

// One for each rule of the site that allows something, and nothing on the jobs of others though it speaks of these:
// "PLACE: the rule ...". Nothing is said of a rule of which that is not certain: who is in a group is not looked up,
// and rules that refuse are not considered. Takes time in the square of the number of rules, times the
// products of their lists.
std::vector<Error> without_effect_on_others(const std::vector<Rule> &site);

} // namespace pmixhost::policy
