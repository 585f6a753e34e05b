// See rm_answers.h.
#include "plugins/slurm/backend/rm_answers.h"

#include "plugins/slurm/backend/loaded_jobs.h"
#include "plugins/slurm/backend/which_steps.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/steps/session_step.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <memory>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

namespace pmixhost::slurm {

namespace {

Error no_answer(std::string_view what, int why) {
    bool unknown = why == ESLURM_INVALID_JOB_ID || why == ESLURM_INVALID_PARTITION_NAME;
    return error(unknown ? ErrorKind::not_found : ErrorKind::unreachable, "{}: {}", what, slurm_strerror(why));
}

Result<RmAnswer> about_job(std::uint32_t job_id) {
    job_info_msg_t *raw = nullptr;
    if (slurm_load_job(&raw, job_argument(job_id), SHOW_ALL) != SLURM_SUCCESS)
        return no_answer(fmt::format("job {}", job_id), errno);
    LoadedJobs jobs(raw);
    if (jobs->record_count == 0)
        return error(ErrorKind::not_found, "job {}: there is none", job_id);
    const slurm_job_info_t &job = jobs->job_array[0];
    RmAnswer answer;
    answer.text = job_state(job.job_state);
    answer.over = (job.job_state & JOB_STATE_BASE) > JOB_SUSPENDED;
    std::time_t now = std::time(nullptr);
    if (job.time_limit == INFINITE)
        answer.seconds = UINT32_MAX;
    else if (job.end_time > now)
        answer.seconds = static_cast<std::uint32_t>(std::min<std::time_t>(job.end_time - now, UINT32_MAX - 1));
    return answer;
}

// CPUs, as PMIX_UNIV_SIZE counts them, that no step has. Steps that share theirs (--overlap) may have more than there
// are.
Result<RmAnswer> about_slots(std::uint32_t job_id) {
    job_info_msg_t *raw = nullptr;
    if (slurm_load_job(&raw, job_argument(job_id), SHOW_ALL) != SLURM_SUCCESS)
        return no_answer(fmt::format("job {}", job_id), errno);
    LoadedJobs jobs(raw);
    job_step_info_response_msg_t *steps = nullptr;
    if (get_job_steps(job_id, &steps) != SLURM_SUCCESS)
        return no_answer(fmt::format("the steps of job {}", job_id), errno);
    std::uint64_t all = 0, used = 0;
    for (std::uint32_t i = 0; i < jobs->record_count; ++i) {
        slurm_job_info_t &job = jobs->job_array[i];
        all += is_other_task(job_id, job.array_job_id, job_number(job)) ? 0 : job.num_cpus;
    }
    for (std::uint32_t i = 0; i < steps->job_step_count; ++i) {
        const job_step_info_t &step = steps->job_steps[i];
        bool ours = step.name && step.name == session_step_name; // it takes no CPU from anybody
        bool elsewhere = is_other_task(job_id, step.array_job_id, step.step_id.job_id);
        if (runs_program(step.step_id.step_id) && !ours && !elsewhere)
            used += step.num_cpus;
    }
    slurm_free_job_step_info_response_msg(steps);
    RmAnswer answer;
    answer.slots = static_cast<std::uint32_t>(all - std::min(all, used));
    return answer;
}

Result<RmAnswer> about_partitions() {
    partition_info_msg_t *partitions = nullptr;
    if (slurm_load_partitions(0, &partitions, 0) != SLURM_SUCCESS)
        return no_answer("the partitions", errno);
    RmAnswer answer;
    for (std::uint32_t i = 0; i < partitions->record_count; ++i) {
        const partition_info_t &partition = partitions->partition_array[i];
        if (partition.name)
            answer.queues.emplace_back(partition.name, partition_state(partition.state_up));
    }
    slurm_free_partition_info_msg(partitions);
    return answer;
}

} // namespace

const char *partition_state(std::uint16_t state_up) {
    switch (state_up) {
    case PARTITION_UP:
        return "up";
    case PARTITION_DOWN:
        return "down";
    case PARTITION_DRAIN:
        return "drain";
    default:
        return "inactive";
    }
}

const char *job_state(std::uint32_t state) {
    if (state & JOB_COMPLETING)
        return "COMPLETING";
    switch (state & JOB_STATE_BASE) {
    case JOB_PENDING:
        return "PENDING";
    case JOB_RUNNING:
        return "RUNNING";
    case JOB_SUSPENDED:
        return "SUSPENDED";
    case JOB_COMPLETE:
        return "COMPLETED";
    case JOB_CANCELLED:
        return "CANCELLED";
    case JOB_FAILED:
        return "FAILED";
    case JOB_TIMEOUT:
        return "TIMEOUT";
    case JOB_NODE_FAIL:
        return "NODE_FAIL";
    case JOB_PREEMPTED:
        return "PREEMPTED";
    case JOB_BOOT_FAIL:
        return "BOOT_FAIL";
    case JOB_DEADLINE:
        return "DEADLINE";
    case JOB_OOM:
        return "OUT_OF_MEMORY";
    default:
        return "UNKNOWN";
    }
}

Result<RmAnswer> ask_slurm(const RmQuestion &question, std::uint32_t job_id) {
    if (question.kind == RmQuestion::Kind::queues)
        return about_partitions();
    if (question.kind == RmQuestion::Kind::available_slots)
        return about_slots(job_id);
    if (question.kind == RmQuestion::Kind::allocation_status) {
        const std::string &text = question.allocation;
        auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), job_id);
        if (code != std::errc() || end != text.data() + text.size())
            return error(ErrorKind::not_found, "an allocation is named by its job's number");
    }
    return about_job(job_id);
}

} // namespace pmixhost::slurm
