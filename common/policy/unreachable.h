// Finds rules that can never match because the rules before them match all that they could: a mistake in the order, for
// `pmixhost config --check`.
//
// Several rules may cover one together, and each item of its lists may be covered by others. That a user is in a group
// is not looked up, since it may change: a rule for a group does not hide one for a user.
//
// Pure. Takes time in the square of the number of rules, times the products of their lists, up to a limit: not for a
// daemon. A user's file is looked at by an administrator's command, too, and must not hold it up.
#pragma once

#include "common/policy/rule.h"

#include <optional>
#include <sys/types.h>
#include <vector>

namespace pmixhost::policy {

// One for each such rule: "PLACE: the rule can never match: ...". `file_of`: the rules are those of this user's own
// file, which concern this user's jobs alone. The last one (limit) says from which rule on none was looked at, where
// that would take more than `most` comparisons: the default takes some seconds.
inline constexpr std::size_t most_comparisons = 100'000'000;
std::vector<Error> never_matching(const std::vector<Rule> &rules, std::optional<uid_t> file_of = std::nullopt,
                                  std::size_t most = most_comparisons);

} // namespace pmixhost::policy
