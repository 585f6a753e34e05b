// A facet of the RM's backend (rm_backend.h): what only the RM knows, for the query interface and for the
// warning before an allocation's time is up. A backend whose RM can be asked nothing has none.
#pragma once

#include "common/base/result.h"
#include "common/loop/event_loop.h"

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace pmixhost {

struct RmQuestion {
    enum class Kind {
        time_remaining,    // of this job's allocation, in seconds; none: UINT32_MAX
        allocation_status, // of the allocation with this name, as the RM's users call it
        queues,            // all of them, with their states
        available_slots,   // of this job's allocation, that no step has now
    };
    Kind kind;
    std::string allocation;
};
struct RmAnswer {
    std::uint32_t seconds = 0, slots = 0;
    std::string text;
    std::vector<std::pair<std::string, std::string>> queues; // name and state
    bool over = false;                                       // of allocation_status: it has ended, or is about to
};

class RmQuestions {
  public:
    virtual ~RmQuestions() = default;
    // Can this kind be answered at all? Kinds that cannot are not offered to programs. Always the same answer.
    virtual bool answers(RmQuestion::Kind) const { return true; }
    // Asks a question of a kind that answers() allows. Errors: not_found, unreachable; timeout (at the deadline) and
    // limit (too many wait).
    virtual void ask(RmQuestion question, TimePoint deadline, std::function<void(Result<RmAnswer>)> done) = 0;
};

} // namespace pmixhost
