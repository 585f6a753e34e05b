// See spawned_jobs.h.
#include "server-glue/spawn/spawned_jobs.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

std::size_t SpawnedJobs::how_many() const {
    return static_cast<std::size_t>(
        std::count_if(known_.begin(), known_.end(), [](const auto &entry) { return !entry.second.has_ended; }));
}

std::vector<Bytes> SpawnedJobs::debuggers_of(const Bytes &nspace) const {
    std::vector<Bytes> out;
    auto [first, last] = debuggers_.equal_range(nspace);
    for (auto at = first; at != last; ++at)
        out.push_back(at->second);
    return out;
}

bool SpawnedJobs::has_lasting_debuggers(const Bytes &nspace) const {
    auto [first, last] = debuggers_.equal_range(nspace);
    return std::any_of(first, last,
                       [this](const auto &entry) { return !known_.at(entry.second).job.ends_with_tool(); });
}

bool SpawnedJobs::tells_end(const Bytes &nspace, std::optional<int> exit_code) const {
    auto found = known_.find(nspace);
    if (found == known_.end())
        return false;
    const auto tells = found->second.job.tells_end;
    return tells == SpawnedJob::TellsEnd::always || (tells == SpawnedJob::TellsEnd::if_bad && exit_code != 0);
}

void SpawnedJobs::starts(const Bytes &nspace) {
    if (!has_ended(nspace))
        running_.insert(nspace);
}

void SpawnedJobs::runs(const Bytes &nspace, SpawnedJob job) {
    auto [at, is_new] = known_.try_emplace(nspace);
    if (!is_new)
        return;
    at->second.has_ended = has_ended(nspace);
    at->second.job = std::move(job);
    const SpawnedJob &known = at->second.job;
    if (!at->second.has_ended && !known.debugged.empty())
        debuggers_.emplace(known.debugged, nspace);
    for (const auto &hook : on_runs_)
        hook(nspace, known);
}

void SpawnedJobs::answered(const Bytes &nspace) {
    auto found = known_.find(nspace);
    if (found == known_.end())
        return;
    found->second.is_answered = true;
    pass_on(found);
}

bool SpawnedJobs::ended(const Bytes &nspace) {
    if (!ended_.insert(nspace))
        return false;
    running_.erase(nspace);
    telling_.insert(nspace);
    if (auto found = known_.find(nspace); found != known_.end()) {
        found->second.has_ended = true;
        forget_debugger(nspace, found->second.job);
        pass_on(found);
    }
    return true;
}

void SpawnedJobs::told(const Bytes &nspace) {
    telling_.erase(nspace);
    if (auto found = known_.find(nspace); found != known_.end())
        pass_on(found);
}

void SpawnedJobs::pass_on(std::map<Bytes, Known>::iterator at) {
    if (!at->second.is_answered || !at->second.has_ended)
        return;
    if (!std::exchange(at->second.end_is_passed_on, true)) {
        for (const auto &hook : on_ended_)
            hook(at->first);
    }
    if (telling_.contains(at->first))
        return;
    auto node = known_.extract(at);
    for (const auto &hook : on_told_)
        hook(node.key());
}

void SpawnedJobs::forget_debugger(const Bytes &nspace, const SpawnedJob &job) {
    auto [first, last] = debuggers_.equal_range(job.debugged);
    auto at = std::find_if(first, last, [&](const auto &entry) { return entry.second == nspace; });
    if (at != last)
        debuggers_.erase(at);
}

} // namespace pmixhost
