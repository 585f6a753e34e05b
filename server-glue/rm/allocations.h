// A facet of the RM's backend (rm_backend.h): allocations that a process of the step asks for.
#pragma once

#include "common/base/result.h"
#include "common/loop/event_loop.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace pmixhost {

// What a process wants of the RM's allocations. A value of 0 or an empty text was not said.
struct RmAllocation {
    enum class Kind {
        create,  // one of its own, beside that of the step
        extend,  // lasts `seconds` in all; never less than it did
        release, // `host_list`, which nothing may run on; of another allocation than the step's, without
                 // a list: all of it
    };
    Kind kind = Kind::create;
    std::string allocation; // as the RM's users call it; empty: the step's own
    std::string name, queue, host_list;
    std::uint32_t hosts = 0, cpus = 0, seconds = 0;
    std::uint64_t megabytes = 0;    // of each host
    bool fails_if_hopeless = false; // limit, where the RM lets wait what the queue could never give as it is now
};
struct RmAllocated {
    std::string allocation;
    std::vector<std::string> hosts;
    std::uint32_t cpus = 0;
    std::uint32_t seconds = 0; // in all; UINT32_MAX: without end
};

class RmAllocations {
  public:
    virtual ~RmAllocations() = default;
    // `id` is the caller's. A new allocation may have to be waited for; at the deadline, or when it is
    // abandoned or the daemon leaves, what was asked of the RM is taken back. Errors: unsupported (this one
    // cannot be done), invalid, not_found, denied, limit, exists (a host of those to be released is in use),
    // unreachable, timeout.
    virtual void allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                          std::function<void(Result<RmAllocated>)> done) = 0;
    // Gives the request up: its `done` does not come any more.
    virtual void abandon_allocation(std::uint64_t id) = 0;
    // Is the RM being asked for one? What was abandoned meanwhile is cancelled when it has answered.
    virtual bool is_submitting() const { return false; }
};

} // namespace pmixhost
