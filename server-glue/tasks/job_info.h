// The job information a namespace is registered with: everything the standard's chapter on
// PMIx_server_register_nspace requires of a host, and what else is known.
//
// Every process is described: libpmix derives node id, local and node rank from the two maps
// only where it is given no process data at all. What it does derive (host names, peers and leaders
// of the other hosts) is left to it. But that costs each host some 9 KiB and 15 us for each process of the job, so in
// large jobs of one program nobody is described here, the maps say where everybody is, and what is to be said of this
// host's own processes is given to libpmix when the namespace is registered (decisions/start.md).
#pragma once

#include "common/job/debug_stops.h"
#include "server-glue/library/info_list.h"
#include "server-glue/rm/rm_backend.h"

namespace pmixhost {

// What only this host knows of its tasks, in the order of local ranks. An empty text is not known.
struct LocalTask {
    Rank rank = 0;
    std::string cpuset;    // as PMIx_server_generate_cpuset_string gives it
    std::string locality;  // as PMIx_server_generate_locality_string gives it
    std::string directory; // PMIX_PROCDIR: its own in that of the namespace, which is there
};

struct JobDirectories {
    std::string session;  // PMIX_TMPDIR
    std::string nspace;   // PMIX_NSDIR
    bool cleaned = false; // PMIX_TDIR_RMCLEAN: they are removed at the end of the step, by none of its processes
};

// Is each process described, in a step where that is done for so many (daemon.details_up_to)? In steps of several
// programs or with process sets it is in any case: what a process belongs to follows from no map.
bool describes_all(const StepInfo &step, Rank details_up_to);

// Runs in the library thread, which alone asks libpmix for what the maps are written in. `processes`: describe each.
Result<InfoList> job_info(const StepInfo &step, const DebugStops &stops, const std::vector<LocalTask> &tasks,
                          const JobDirectories &directories, bool processes = true);

// What job_info() says of each of these, whose rank is the first element.
std::vector<InfoList> own_process_infos(const StepInfo &step, const std::vector<LocalTask> &tasks);

} // namespace pmixhost
