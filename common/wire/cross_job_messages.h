// What is known of other namespaces (server-glue/cross_job), and operations over several of them
// (server-glue/collective/session_collective.h).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/collective_messages.h"
#include "common/wire/modex_messages.h"
#include "common/wire/names.h"
#include "common/wire/relayed.h"

namespace pmixhost::wire {

struct HostRanks {
    static constexpr const char *name = "HostRanks";
    Bytes host;
    std::vector<RankRun> ranks;
    static constexpr void fields(auto &&field) {
        field(&HostRanks::host, "host", "name of the host");
        field(&HostRanks::ranks, "ranks", "its ranks, by local rank");
    }
};
// What the processes of other namespaces may know of one.
struct NamespaceInfo {
    static constexpr const char *name = "NamespaceInfo";
    Bytes nspace;
    Bytes job_id;
    std::uint32_t universe_size = 0;
    std::vector<HostRanks> hosts;
    Bytes process_sets;
    Bytes shares_fate_with;
    static constexpr void fields(auto &&field) {
        field(&NamespaceInfo::nspace, "nspace", "its name");
        field(&NamespaceInfo::job_id, "job_id", "PMIX_JOBID");
        field(&NamespaceInfo::universe_size, "universe_size", "PMIX_UNIV_SIZE");
        field(&NamespaceInfo::hosts, "hosts", "in the order of the node ids");
        field(&NamespaceInfo::process_sets, "process_sets", "as common/job/process_set.h has it");
        field(&NamespaceInfo::shares_fate_with, "shares_fate_with",
              "of its parent, if it does (server-glue/cross_job/shared_fate.h)");
    }
};
struct NamespaceRequest {
    static constexpr std::uint8_t type = 42;
    static constexpr const char *name = "NamespaceRequest";
    static constexpr const char *text =
        "to the session, and from it to a daemon of that namespace: what may others know of it?";
    std::uint64_t id = 0;
    Bytes nspace;
    static constexpr void fields(auto &&field) {
        field(&NamespaceRequest::id, "id", "chosen by who sends it");
        field(&NamespaceRequest::nspace, "nspace", "its name");
    }
};
struct NamespaceReply {
    static constexpr std::uint8_t type = 43;
    static constexpr const char *name = "NamespaceReply";
    static constexpr const char *text = "that, or why it is not told";
    using Answers = NamespaceRequest;
    static constexpr Relayed relayed{};
    std::uint64_t id = 0;
    std::int32_t status = 0;
    NamespaceInfo info;
    static constexpr void fields(auto &&field) {
        field(&NamespaceReply::id, "id", "as in NamespaceRequest");
        field(&NamespaceReply::status, "status", "0 or a PMIx status");
        field(&NamespaceReply::info, "info", "empty where there is none");
    }
};
struct NamespacePart {
    static constexpr const char *name = "NamespacePart";
    NamespaceInfo info;
    Bytes data;
    static constexpr void fields(auto &&field) {
        field(&NamespacePart::info, "info", "the namespace");
        field(&NamespacePart::data, "data", "what its hosts contributed, one behind the other");
    }
};
// The contribution of a host to the construction of a group; those of a namespace one behind the other.
struct GroupPart {
    static constexpr const char *name = "GroupPart";
    Bytes nspace;
    std::uint32_t host = 0;
    std::vector<std::uint32_t> gone;
    std::uint8_t wants_context = 0;
    std::uint64_t context_id = 0;
    Bytes endpoints;
    Bytes posted;
    static constexpr void fields(auto &&field) {
        field(&GroupPart::nspace, "nspace", "namespace of this host's members");
        field(&GroupPart::host, "host", "the host, in that namespace's step");
        field(&GroupPart::gone, "gone", "ranks of its members that have ended before they joined");
        field(&GroupPart::wants_context, "wants_context", "1: its members ask for a context id");
        field(&GroupPart::context_id, "context_id", "one that is free; 0: of another host");
        field(&GroupPart::endpoints, "endpoints", "the library's PMIX_GROUP_ENDPT_DATA");
        field(&GroupPart::posted, "posted", "PostedData of its members, for other namespaces");
    }
};
struct SessionCollectiveJoin {
    static constexpr std::uint8_t type = 40;
    static constexpr const char *name = "SessionCollectiveJoin";
    static constexpr const char *text =
        "all participants of this namespace have entered a collective over several, or it fails here";
    Bytes signature;
    std::uint64_t sequence = 0;
    std::int32_t status = 0;
    NamespacePart part;
    static constexpr void fields(auto &&field) {
        field(&SessionCollectiveJoin::signature, "signature", "as in CollectiveUp");
        field(&SessionCollectiveJoin::sequence, "sequence", "as in CollectiveUp, of this namespace");
        field(&SessionCollectiveJoin::status, "status", "0, or the PMIx status that ends it for all");
        field(&SessionCollectiveJoin::part, "part", "of this namespace");
    }
};
struct SessionCollectiveDone {
    static constexpr std::uint8_t type = 41;
    static constexpr const char *name = "SessionCollectiveDone";
    static constexpr const char *text = "all namespaces have joined, or it has failed for all";
    Bytes signature;
    std::uint64_t sequence = 0;
    std::int32_t status = 0;
    std::vector<NamespacePart> parts;
    static constexpr void fields(auto &&field) {
        field(&SessionCollectiveDone::signature, "signature", "as the namespace gave it");
        field(&SessionCollectiveDone::sequence, "sequence", "as the namespace gave it");
        field(&SessionCollectiveDone::status, "status", "0, or a PMIx status");
        field(&SessionCollectiveDone::parts, "parts", "of the other namespaces");
    }
};

} // namespace pmixhost::wire
