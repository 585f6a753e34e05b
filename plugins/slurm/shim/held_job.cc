// See held_job.h.
#include "plugins/slurm/shim/held_job.h"

#include "plugins/slurm/base/slurm_abi.h"

#include <cerrno>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

namespace pmixhost::slurm {

Result<void> job_goes_on(std::uint32_t job) {
    Result<void> over =
        error(ErrorKind::not_found, "job {} was cancelled, or its time is over, while the debugger held it", job);
    job_info_msg_t *jobs = nullptr;
    if (slurm_load_job(&jobs, job_argument(job), SHOW_ALL) != SLURM_SUCCESS)
        return errno == ESLURM_INVALID_JOB_ID ? over : Result<void>();
    bool ended = jobs->record_count > 0 && (jobs->job_array[0].job_state & JOB_STATE_BASE) > JOB_SUSPENDED;
    slurm_free_job_info_msg(jobs);
    return ended ? over : Result<void>();
}

} // namespace pmixhost::slurm
