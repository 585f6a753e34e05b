// A facet of the RM's backend (rm_backend.h): the record that the RM keeps of a job.
#pragma once

#include "common/base/result.h"
#include "common/loop/event_loop.h"

#include <functional>
#include <string>

namespace pmixhost {

class RmJobRecord {
  public:
    virtual ~RmJobRecord() = default;
    // Appends a line. Others may do so at the same time. Errors: limit (it is full), denied, unreachable, timeout.
    virtual void record(std::string line, TimePoint deadline, std::function<void(Result<void>)> done) = 0;
};

} // namespace pmixhost
