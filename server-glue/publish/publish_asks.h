// PMIx_Publish, _Lookup and _Unpublish, as a process asks for them. Values are already packed by PMIx_Data_pack.
#pragma once

#include "common/wire/names.h"
#include "common/wire/publish_messages.h"
#include "server-glue/core/signature.h"
#include "server-glue/library/replies.h"

#include <chrono>
#include <optional>

namespace pmixhost {

// How many keys one call may look up or take back: each is looked for by itself, while others wait.
inline constexpr std::size_t most_keys = 65'536;

// How much one call may publish, as CollectiveLimits (collective/fence_ask.h).
struct PublishLimits {
    std::uint64_t bytes = 0;
};
struct PublishAsk {
    Process caller;
    std::uint32_t gid = wire::any_group; // of the owner; any: the caller's own
    std::uint8_t range = PMIX_RANGE_SESSION;
    std::uint8_t persistence = PMIX_PERSIST_SESSION;
    std::vector<wire::ProcessName> custom; // for PMIX_RANGE_CUSTOM
    std::vector<wire::Datum> data;
    std::optional<std::uint32_t> other_user; // than this daemon's, whose the asker says the data is; libpmix adds it
    std::optional<std::chrono::seconds> timeout;
    StatusReply reply;
};
using LookupReply = OneShot<pmix_status_t, std::vector<wire::Found>>;
struct LookupAsk {
    Process caller;
    std::uint32_t gid = wire::any_group; // as in wire::LookupRequest
    std::uint8_t range = PMIX_RANGE_SESSION;
    std::vector<wire::ProcessName> custom;
    std::vector<Bytes> keys;
    std::int32_t wait = -1; // as in wire::LookupRequest
    std::optional<std::uint32_t> other_user;
    std::optional<std::chrono::seconds> timeout;
    LookupReply reply;
};
struct UnpublishAsk {
    Process caller;
    std::uint8_t range = PMIX_RANGE_UNDEF;
    std::vector<Bytes> keys; // empty: all
    std::optional<std::uint32_t> other_user;
    std::optional<std::chrono::seconds> timeout;
    StatusReply reply;
};

} // namespace pmixhost
