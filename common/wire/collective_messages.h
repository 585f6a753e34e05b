// Collectives along the tree of a step (server-glue/collective/collective.h).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/rank_set.h"

#include <algorithm>

namespace pmixhost::wire {

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
    std::uint8_t all = 0; // 1: every rank of the namespace; ranks is empty then
    RankSet ranks;
    static constexpr void fields(auto &&field) {
        field(&Members::nspace, "nspace", "namespace");
        field(&Members::all, "all", "1: every rank of it");
        field(&Members::ranks, "ranks", "else these");
    }
};
// The content of the `signature` of the messages, which match by its bytes (server-glue/core/signature.h).
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
    bool contains(const Bytes &nspace, std::uint32_t rank) const {
        return std::any_of(members.begin(), members.end(), [&](const Members &each) {
            return each.nspace == nspace && (each.all != 0 || each.ranks.contains(rank));
        });
    }
};

struct Contribution {
    static constexpr const char *name = "Contribution";
    std::uint32_t host = 0;
    Bytes data;
    static constexpr void fields(auto &&field) {
        field(&Contribution::host, "host", "whose it is");
        field(&Contribution::data, "data", "the blob of that host's library");
    }
};
struct CollectiveUp {
    static constexpr std::uint8_t type = 16;
    static constexpr const char *name = "CollectiveUp";
    static constexpr const char *text = "a subtree, or one of two hosts, has entered a collective, or cannot end it";
    Bytes signature;
    std::uint64_t sequence = 0;
    std::int32_t status = 0;
    std::vector<Contribution> contributions;
    static constexpr void fields(auto &&field) {
        field(&CollectiveUp::signature, "signature", "kind and participants, canonical");
        field(&CollectiveUp::sequence, "sequence", "how many of this signature came before");
        field(&CollectiveUp::status, "status", "0, or a PMIx status that ends it for all");
        field(&CollectiveUp::contributions, "contributions", "of every host of the subtree that has data");
    }
};
struct CollectiveDown {
    static constexpr std::uint8_t type = 17;
    static constexpr const char *name = "CollectiveDown";
    static constexpr const char *text = "a collective is complete, or has failed for all";
    Bytes signature;
    std::uint64_t sequence = 0;
    std::int32_t status = 0;
    std::vector<Contribution> contributions;
    static constexpr void fields(auto &&field) {
        field(&CollectiveDown::signature, "signature", "as in CollectiveUp");
        field(&CollectiveDown::sequence, "sequence", "as in CollectiveUp");
        field(&CollectiveDown::status, "status", "0, or the PMIx status for every participant");
        field(&CollectiveDown::contributions, "contributions", "of every participating host that has data");
    }
};
struct CollectiveProbe {
    static constexpr std::uint8_t type = 18;
    static constexpr const char *name = "CollectiveProbe";
    static constexpr const char *text = "a collective waits for this subtree: say so if a participant has gone";
    Bytes signature;
    std::uint64_t sequence = 0;
    static constexpr void fields(auto &&field) {
        field(&CollectiveProbe::signature, "signature", "as in CollectiveUp");
        field(&CollectiveProbe::sequence, "sequence", "as in CollectiveUp");
    }
};
struct CollectiveComplete {
    static constexpr std::uint8_t type = 19;
    static constexpr const char *name = "CollectiveComplete";
    static constexpr const char *text = "a collective is complete, and its CollectiveDown comes in pieces";
    Bytes signature;
    std::uint64_t sequence = 0;
    std::uint32_t count = 0;
    std::uint32_t total = 0;
    static constexpr void fields(auto &&field) {
        field(&CollectiveComplete::signature, "signature", "as in CollectiveUp");
        field(&CollectiveComplete::sequence, "sequence", "as in CollectiveUp");
        field(&CollectiveComplete::count, "count", "how many pieces there are");
        field(&CollectiveComplete::total, "total", "bytes of all of them");
    }
};
struct CollectivePiece {
    static constexpr std::uint8_t type = 24;
    static constexpr const char *name = "CollectivePiece";
    static constexpr const char *text = "a piece of a large CollectiveDown, from the parent or a child of the same one";
    Bytes signature;
    std::uint64_t sequence = 0;
    std::uint32_t index = 0;
    std::uint32_t count = 0;
    std::uint32_t total = 0;
    Bytes bytes;
    static constexpr void fields(auto &&field) {
        field(&CollectivePiece::signature, "signature", "as in CollectiveUp");
        field(&CollectivePiece::sequence, "sequence", "as in CollectiveUp");
        field(&CollectivePiece::index, "index", "which piece, from 0");
        field(&CollectivePiece::count, "count", "as in CollectiveComplete");
        field(&CollectivePiece::total, "total", "as in CollectiveComplete");
        field(&CollectivePiece::bytes, "bytes", "of the encoded CollectiveDown; all but the last have as many");
    }
};
struct CollectiveTaken {
    static constexpr std::uint8_t type = 25;
    static constexpr const char *name = "CollectiveTaken";
    static constexpr const char *text = "to the parent: all pieces are here";
    Bytes signature;
    std::uint64_t sequence = 0;
    static constexpr void fields(auto &&field) {
        field(&CollectiveTaken::signature, "signature", "as in CollectiveUp");
        field(&CollectiveTaken::sequence, "sequence", "as in CollectiveUp");
    }
};

} // namespace pmixhost::wire
