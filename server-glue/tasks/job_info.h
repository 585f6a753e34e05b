// The job information a namespace is registered with: everything the standard's chapter on
// PMIx_server_register_nspace requires of a host, and what else is known.
//
// Every process is described: libpmix 4.2 derives node id, local and node rank from the two maps
// only where it is given no process data at all. What it does derive (host names, peers and leaders
// of the other hosts) is left to it.
#pragma once

#include "common/job/debug_stops.h"
#include "server-glue/library/info_list.h"
#include "server-glue/rm/rm_backend.h"

namespace pmixhost {

// What only this host knows of its tasks, in the order of local ranks. An empty text is not known.
struct LocalTask {
    Rank rank = 0;
    std::string cpuset;   // as PMIx_server_generate_cpuset_string gives it
    std::string locality; // as PMIx_server_generate_locality_string gives it
};

struct JobDirectories {
    std::string session; // PMIX_TMPDIR
    std::string nspace;  // PMIX_NSDIR
};

// Runs in the library thread, which alone asks libpmix for what the maps are written in.
Result<InfoList> job_info(const StepInfo &step, const DebugStops &stops, const std::vector<LocalTask> &tasks,
                          const JobDirectories &directories);

} // namespace pmixhost
