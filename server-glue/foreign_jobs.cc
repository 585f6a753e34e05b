// See foreign_jobs.h.
#include "server-glue/foreign_jobs.h"

#include "common/config_options.h"
#include "server-glue/job_info.h"

#include <pmix.h>

namespace pmixhost {

wire::NamespaceInfo describe(const StepInfo &step) {
    wire::NamespaceInfo info;
    info.nspace = step.nspace;
    info.job_id = step.job_id;
    info.universe_size = step.universe_size;
    info.process_sets = format_process_sets(step.process_sets);
    if (step.parent && step.parent->shares_fate)
        info.shares_fate_with = step.parent->nspace;
    for (HostIndex host = 0; host < step.map.host_count(); ++host) {
        auto ranks = step.map.ranks_on(host);
        info.hosts.push_back({step.map.hosts()[host], {ranks.begin(), ranks.end()}});
    }
    return info;
}

std::vector<ProcessSet> sets_of(const wire::NamespaceInfo &info) {
    Rank ranks = 0;
    for (const auto &host : info.hosts)
        ranks += static_cast<Rank>(host.ranks.size());
    auto sets = parse_process_sets(info.process_sets, ranks);
    return sets ? std::move(*sets) : std::vector<ProcessSet>();
}

static Result<StepInfo> step_of(const wire::NamespaceInfo &info) {
    std::vector<std::string> hosts;
    std::vector<std::vector<Rank>> ranks;
    for (const auto &host : info.hosts) {
        hosts.push_back(host.host);
        ranks.push_back(host.ranks);
    }
    auto map = JobMap::create(std::move(hosts), std::move(ranks));
    if (!map)
        return map.failure();
    StepInfo step;
    step.nspace = info.nspace;
    step.job_id = info.job_id;
    step.universe_size = info.universe_size;
    step.map = std::move(*map);
    step.self = no_host;
    step.process_sets = sets_of(info);
    step.apps.push_back({});
    return step;
}

std::vector<Bytes> ForeignJobs::names() const {
    std::vector<Bytes> out;
    for (const auto &[name, job] : jobs_)
        out.push_back(name);
    return out;
}

Rank ForeignJobs::size_of(const Bytes &nspace) const {
    auto found = jobs_.find(nspace);
    return found == jobs_.end() ? 0 : found->second.step->map.rank_count();
}

bool ForeignJobs::when_known(const Bytes &nspace, std::function<void()> then) {
    auto known = jobs_.find(nspace);
    if (known == jobs_.end())
        return false;
    if (known->second.registered)
        then();
    else
        known->second.waiting.push_back(std::move(then));
    return true;
}

void ForeignJobs::mark_unknown(PmixLibrary &library, const Bytes &nspace, std::function<void()> done) {
    auto nothing = [] {
        InfoList info;
        info.add(PMIX_REGISTER_NODATA, true);
        return Result<InfoList>(std::move(info));
    };
    library.register_nspace(nspace, 0, nothing, [this, done = std::move(done)](Result<void> registered) {
        if (!registered)
            log_.error("{}", registered.failure().text);
        done();
    });
}

bool ForeignJobs::room_for(const wire::NamespaceInfo &info) const {
    std::size_t ranks = ranks_;
    for (const auto &host : info.hosts)
        ranks += host.ranks.size();
    return jobs_.size() < max_jobs && ranks <= max_ranks;
}

void ForeignJobs::learn(PmixLibrary &library, const wire::NamespaceInfo &info,
                        std::function<void()> done) {
    if (when_known(info.nspace, done))
        return;
    auto step = step_of(info);
    if (!step) {
        log_.warning("what the namespace {} says of itself makes no sense: {}", printable(info.nspace),
                     step.failure().text);
        return done();
    }
    step->session_id = session_id_;
    auto kept = std::make_shared<const StepInfo>(std::move(*step));
    Job &job = jobs_[info.nspace];
    job.step = kept;
    ranks_ += kept->map.rank_count();
    job.waiting.push_back(std::move(done));
    library.register_nspace(
        info.nspace, 0, [kept] { return job_info(*kept, {}, {}); },
        [this, nspace = info.nspace](Result<void> registered) {
            if (!registered)
                log_.error("{}", registered.failure().text);
            Job &known = jobs_.at(nspace);
            known.registered = true;
            for (auto &waiting : std::exchange(known.waiting, {}))
                waiting();
        });
}

} // namespace pmixhost
