// Direct modex (server-glue/modex/modex.h), and what a host that leaves hands over
// (server-glue/modex/handing_over.h).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/relayed.h"

namespace pmixhost::wire {

struct ModexRequest {
    static constexpr std::uint8_t type = 20;
    static constexpr const char *name = "ModexRequest";
    static constexpr const char *text = "what has this process posted?";
    std::uint64_t id = 0;
    Bytes nspace;
    std::uint32_t rank = 0;
    std::uint32_t timeout_ms = 0;
    Bytes key = {};
    std::uint32_t key_ms = 0;
    static constexpr void fields(auto &&field) {
        field(&ModexRequest::id, "id", "chosen by the asking daemon");
        field(&ModexRequest::nspace, "nspace", "namespace of the process");
        field(&ModexRequest::rank, "rank", "its rank");
        field(&ModexRequest::timeout_ms, "timeout_ms", "how long the asker waits");
        field(&ModexRequest::key, "key", "what it has posted must contain this; empty: anything will do");
        field(&ModexRequest::key_ms, "key_ms", "for how long; then anything will do");
    }
};
struct ModexReply {
    static constexpr std::uint8_t type = 21;
    static constexpr const char *name = "ModexReply";
    static constexpr const char *text = "the posted data, or why there is none";
    using Answers = ModexRequest;
    static constexpr Relayed relayed{.is_asked_again = true};
    std::uint64_t id = 0;
    std::int32_t status = 0;
    Bytes data;
    static constexpr void fields(auto &&field) {
        field(&ModexReply::id, "id", "as in ModexRequest");
        field(&ModexReply::status, "status", "0 or a PMIx status");
        field(&ModexReply::data, "data", "the library's modex blob");
    }
};
// The data of a connect, one behind the other.
struct PostedData {
    static constexpr const char *name = "PostedData";
    std::uint32_t rank = 0;
    Bytes cpuset;
    Bytes data;
    static constexpr void fields(auto &&field) {
        field(&PostedData::rank, "rank", "of the namespace whose part it is in");
        field(&PostedData::cpuset, "cpuset", "PMIX_CPUSET; empty: unknown");
        field(&PostedData::data, "data", "the library's modex blob; empty: not known here");
    }
};
struct PostedByEnded {
    static constexpr std::uint8_t type = 22;
    static constexpr const char *name = "PostedByEnded";
    static constexpr const char *text =
        "what the processes of a host that leaves had posted, to the heir of that host, which answers PostedKept";
    Bytes posted;
    static constexpr void fields(auto &&field) {
        field(&PostedByEnded::posted, "posted", "PostedData, one behind the other");
    }
};
struct PostedKept {
    static constexpr std::uint8_t type = 23;
    static constexpr const char *name = "PostedKept";
    static constexpr const char *text = "the heir has it, or leaves too";
    std::uint8_t kept = 0;
    static constexpr void fields(auto &&field) { field(&PostedKept::kept, "kept", "0: the next one is to be asked"); }
};

} // namespace pmixhost::wire
