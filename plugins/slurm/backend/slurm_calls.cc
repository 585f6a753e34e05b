// See slurm_calls.h.
#include "plugins/slurm/backend/slurm_calls.h"

#include "common/process/captured_command.h"
#include "common/text/printable.h"
#include "plugins/slurm/backend/backend_step.h"
#include "plugins/slurm/backend/loaded_jobs.h"
#include "plugins/slurm/backend/which_steps.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/base/task_map.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>

namespace pmixhost::slurm {

namespace {

char *slurm_string(const std::string &text) {
    auto *copy = static_cast<char *>(slurm_xcalloc(1, text.size() + 1, true, false, __FILE__, __LINE__, __func__));
    std::memcpy(copy, text.data(), text.size());
    return copy;
}

// Of a job, or NO_VAL: of all.
Result<std::vector<StepOfJob>> steps_of(std::uint32_t job, bool (*wanted)(std::uint32_t step)) {
    initialise_slurm();
    job_step_info_response_msg_t *answer = nullptr;
    if (get_job_steps(job, &answer) != SLURM_SUCCESS)
        return error(errno == ESLURM_INVALID_JOB_ID ? ErrorKind::not_found : ErrorKind::unreachable,
                     "the steps of {} cannot be looked up: {}",
                     job == NO_VAL ? std::string("all jobs") : fmt::format("job {}", job), slurm_strerror(errno));
    std::vector<StepOfJob> steps;
    for (std::uint32_t i = 0; i < answer->job_step_count; ++i) {
        const job_step_info_t &step = answer->job_steps[i];
        if (!wanted(step.step_id.step_id) || is_other_task(job, step.array_job_id, step.step_id.job_id))
            continue;
        auto nodes = expand_host_list(step.nodes ? step.nodes : "", TaskMap::max_hosts);
        if (!nodes || nodes->empty())
            continue;
        steps.push_back({step.step_id.job_id, {step.step_id.step_id, step.name ? step.name : "", std::move(*nodes)}});
    }
    slurm_free_job_step_info_response_msg(answer);
    return steps;
}

} // namespace

void initialise_slurm() {
    static std::once_flag once;
    std::call_once(once, [] { slurm_init(nullptr); });
}

Result<void> find_slurm() {
    auto said = run_captured({"scontrol", "ping"}, std::chrono::seconds(10));
    if (!said)
        return said.failure();
    if (said->code != 0)
        return error(ErrorKind::unreachable, "Slurm does not answer on this host: {}; next: scontrol ping",
                     one_line(said->err.empty() ? said->out : said->err, 200));
    return {};
}

Result<void> forward_to_node(const std::string &node, std::string address, const std::string &message) {
    initialise_slurm();
    char *nodes = slurm_string(node);
    int code = slurm_forward_data(&nodes, address.data(), static_cast<std::uint32_t>(message.size()), message.data());
    slurm_xfree(reinterpret_cast<void **>(&nodes));
    // slurmd's own answer; when it cannot be reached itself, the code is one of Slurm's.
    if (code == ENOENT || code == ECONNREFUSED)
        return error(ErrorKind::not_found, "there is no daemon on {}", node);
    if (code != SLURM_SUCCESS)
        return error(ErrorKind::unreachable, "the daemon on {} cannot be reached through slurmd: {}", node,
                     slurm_strerror(code));
    return {};
}

Result<void> kill_steps(const std::vector<std::uint32_t> &jobs, std::uint32_t step) {
    initialise_slurm();
    return kill_steps(jobs, step, [step](std::uint32_t job) {
        errno = 0;
        if (kill_job_step(job, step, SIGKILL) == SLURM_SUCCESS)
            return 0;
        return errno != 0 ? errno : SLURM_ERROR;
    });
}

Result<void> kill_steps(const std::vector<std::uint32_t> &jobs, std::uint32_t step,
                        const std::function<int(std::uint32_t job)> &kill_one) {
    Result<void> result;
    for (std::uint32_t job : jobs) {
        int why = kill_one(job);
        if (why == 0 || why == ESLURM_INVALID_JOB_ID || why == ESLURM_ALREADY_DONE)
            continue;
        bool never = why == ESLURM_ACCESS_DENIED || why == ESLURM_USER_ID_MISSING;
        if (never && !result)
            continue; // what may still be done says more
        result = error(never ? ErrorKind::denied : ErrorKind::unreachable, "step {}.{} cannot be ended: {}", job, step,
                       slurm_strerror(why));
    }
    return result;
}

static Result<std::vector<RunningStep>> without_job(Result<std::vector<StepOfJob>> found) {
    if (!found)
        return found.failure();
    std::vector<RunningStep> steps;
    for (auto &one : *found)
        steps.push_back(std::move(one.step));
    return steps;
}

Result<std::vector<RunningStep>> running_steps(std::uint32_t job) {
    return without_job(steps_of(job, runs_program));
}

Result<std::vector<RunningStep>> steps_that_hold_hosts(std::uint32_t job) {
    return without_job(steps_of(job, holds_host));
}

Result<std::vector<StepOfJob>> all_running_steps() {
    return steps_of(NO_VAL, runs_program);
}

Result<std::vector<OwnJob>> running_jobs() {
    initialise_slurm();
    job_info_msg_t *answer = nullptr;
    if (slurm_load_job_user(&answer, geteuid(), SHOW_ALL) != SLURM_SUCCESS)
        return error(ErrorKind::unreachable, "your jobs cannot be looked up: {}", slurm_strerror(errno));
    LoadedJobs loaded(answer);
    std::vector<OwnJob> jobs;
    for (std::uint32_t i = 0; i < loaded->record_count; ++i) {
        auto &job = loaded->job_array[i];
        auto state = job.job_state & JOB_STATE_BASE;
        if (job.user_id != geteuid() || (state != JOB_RUNNING && state != JOB_SUSPENDED))
            continue;
        bool of_het_job = job.het_job_id != 0 && job.het_job_id != NO_VAL;
        jobs.push_back({job_number(job), of_het_job ? job.het_job_id : job_number(job)});
    }
    return jobs;
}

Result<uid_t> owner_of(std::uint32_t job) {
    initialise_slurm();
    job_info_msg_t *answer = nullptr;
    if (slurm_load_job(&answer, job_argument(job), SHOW_ALL) != SLURM_SUCCESS)
        return error(errno == ESLURM_INVALID_JOB_ID ? ErrorKind::not_found : ErrorKind::unreachable,
                     "job {} cannot be looked up: {}", job, slurm_strerror(errno));
    LoadedJobs loaded(answer);
    if (loaded->record_count == 0)
        return error(ErrorKind::not_found, "there is no job {}", job);
    return loaded->job_array[0].user_id;
}

} // namespace pmixhost::slurm
