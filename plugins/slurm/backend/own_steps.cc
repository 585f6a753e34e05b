// See own_steps.h.
#include "plugins/slurm/backend/own_steps.h"

#include "plugins/slurm/steps/session_step.h"

#include <set>
#include <utility>

namespace pmixhost::slurm {

Result<std::vector<std::string>> own_steps(const OwnStepsSource &slurm) {
    auto jobs = slurm.jobs();
    if (!jobs)
        return jobs.failure();
    std::map<std::uint32_t, std::uint32_t> leaders;
    for (const auto &one : *jobs)
        leaders[one.job] = one.leader;
    // The components of a het step have one number, and Slurm may name those of all when it is asked for one.
    std::set<std::pair<std::uint32_t, std::uint32_t>> found;
    auto take = [&](std::uint32_t job, const RunningStep &step) {
        auto leader = leaders.find(job);
        if (leader != leaders.end() && step.name != session_step_name)
            found.emplace(leader->second, step.step);
    };
    if (leaders.size() > max_single_jobs) {
        auto all = slurm.all_steps();
        if (!all)
            return all.failure();
        for (const auto &one : *all)
            take(one.job, one.step);
    } else {
        for (const auto &entry : leaders) {
            auto steps = slurm.steps(entry.first);
            if (!steps && steps.failure().kind == ErrorKind::not_found)
                continue;
            if (!steps)
                return steps.failure();
            for (const auto &step : *steps)
                take(entry.first, step);
        }
    }
    std::vector<std::string> names;
    for (const auto &[job, step] : found)
        names.push_back(fmt::format("{}.{}", job, step));
    return names;
}

} // namespace pmixhost::slurm
