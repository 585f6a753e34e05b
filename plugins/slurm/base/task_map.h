// The task map: what srun knows of a step, as one line of text. The shim in srun makes it, it
// travels in the environment of the step (PMIXHOST_STEP_0, PMIXHOST_STEP_1, ...) and in the start
// document (`slurm.task_map`), and the backend in pmixhostd reads it, as the job's user.
//
// It comes from the user's own processes: it is decoded with bounds, and nothing it says gives a
// right.
//
//   pmixhost2 version=VERSION wire=NUMBER KEY=VALUE KEY=VALUE ... ranks=RANKS
//
// Separated by one space each, values without spaces or control characters, empty values left out:
//   version     srun's pmixhost, for people; wire: what its daemons speak (common/wire/wire_version.h), in hexadecimal.
//               A host whose own speak something else refuses the step, whatever else the map says
//   job, step   the step's ids as its users see them (of a het job: of its first component)
//   jobs        job ids of the components of a het job, comma separated
//   key         names this start of the step, different for every start
//   cluster     Slurm's ClusterName
//   apps        the step's programs (app_list.h)
//   psets       process sets that the user has defined (common/job/process_set.h)
//   first       first rank of the component that this map was made for (het steps)
//   hosts       Slurm's host list; a host that has tasks of several het components is listed once
//               per component
//   dist        block, cyclic, plane, arbitrary
//   alloc       host list of the allocation;  cpus: Slurm's CPUs per node of it (`4(x2),8`)
//   ranks       the tasks of each host
//
// RANKS is a list, separated by ';', of runs of hosts:
//   FIRST                     a host with the one task FIRST
//   FIRST:SHAPE               its further tasks, as differences from one to the next
//   FIRST+STEPxHOSTS:SHAPE    HOSTS hosts in a row of that shape, each beginning STEP after the
//                             one before (or -STEP)
//   e  or  exHOSTS            hosts without tasks
// SHAPE is a list, separated by ',', of DELTA, DELTAxTIMES and (DELTA,...)xTIMES, the last for
// patterns of a plane distribution; no deeper nesting. So 10,000 hosts of 128 tasks are
//   block   0+128x10000:1x127
//   cyclic  0+1x10000:10000x127
//   plane=4 0+4x10000:(1x3,39997)x31,1x3
#pragma once

#include "common/base/result.h"
#include "common/job/job_map.h"
#include "common/job/process_set.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost::slurm {

struct TaskMap {
    static constexpr std::size_t max_text = 4u << 20;
    static constexpr std::size_t max_hosts = 131'072;
    static constexpr std::size_t max_ranks = 8u << 20;
    static constexpr std::size_t max_component_jobs = 1024;

    std::uint32_t job_id = 0;
    std::uint32_t step_id = 0;
    std::vector<std::uint32_t> component_jobs;
    std::string start_key;
    std::string cluster;
    Rank first_rank = 0;
    std::string host_list;
    std::string distribution;
    std::string binding; // the word of PMIX_BINDTO; empty: not known
    std::string allocated_hosts;
    std::string allocated_cpus;
    std::vector<App> apps; // empty: not known
    std::vector<ProcessSet> process_sets;
    std::vector<std::vector<Rank>> ranks_by_host;
};

// Fails (limit) beyond the bounds above and those of app_list.h, (invalid) where a value has a space
// in it.
Result<std::string> encode_task_map(const TaskMap &map);
// Fails (invalid, limit) with a text that names the key.
Result<TaskMap> decode_task_map(std::string_view text);
// Of a map that another version may have made: the jobs whose step this is, as far as they can be read.
std::vector<std::uint32_t> jobs_in_task_map(std::string_view text);

// The PMIx namespace of a step: this, and JOB.STEP.
inline constexpr std::string_view namespace_prefix = "slurm.";
std::string namespace_of(std::uint32_t job_id, std::uint32_t step_id);

// Cuts a text for the environment, where Slurm takes no entry of 128 KiB or more. The names are
// task_map_variable(0), (1), ...; the first piece begins with "COUNT ", so that what an outer step
// or the user left behind under further names is not taken for a part.
std::vector<std::string> split_for_environment(std::string_view text);
inline constexpr std::size_t max_environment_value = 100u << 10;
inline constexpr std::size_t max_environment_pieces = TaskMap::max_text / max_environment_value + 1;
inline constexpr std::string_view task_map_prefix = "PMIXHOST_STEP_";
std::string task_map_variable(std::size_t index);

} // namespace pmixhost::slurm
