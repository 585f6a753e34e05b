// See step_description.h.
#include "plugins/slurm/shim/step_description.h"

namespace pmixhost::slurm {

static std::string distribution_of(const slurm_step_layout_t &layout) {
    if ((layout.task_dist & SLURM_DIST_STATE_BASE) == SLURM_DIST_UNKNOWN)
        return {};
    switch (layout.task_dist & 0xf) {
    case SLURM_DIST_CYCLIC:
        return "cyclic";
    case SLURM_DIST_BLOCK:
        return "block";
    case SLURM_DIST_ARBITRARY:
        return "arbitrary";
    case SLURM_DIST_PLANE:
        return "plane";
    default:
        return {};
    }
}

Result<TaskMap> describe_step(const ClientInfo &info, const LaunchContext &context) {
    const slurm_step_layout_t *layout = info.step_layout;
    if (!layout || !layout->node_list || !layout->tasks || !layout->tids || layout->node_cnt == 0)
        return error(ErrorKind::invalid, "srun gave no list of the step's tasks");
    if (front_end(*layout))
        return error(ErrorKind::unsupported, "machines whose tasks run on a front end are not supported");
    if (layout->node_cnt > TaskMap::max_hosts)
        return error(ErrorKind::limit, "the step has {} hosts; pmixhost takes {}", layout->node_cnt,
                     +TaskMap::max_hosts);
    TaskMap map;
    map.job_id = is_het_component(info) ? info.het_job_id : info.step_id.job_id;
    map.step_id = info.step_id.step_id;
    if (is_het_component(info))
        map.component_jobs = context.component_jobs;
    if (info.het_job_task_offset != NO_VAL)
        map.first_rank = info.het_job_task_offset;
    map.start_key = context.start_key;
    map.cluster = context.cluster;
    map.host_list = layout->node_list;
    map.distribution = distribution_of(*layout);
    map.binding = context.binding;
    map.allocated_hosts = context.allocated_hosts;
    map.allocated_cpus = context.allocated_cpus;
    map.ranks_by_host.reserve(layout->node_cnt);
    std::size_t tasks = 0;
    for (std::uint32_t host = 0; host < layout->node_cnt; ++host) {
        const std::uint32_t *ids = layout->tids[host];
        map.ranks_by_host.emplace_back(ids, ids ? ids + layout->tasks[host] : nullptr);
        tasks += map.ranks_by_host.back().size();
    }
    if (tasks <= TaskMap::max_ranks)
        map.apps = context.spawned.empty() ? apps_of_step(context.programs, static_cast<Rank>(tasks), map.first_rank)
                                           : context.spawned;
    auto sets = parse_process_sets(context.process_sets, static_cast<Rank>(tasks));
    if (!sets)
        return error(sets.failure().kind, "{}: {}", process_sets_variable, sets.failure().text);
    map.process_sets = std::move(*sets);
    return map;
}

} // namespace pmixhost::slurm
