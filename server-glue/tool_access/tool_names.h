// The names of tools that have none of their own: NAMESPACE.tool.HOST.N, of the step and host whose daemon gives it. No
// other tool of the system gets the same one, and a tool keeps it (PMIx standard, "Tool identification"): it says it to
// every server that it attaches to later, and to this one when it comes again.
#pragma once

#include "common/job/job_map.h"
#include "server-glue/core/signature.h"

#include <cstdint>
#include <string_view>

namespace pmixhost {

class ToolNames {
  public:
    // Of the daemon of that host of the step with that namespace.
    ToolNames(std::string nspace, HostIndex host) : nspace_(std::move(nspace)), host_(host) {}

    Process next();
    // May a tool come with that name, although it begins like a job's? If it was given here, or is one of those that
    // other daemons give.
    bool may_be_said(std::string_view name) const;

  private:
    const std::string nspace_;
    const HostIndex host_;
    std::uint64_t given_ = 0;
};

} // namespace pmixhost
