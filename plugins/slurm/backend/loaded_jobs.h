// Records of jobs as slurmctld gave them, freed with what holds them (slurm_load_job).
#pragma once

#include <memory>
#include <slurm/slurm.h>

namespace pmixhost::slurm {

struct FreeJobs {
    void operator()(job_info_msg_t *jobs) const { slurm_free_job_info_msg(jobs); }
};
using LoadedJobs = std::unique_ptr<job_info_msg_t, FreeJobs>;

} // namespace pmixhost::slurm
