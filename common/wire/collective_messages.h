// Collectives along the tree of a step (server-glue/collective/collective.h).
#pragma once

#include "common/wire/codec.h"

namespace pmixhost::wire {

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

} // namespace pmixhost::wire
