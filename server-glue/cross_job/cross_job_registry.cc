// See cross_job_registry.h.
#include "server-glue/cross_job/cross_job_registry.h"

#include "common/job/rank_runs.h"
#include "common/process/topology.h"
#include "common/text/printable.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/tasks/job_info.h"

#include <algorithm>
#include <fmt/ranges.h>
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
        info.hosts.push_back({step.map.hosts()[host], runs_of(step.map.ranks_on(host))});
    }
    return info;
}

std::vector<ProcessSet> sets_of(const wire::NamespaceInfo &info) {
    auto sets = parse_process_sets(info.process_sets, size_of(info));
    return sets ? std::move(*sets) : std::vector<ProcessSet>();
}

// Of a job that is larger nobody could hold the table of processes.
constexpr std::uint64_t largest_job = 1u << 24;

static Result<StepInfo> step_of(const wire::NamespaceInfo &info) {
    std::vector<std::string> hosts;
    std::vector<std::vector<Rank>> ranks;
    std::uint64_t room = largest_job;
    for (const auto &host : info.hosts) {
        auto its = ranks_of(host.ranks, room);
        if (!its)
            return its.failure();
        room -= its->size();
        hosts.push_back(host.host);
        ranks.push_back(std::move(*its));
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

constexpr std::ptrdiff_t max_shown = 16; // of 8 MiB shared memory each, at least

// What a job's processes of one host have in common there.
static void add_host_of(InfoList &info, const StepInfo &step, HostIndex host) {
    auto ranks = step.map.ranks_on(host);
    info.add(PMIX_LOCAL_SIZE, static_cast<std::uint32_t>(ranks.size()));
    info.add(PMIX_LOCAL_PEERS, fmt::format("{}", fmt::join(ranks, ",")));
    info.add_rank(PMIX_LOCALLDR, *std::min_element(ranks.begin(), ranks.end()));
}

static Result<InfoList> cross_job_info(const StepInfo &step, HostIndex here, Rank details_up_to) {
    auto info = job_info(step, {}, {}, {}, describes_all(step, details_up_to));
    if (info && here != no_host && !step.map.ranks_on(here).empty())
        add_host_of(*info, step, here);
    return info;
}

std::vector<Bytes> CrossJobRegistry::names() const {
    std::vector<Bytes> out;
    for (const auto &[name, job] : jobs_)
        out.push_back(name);
    return out;
}

const StepInfo *CrossJobRegistry::find(const Bytes &nspace) const {
    auto found = jobs_.find(nspace);
    return found == jobs_.end() ? nullptr : found->second.step.get();
}

Rank CrossJobRegistry::size_of(const Bytes &nspace) const {
    auto found = jobs_.find(nspace);
    return found == jobs_.end() ? 0 : found->second.step->map.rank_count();
}

bool CrossJobRegistry::when_known(const Bytes &nspace, std::function<void()> then) {
    auto known = jobs_.find(nspace);
    if (known == jobs_.end())
        return false;
    if (known->second.registered)
        then();
    else
        known->second.waiting.push_back(std::move(then));
    return true;
}

void CrossJobRegistry::mark_unknown(PmixLibrary &library, const Bytes &nspace, std::function<void()> done) {
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

bool CrossJobRegistry::room_for(const wire::NamespaceInfo &info) const {
    return jobs_.size() < max_jobs && ranks_ + pmixhost::size_of(info) <= max_ranks;
}

void CrossJobRegistry::show(PmixLibrary &library, const Bytes &nspace, const std::map<Rank, std::string> &cpus,
                            std::function<void()> done) {
    auto found = jobs_.find(nspace);
    if (found == jobs_.end() || found->second.shown == Job::Shown::never)
        return done();
    Job &job = found->second;
    auto go_on = [this, &library, nspace, cpus, done = std::move(done)] {
        if (jobs_.at(nspace).shown == Job::Shown::yes)
            return update(library, nspace, cpus, done);
        done();
    };
    if (job.shown == Job::Shown::yes)
        return go_on();
    job.showing.push_back(std::move(go_on));
    if (job.shown == Job::Shown::starting)
        return;
    job.shown = Job::Shown::starting;
    library.become_client(nspace, job.step->map.rank_count(), [this, nspace](Result<void> taken) {
        if (!taken)
            log_.info("processes of {} that are on this host are not known as local: {}", printable(nspace),
                      taken.failure().text);
        Job &known = jobs_.at(nspace);
        auto shown = std::count_if(jobs_.begin(), jobs_.end(),
                                   [](const auto &job) { return job.second.shown == Job::Shown::yes; });
        known.shown = taken && shown < max_shown ? Job::Shown::yes : Job::Shown::never;
        for (auto &waiting : std::exchange(known.showing, {}))
            waiting();
    });
}

// The clients ask the server for what is not there, as ever.
void CrossJobRegistry::update(PmixLibrary &library, const Bytes &nspace, const std::map<Rank, std::string> &cpus,
                              std::function<void()> done) {
    const Job &job = jobs_.at(nspace);
    auto describe = [step = job.step, here = job.here, cpus]() -> Result<InfoList> {
        InfoList all, host;
        host.add_rank(PMIX_RANK, PMIX_RANK_WILDCARD);
        host.add(PMIX_UNIV_SIZE, std::max<std::uint32_t>(step->universe_size, step->map.rank_count()));
        std::vector<Rank> ranks{0}; // the library looks through the ranks of the store for what is of none
        if (here != no_host && !step->map.ranks_on(here).empty()) {
            add_host_of(host, *step, here);
            ranks.assign(step->map.ranks_on(here).begin(), step->map.ranks_on(here).end());
        }
        all.add_array(PMIX_PROC_DATA, std::move(host));
        for (Rank rank : ranks) {
            InfoList info;
            info.add_rank(PMIX_RANK, rank);
            info.add(PMIX_HOSTNAME, step->map.hosts()[step->map.host_of(rank)]);
            info.add(PMIX_LOCAL_RANK, static_cast<std::uint16_t>(step->map.local_rank(rank)));
            info.add(PMIX_NODE_RANK, static_cast<std::uint16_t>(step->map.local_rank(rank)));
            auto list = cpus.find(rank);
            auto set =
                list == cpus.end() ? Result<CpuSet>(error(ErrorKind::not_found, "")) : CpuSet::of_list(list->second);
            if (set) {
                info.add(PMIX_CPUSET, PmixLibrary::cpuset_string(*set));
                info.add(PMIX_LOCALITY_STRING, PmixLibrary::locality_string(*set));
            }
            all.add_array(PMIX_PROC_DATA, std::move(info));
        }
        return all;
    };
    library.register_nspace(nspace, PmixLibrary::update, describe,
                            [this, done = std::move(done)](Result<void> updated) {
                                if (!updated)
                                    log_.error("{}", updated.failure().text);
                                done();
                            });
}

void CrossJobRegistry::learn(PmixLibrary &library, const wire::NamespaceInfo &info, std::function<void()> done) {
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
    auto own = std::find(kept->map.hosts().begin(), kept->map.hosts().end(), host_);
    if (own != kept->map.hosts().end())
        job.here = static_cast<HostIndex>(own - kept->map.hosts().begin());
    job.waiting.push_back(std::move(done));
    library.register_nspace(
        info.nspace, 0, [kept, here = job.here, up_to = details_up_to_] { return cross_job_info(*kept, here, up_to); },
        [this, &library, nspace = info.nspace](Result<void> registered) {
            if (!registered) {
                log_.error("{}", registered.failure().text);
                jobs_.at(nspace).shown = Job::Shown::never;
            }
            show(library, nspace, {}, [this, nspace] {
                Job &known = jobs_.at(nspace);
                known.registered = true;
                for (auto &waiting : std::exchange(known.waiting, {}))
                    waiting();
            });
        });
}

} // namespace pmixhost
