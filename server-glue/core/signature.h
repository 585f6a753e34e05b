// Who takes part in a collective, in one canonical form: libpmix hands participants over in any order, and every host
// must come to the same bytes to match its part with the others'. The order has no meaning to any collective: that of a
// group's members, which has one, is not in here (server-glue/groups/step_groups.h).
#pragma once

#include "common/job/job_map.h"
#include "common/wire/collective_messages.h"

#include <functional>
#include <string_view>
#include <vector>

namespace pmixhost {

using wire::CollectiveKind;
using wire::Members;
using wire::Signature;

// A size that stands for a namespace that exists elsewhere: its ranks are taken as they are named.
inline constexpr Rank size_unknown = UINT32_MAX;
// PMIX_RANK_VALID: what is above has a meaning of its own (undefined, the local peers, ...), and is no process' rank.
inline constexpr Rank highest_rank = UINT32_MAX - 50;

struct Process {
    Bytes nspace;
    Rank rank = 0;
    bool wildcard = false;
};

// Sorts, removes doubles and turns a list of all ranks into `all` (size_of: the number of ranks of a namespace, 0 if
// there is none, or size_unknown). Fails (not_found) on a namespace or rank that does not exist.
Result<Signature> canonical(CollectiveKind kind, const std::vector<Process> &participants,
                            const std::function<Rank(const Bytes &)> &size_of);
// Reads what another daemon has sent. Fails (invalid) on all that canonical() and its callers do not make, so that
// there are no two keys of the same participants. Takes time and memory by the bytes, not by the ranks that are said to
// be there: there may be more of them than the namespace has.
Result<Signature> read_signature(std::string_view key);

} // namespace pmixhost
