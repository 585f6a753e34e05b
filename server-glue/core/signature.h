// Who takes part in a collective, in one canonical form: libpmix hands participants over in any
// order, and every host must come to the same bytes to match its part with the others'.
#pragma once

#include "common/job/job_map.h"
#include "common/wire/codec.h"

#include <functional>

namespace pmixhost {

// Two collectives of different kind over the same processes never mix.
enum class CollectiveKind : std::uint8_t {
    fence = 1,
    connect = 2,
    disconnect = 3,
    group_construct = 4,
    group_destruct = 5
};

// The participants of one namespace.
struct Members {
    static constexpr const char *name = "Members";
    Bytes nspace;
    std::uint8_t all = 0;             // 1: every rank of the namespace; ranks is empty then
    std::vector<std::uint32_t> ranks; // ascending, distinct
    static constexpr void fields(auto &&field) {
        field(&Members::nspace, "nspace", "namespace");
        field(&Members::all, "all", "1: every rank of it");
        field(&Members::ranks, "ranks", "else these, ascending");
    }
};

struct Signature {
    static constexpr const char *name = "Signature";
    CollectiveKind kind = CollectiveKind::fence;
    std::vector<Members> members; // ascending by nspace
    Bytes group = {};             // its name, for the two kinds of groups
    std::uint8_t tolerant = 0;    // 1: it does without participants that have gone
    static constexpr void fields(auto &&field) {
        field(&Signature::kind, "kind", "1 fence, 2 connect, 3 disconnect, 4 group construct, 5 group destruct");
        field(&Signature::members, "members", "per namespace");
        field(&Signature::group, "group", "name of the group");
        field(&Signature::tolerant, "tolerant", "1: goes on without participants that have gone");
    }
    bool of_group() const { return kind == CollectiveKind::group_construct || kind == CollectiveKind::group_destruct; }
    bool contains(const Bytes &nspace, Rank rank) const;
};

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

} // namespace pmixhost
