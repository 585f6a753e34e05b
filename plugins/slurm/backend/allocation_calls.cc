// See allocation_calls.h.
#include "plugins/slurm/backend/allocation_calls.h"

#include "plugins/slurm/backend/backend_step.h"
#include "plugins/slurm/backend/loaded_jobs.h"
#include "plugins/slurm/backend/rm_answers.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/base/task_map.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <fmt/ranges.h>
#include <memory>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <unistd.h>

namespace pmixhost::slurm {

namespace {

Error refused(std::string_view what, int why) {
    static constexpr std::pair<int, ErrorKind> meanings[] = {
        {ESLURM_ACCESS_DENIED, ErrorKind::denied},
        {ESLURM_USER_ID_MISSING, ErrorKind::denied},
        {ESLURM_INVALID_JOB_ID, ErrorKind::not_found},
        {ESLURM_ALREADY_DONE, ErrorKind::not_found},
        {ESLURM_INVALID_PARTITION_NAME, ErrorKind::not_found},
        {ESLURM_INVALID_NODE_NAME, ErrorKind::not_found},
        {ESLURM_INVALID_TIME_LIMIT, ErrorKind::invalid},
        {ESLURM_NOT_SUPPORTED, ErrorKind::unsupported},
        {ESLURM_DISABLED, ErrorKind::unsupported},
        {ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE, ErrorKind::limit},
        {ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE, ErrorKind::limit},
        {ESLURM_TOO_MANY_REQUESTED_CPUS, ErrorKind::limit},
        {ESLURM_INVALID_NODE_COUNT, ErrorKind::limit},
        {ESLURM_NODES_BUSY, ErrorKind::limit},
        {ESLURM_ACCOUNTING_POLICY, ErrorKind::limit},
        {ESLURM_INVALID_TASK_MEMORY, ErrorKind::limit},
    };
    ErrorKind kind = ErrorKind::unreachable;
    for (const auto &[number, meaning] : meanings) {
        if (number == why)
            kind = meaning;
    }
    return error(kind, "{}: {}", what, slurm_strerror(why));
}

struct Job {
    LoadedJobs owner;
    const slurm_job_info_t *info;
};

Result<std::shared_ptr<Job>> load(std::uint32_t number) {
    job_info_msg_t *raw = nullptr;
    if (slurm_load_job(&raw, job_argument(number), SHOW_ALL) != SLURM_SUCCESS)
        return refused(fmt::format("job {}", number), errno);
    auto job = std::make_shared<Job>();
    job->owner.reset(raw);
    auto *end = raw->job_array + raw->record_count;
    job->info = std::find_if(raw->job_array, end, [number](auto &each) { return job_number(each) == number; });
    if (job->info == end)
        return error(ErrorKind::not_found, "job {}: there is none", number);
    return job;
}

Result<RmAllocated> describe(std::uint32_t number, const slurm_job_info_t &job) {
    auto hosts = expand_host_list(job.nodes ? job.nodes : "", TaskMap::max_hosts);
    if (!hosts)
        return hosts.failure();
    RmAllocated out;
    out.allocation = std::to_string(number);
    out.hosts = std::move(*hosts);
    out.cpus = job.num_cpus;
    out.seconds = job.time_limit == INFINITE || job.time_limit >= UINT32_MAX / 60 ? UINT32_MAX : job.time_limit * 60;
    return out;
}

Result<std::uint32_t> submit(const RmAllocation &request) {
    char host[HOST_NAME_MAX + 1] = "";
    ::gethostname(host, sizeof host - 1);
    std::string name = request.name.empty() ? "pmix" : request.name, queue = request.queue, list;
    job_desc_msg_t job;
    slurm_init_job_desc_msg(&job);
    job.user_id = ::geteuid();
    job.group_id = ::getegid();
    job.alloc_node = host;
    std::string directory = "/";
    job.work_dir = directory.data();
    job.name = name.data();
    if (!queue.empty())
        job.partition = queue.data();
    if (!request.host_list.empty()) {
        auto hosts = expand_host_list(request.host_list, TaskMap::max_hosts);
        if (!hosts)
            return hosts.failure();
        list = fmt::format("{}", fmt::join(*hosts, ","));
        job.req_nodes = list.data();
        job.min_nodes = static_cast<std::uint32_t>(hosts->size());
    }
    if (request.hosts > 0)
        job.min_nodes = job.max_nodes = request.hosts;
    if (request.cpus > 0)
        job.min_cpus = job.num_tasks = request.cpus;
    if (request.megabytes > 0)
        job.pn_min_memory = request.megabytes;
    if (request.seconds > 0)
        job.time_limit = minutes_of(request.seconds);
    resource_allocation_response_msg_t *answer = nullptr;
    if (slurm_allocate_resources(&job, &answer) != SLURM_SUCCESS || !answer)
        return refused("a new allocation", errno);
    std::uint32_t number = job_number(*answer);
    slurm_free_resource_allocation_response_msg(answer);
    return number;
}

// Why a job waits that its partition could not hold, were it empty; empty: that is not known.
std::string hopeless(std::uint32_t reason) {
    switch (reason) {
    case WAIT_PART_NODE_LIMIT:
        return "it asks for more hosts than its partition has or gives to a job (PartitionNodeLimit)";
    case WAIT_PART_TIME_LIMIT:
        return "it asks for more time than its partition gives (PartitionTimeLimit)";
    default:
        return {};
    }
}

Result<Allocations::Slurm::State> look(std::uint32_t number) {
    auto job = load(number);
    if (!job)
        return job.failure();
    const slurm_job_info_t &info = *(*job)->info;
    Allocations::Slurm::State state;
    switch (info.job_state & JOB_STATE_BASE) {
    case JOB_PENDING:
        state.waits = true;
        state.hopeless = hopeless(info.state_reason);
        return state;
    case JOB_RUNNING:
    case JOB_SUSPENDED:
        break;
    default:
        return error(ErrorKind::limit, "job {}: {}", number, job_state(info.job_state));
    }
    auto granted = describe(number, info);
    if (!granted)
        return granted.failure();
    state.granted = std::move(*granted);
    return state;
}

Result<void> cancel(std::uint32_t number) {
    if (slurm_kill_job(job_argument(number), SIGKILL, 0) != SLURM_SUCCESS)
        return refused(fmt::format("job {}", number), errno);
    return {};
}

Result<void> update(job_desc_msg_t &job) {
    errno = 0;
    if (slurm_update_job(&job) != SLURM_SUCCESS)
        return refused(fmt::format("job {}", job_number(job)), errno);
    return {};
}

Result<RmAllocated> extend(const RmAllocation &request, std::uint32_t number) {
    auto job = load(number);
    if (!job)
        return job.failure();
    std::uint32_t limit = (*job)->info->time_limit, minutes = minutes_of(request.seconds);
    if (limit == INFINITE && ::geteuid() != 0 && (*job)->info->user_id != ::geteuid())
        return error(ErrorKind::denied, "job {} is another user's", number);
    if (limit != INFINITE) {
        if (limit > minutes)
            return error(ErrorKind::invalid, "job {} has {} minutes already", number, limit);
        job_desc_msg_t wish;
        slurm_init_job_desc_msg(&wish);
        job_number(wish) = number;
        wish.time_limit = minutes;
        if (auto updated = update(wish); !updated)
            return updated.failure();
        if (job = load(number); !job)
            return job.failure();
    }
    return describe(number, *(*job)->info);
}

// All of another allocation, `own` being the step's job, or 0.
Result<void> release_all(std::uint32_t number, std::uint32_t own) {
    if (number == own)
        return error(ErrorKind::invalid, "job {} is the one that this process runs in", number);
    if (own != 0) {
        auto mine = load(own);
        if (!mine)
            return mine.failure();
        if ((*mine)->info->array_job_id == number)
            return error(ErrorKind::invalid, "job {} is the array of the one that this process runs in", number);
    }
    return cancel(number);
}

Result<RmAllocated> release(const RmAllocation &request, std::uint32_t number, std::uint32_t own,
                            const std::function<Result<std::vector<RunningStep>>(std::uint32_t)> &steps) {
    RmAllocated nothing;
    nothing.allocation = std::to_string(number);
    if (request.host_list.empty()) {
        if (auto released = release_all(number, own); !released)
            return released.failure();
        return nothing;
    }
    auto state = look(number);
    if (!state)
        return state.failure();
    auto released = expand_host_list(request.host_list, TaskMap::max_hosts);
    if (!released)
        return released.failure();
    auto kept = without(state->granted.hosts, *released);
    if (!kept)
        return kept.failure();
    if (kept->empty())
        return error(ErrorKind::invalid, "no host of job {} would be left", number);
    auto running = steps(number);
    if (!running)
        return running.failure();
    for (const auto &step : *running) {
        for (const auto &host : *released) {
            if (std::find(step.nodes.begin(), step.nodes.end(), host) != step.nodes.end())
                return error(ErrorKind::exists, "step {}.{} ({}) runs on {}", number, step.step, step.name, host);
        }
    }
    std::string list = fmt::format("{}", fmt::join(*kept, ","));
    job_desc_msg_t wish;
    slurm_init_job_desc_msg(&wish);
    job_number(wish) = number;
    wish.req_nodes = list.data();
    if (auto updated = update(wish); !updated)
        return updated.failure();
    auto job = load(number);
    if (!job)
        return job.failure();
    return describe(number, *(*job)->info);
}

} // namespace

Result<std::uint32_t> job_number(const std::string &text) {
    std::uint32_t number = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc() || end != text.data() + text.size() || number == 0)
        return error(ErrorKind::not_found, "an allocation is named by its job's number");
    return number;
}

std::uint32_t minutes_of(std::uint32_t seconds) {
    return seconds / 60 + (seconds % 60 != 0);
}

Result<std::vector<std::string>> without(const std::vector<std::string> &all, const std::vector<std::string> &some) {
    std::set<std::string> gone(some.begin(), some.end());
    std::vector<std::string> left;
    for (const auto &host : all) {
        if (gone.erase(host) == 0)
            left.push_back(host);
    }
    if (!gone.empty())
        return error(ErrorKind::not_found, "{} is no host of the allocation", *gone.begin());
    return left;
}

Result<RmAllocated> begun_allocation(const std::string &name) {
    auto number = job_number(name);
    if (!number)
        return number.failure();
    auto job = load(*number);
    if (!job)
        return job.failure();
    const slurm_job_info_t &info = *(*job)->info;
    if (info.user_id != ::geteuid())
        return error(ErrorKind::denied, "job {} is another user's", *number);
    switch (info.job_state & JOB_STATE_BASE) {
    case JOB_RUNNING:
    case JOB_SUSPENDED:
        break;
    case JOB_PENDING:
        return error(ErrorKind::exists, "job {} has not begun: it waits in Slurm's queue", *number);
    default:
        return error(ErrorKind::not_found, "job {} is over: {}", *number, job_state(info.job_state));
    }
    return describe(*number, info);
}

Result<void> end_allocation(const std::string &name) {
    auto number = job_number(name);
    if (!number)
        return number.failure();
    auto ended = cancel(*number);
    return !ended && ended.failure().kind == ErrorKind::not_found ? Result<void>() : ended;
}

Allocations::Slurm allocation_calls(void (*prepare)(),
                                    std::function<Result<std::vector<RunningStep>>(std::uint32_t job)> steps) {
    Allocations::Slurm slurm;
    slurm.submit = [prepare](const RmAllocation &request) {
        prepare();
        return submit(request);
    };
    slurm.look = look;
    slurm.cancel = cancel;
    slurm.change = [prepare, steps = std::move(steps)](const RmAllocation &request,
                                                       std::uint32_t own) -> Result<RmAllocated> {
        prepare();
        std::uint32_t number = own;
        if (!request.allocation.empty()) {
            auto named = job_number(request.allocation);
            if (!named)
                return named.failure();
            number = *named;
        }
        return request.kind == RmAllocation::Kind::extend ? extend(request, number)
                                                          : release(request, number, own, steps);
    };
    return slurm;
}

} // namespace pmixhost::slurm
