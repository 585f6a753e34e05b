// Published data, to and from the session (server-glue/publish/data_store.h).
#pragma once

#include "common/wire/codec.h"
#include "common/wire/names.h"

namespace pmixhost::wire {

struct Datum {
    static constexpr const char *name = "Datum";
    Bytes key;
    Bytes value;
    static constexpr void fields(auto &&field) {
        field(&Datum::key, "key", "its key");
        field(&Datum::value, "value", "a pmix_value_t as PMIx_Data_pack makes it");
    }
};
inline constexpr std::uint32_t any_group = UINT32_MAX;
struct Found {
    static constexpr const char *name = "Found";
    Bytes nspace;
    std::uint32_t rank = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    Bytes key;
    Bytes value;
    static constexpr void fields(auto &&field) {
        field(&Found::nspace, "nspace", "namespace of the publisher");
        field(&Found::rank, "rank", "its rank");
        field(&Found::uid, "uid", "the owner: user");
        field(&Found::gid, "gid", "the owner: group");
        field(&Found::key, "key", "the key");
        field(&Found::value, "value", "as in Datum");
    }
};
struct PublishRequest {
    static constexpr std::uint8_t type = 32;
    static constexpr const char *name = "PublishRequest";
    static constexpr const char *text = "a process publishes data";
    std::uint64_t id = 0;
    std::uint32_t rank = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = 0;
    Bytes host;
    std::uint8_t range = 0;
    std::uint8_t persistence = 0;
    std::vector<ProcessName> custom;
    std::vector<Datum> data;
    Bytes tool = {};
    static constexpr void fields(auto &&field) {
        field(&PublishRequest::id, "id", "chosen by the asking daemon");
        field(&PublishRequest::rank, "rank", "the publisher, of the connection's namespace");
        field(&PublishRequest::uid, "uid", "whose the data is: user");
        field(&PublishRequest::gid, "gid", "whose the data is: group");
        field(&PublishRequest::host, "host", "name of its node");
        field(&PublishRequest::range, "range", "pmix_data_range_t");
        field(&PublishRequest::persistence, "persistence", "pmix_persistence_t");
        field(&PublishRequest::custom, "custom", "who may see it, for PMIX_RANGE_CUSTOM");
        field(&PublishRequest::data, "data", "what it publishes");
        field(&PublishRequest::tool, "tool", "the publisher's own namespace, of a tool; else empty");
    }
};
struct LookupRequest {
    static constexpr std::uint8_t type = 33;
    static constexpr const char *name = "LookupRequest";
    static constexpr const char *text = "a process looks published data up";
    std::uint64_t id = 0;
    std::uint32_t rank = 0;
    std::uint32_t uid = 0;
    std::uint32_t gid = any_group;
    Bytes host;
    std::uint8_t range = 0;
    std::vector<ProcessName> custom;
    std::vector<Bytes> keys;
    std::int32_t wait = -1;
    std::uint32_t timeout_ms = 0;
    Bytes tool = {};
    static constexpr void fields(auto &&field) {
        field(&LookupRequest::id, "id", "chosen by the asking daemon");
        field(&LookupRequest::rank, "rank", "the asker, of the connection's namespace");
        field(&LookupRequest::uid, "uid", "the asker's user");
        field(&LookupRequest::gid, "gid", "only data of this group; 2^32-1: of any");
        field(&LookupRequest::host, "host", "name of its node");
        field(&LookupRequest::range, "range", "whose data to look at: pmix_data_range_t");
        field(&LookupRequest::custom, "custom", "the same, for PMIX_RANGE_CUSTOM");
        field(&LookupRequest::keys, "keys", "what it looks for");
        field(&LookupRequest::wait, "wait", "-1: does not wait; 0: for all keys; else for so many");
        field(&LookupRequest::timeout_ms, "timeout_ms", "how long it waits; 0: without limit");
        field(&LookupRequest::tool, "tool", "as in PublishRequest");
    }
};
struct UnpublishRequest {
    static constexpr std::uint8_t type = 34;
    static constexpr const char *name = "UnpublishRequest";
    static constexpr const char *text = "a process takes back what it published";
    std::uint64_t id = 0;
    std::uint32_t rank = 0;
    std::uint8_t range = 0;
    std::vector<Bytes> keys;
    Bytes tool = {};
    static constexpr void fields(auto &&field) {
        field(&UnpublishRequest::id, "id", "chosen by the asking daemon");
        field(&UnpublishRequest::rank, "rank", "the publisher, of the connection's namespace");
        field(&UnpublishRequest::range, "range", "only of this range; PMIX_RANGE_UNDEF: of all");
        field(&UnpublishRequest::keys, "keys", "these; none: all of its data");
        field(&UnpublishRequest::tool, "tool", "as in PublishRequest");
    }
};
struct DataReply {
    static constexpr std::uint8_t type = 35;
    static constexpr const char *name = "DataReply";
    static constexpr const char *text = "the answer to one of the three above";
    std::uint64_t id = 0;
    std::int32_t status = 0;
    std::vector<Found> found;
    static constexpr void fields(auto &&field) {
        field(&DataReply::id, "id", "as in the request");
        field(&DataReply::status, "status", "PMIx status");
        field(&DataReply::found, "found", "of a lookup");
    }
};
// Of one that has published or looked up by way of this host.
struct ToolEnded {
    static constexpr std::uint8_t type = 39;
    static constexpr const char *name = "ToolEnded";
    static constexpr const char *text = "to the session: a tool is not connected with this host any more";
    Bytes nspace;
    std::uint32_t rank = 0;
    static constexpr void fields(auto &&field) {
        field(&ToolEnded::nspace, "nspace", "its namespace");
        field(&ToolEnded::rank, "rank", "its rank");
    }
};

} // namespace pmixhost::wire
