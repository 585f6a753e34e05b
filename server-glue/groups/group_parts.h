// What the hosts of a group bring to its construction, and what comes of all their parts together. Every host makes
// the same of them, so nothing else has to be agreed upon. Pure.
#pragma once

#include "common/job/job_map.h"
#include "common/wire/cross_job_messages.h"

#include <optional>
#include <set>
#include <vector>

namespace pmixhost {

// Context ids that no other group of the session (the allocation) ever gets: the number of the
// step, that of the host which hands it out, and a counter.
class ContextIds {
  public:
    static constexpr unsigned step_bits = 24, host_bits = 16, counter_bits = 24;

    ContextIds(std::uint32_t step_number, HostIndex host) : step_(step_number), host_(host) {}
    // A new id, never used before; 0 when there are no more.
    std::uint64_t next();

  private:
    std::uint32_t step_;
    HostIndex host_;
    std::uint64_t last_ = 0;
};

struct GroupParts {
    std::optional<std::uint64_t> context_id; // when any of the hosts asked for one
    Bytes endpoints;                         // of the own namespace
    std::set<HostIndex> hosts;               // of the own namespace that brought something
    std::set<Rank> gone;                     // of the own namespace: ended before they joined
    struct Posted {
        Bytes nspace;
        Rank rank;
        Bytes data;
    };
    std::vector<Posted> posted; // by processes of other namespaces
};

// `parts`: encoded wire::GroupPart, one behind the other. Fails (invalid) on anything else.
Result<GroupParts> merge_group_parts(const Bytes &parts, const Bytes &own_nspace);

} // namespace pmixhost
