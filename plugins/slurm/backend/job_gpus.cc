// See job_gpus.h.
#include "plugins/slurm/backend/job_gpus.h"

#include "plugins/slurm/backend/backend_step.h"
#include "plugins/slurm/backend/loaded_jobs.h"
#include "plugins/slurm/backend/slurm_calls.h"
#include "plugins/slurm/base/slurm_abi.h"
#include "plugins/slurm/base/task_map.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

namespace pmixhost::slurm {

// "gpu:a100:2(IDX:0-1)"; without a number it is one.
static std::uint32_t gpus_in_one(std::string_view resource) {
    resource = resource.substr(0, resource.find('('));
    if (resource.substr(0, resource.find(':')) != "gpu")
        return 0;
    std::string_view last = resource.substr(resource.rfind(':') + 1);
    std::uint32_t number = 0;
    auto [end, failed] = std::from_chars(last.data(), last.data() + last.size(), number);
    return failed == std::errc() && end == last.data() + last.size() ? number : 1;
}

std::uint32_t gpus_in(std::string_view generic_resources) {
    std::uint32_t sum = 0;
    std::size_t begin = 0;
    bool within = false; // the list of indices, which has commas of its own
    for (std::size_t i = 0; i <= generic_resources.size(); ++i) {
        const char c = i < generic_resources.size() ? generic_resources[i] : ',';
        within = c == '(' || (within && c != ')');
        if (c != ',' || (within && i < generic_resources.size()))
            continue;
        sum += gpus_in_one(generic_resources.substr(begin, i - begin));
        begin = i + 1;
    }
    return sum;
}

Result<GpusByHost> gpus_of_job(std::uint32_t job) {
    initialise_slurm();
    job_info_msg_t *raw = nullptr;
    if (slurm_load_job(&raw, job_argument(job), SHOW_ALL | SHOW_DETAIL) != SLURM_SUCCESS)
        return error(ErrorKind::unreachable, "job {} cannot be looked up: {}", job, slurm_strerror(errno));
    LoadedJobs owner(raw);
    // Of the first task of an array, and of the leader of a het job, slurmctld tells all of them.
    auto *end = raw->job_array + raw->record_count;
    auto *own = std::find_if(raw->job_array, end, [job](auto &each) { return job_number(each) == job; });
    if (own == end)
        return GpusByHost();
    const auto &info = *own;
    if (std::string_view(info.tres_per_job ? info.tres_per_job : "").find("gpu") == std::string_view::npos)
        return GpusByHost();
    auto hosts = expand_host_list(info.nodes ? info.nodes : "", TaskMap::max_hosts);
    if (!hosts)
        return hosts.failure();
    GpusByHost gpus;
    for (std::size_t i = 0; i < hosts->size(); ++i) {
        const char *has = i < info.gres_detail_cnt && info.gres_detail_str ? info.gres_detail_str[i] : nullptr;
        gpus[(*hosts)[i]] = gpus_in(has ? has : "");
    }
    return gpus;
}

} // namespace pmixhost::slurm
