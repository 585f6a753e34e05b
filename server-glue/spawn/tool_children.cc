// See tool_children.h.
#include "server-glue/spawn/tool_children.h"

#include "common/wire/spawn_messages.h"

#include <algorithm>
#include <pmix_common.h>
#include <utility>

namespace pmixhost {

ToolChildren::ToolChildren(StepContext &context, StepTools &tools, SpawnedJobs &jobs, Debugged debugged)
    : StepService(context.services), context_(context), tools_(tools), jobs_(jobs), debugged_(std::move(debugged)) {
    jobs.when_runs([this](const Bytes &nspace, const SpawnedJob &job) { runs(nspace, job); });
    jobs.when_ended([this](const Bytes &nspace) { ended(nspace); });
}

ToolOrigins::IsHere ToolChildren::connection_of(const Process &spawner) const {
    return tools_.is_tool(spawner) ? tools_.connection_of(spawner) : nullptr;
}

// Debugger daemons that go on without their tool are none of its jobs, but when it goes, it still lets go of what it
// has paused of the job beside which they are: as with daemons that have ended, under a name that no job has.
void ToolChildren::runs(const Bytes &nspace, const SpawnedJob &job) {
    const bool debugs = !job.debugged.empty(), outlive = debugs && job.goes_on;
    if (!job.tool_is_here || !(debugs || job.ends_with_tool()))
        return;
    const Bytes name = outlive ? nspace + " (its debugger)" : nspace;
    Child child{job.spawner, job.tool_is_here, job.debugged};
    child.goes_on = job.goes_on && !debugs;
    children_[name] = std::move(child);
    next_look_ = context_.now();
    if (outlive)
        ended(name);
}

void ToolChildren::ended(const Bytes &nspace) {
    auto child = children_.find(nspace);
    if (child == children_.end())
        return;
    // One of a debugger and a job is enough to remember.
    const bool others = std::any_of(children_.begin(), children_.end(), [&](const auto &other) {
        const Child &each = other.second;
        return &each != &child->second && each.debugged == child->second.debugged &&
               each.spawner.nspace == child->second.spawner.nspace && each.spawner.rank == child->second.spawner.rank;
    });
    if (child->second.debugged.empty() || others)
        children_.erase(child);
    else
        child->second.has_ended = true;
}

// All who were to stop somewhere in that job have: it tells its spawner.
bool ToolChildren::wants_event(pmix_status_t code, const Bytes &source) const {
    auto child = children_.find(source);
    return code == PMIX_READY_FOR_DEBUG && child != children_.end() && child->second.is_alone;
}

// Once more, lest the first word was lost.
void ToolChildren::on_event(pmix_status_t, const Process &source, const InfoList &) {
    leave_alone(source.nspace, children_.at(source.nspace));
}

void ToolChildren::leave_alone(const Bytes &nspace, Child &child) {
    if (jobs_.has_lasting_debuggers(nspace)) // they may see to who stands
        return;
    child.is_left_alone = true;
    debugged_.leave_alone(nspace);
}

bool ToolChildren::hears_of_end(const Child &daemons) const {
    auto debugged = children_.find(daemons.debugged);
    return daemons.debugged == context_.step.nspace || (debugged != children_.end() && !debugged->second.goes_on);
}

void ToolChildren::on_leaving(bool) {
    for (const auto &[nspace, of] : children_) {
        if (of.goes_on) {
            if (jobs_.has_ended(nspace))
                continue;
            // Also where daemons go on that may hold it: nobody would notice their end.
            context_.log.info("the tool that has spawned {} loses its server: who stands in it goes on", nspace);
            debugged_.leave_alone(nspace);
            continue;
        }
        if (!of.debugged.empty())
            debugged_.debugger_gone(of.spawner, of.debugged);
        const bool is_left = !of.debugged.empty() && hears_of_end(of);
        if (is_over(nspace, of) || is_left || !context_.mesh->connected(context_.launcher_peer()))
            continue;
        context_.log.info("the tool that has spawned {} loses its server: it is ended", nspace);
        context_.send(context_.launcher_peer(), wire::EndChild{nspace});
    }
}

TimePoint ToolChildren::next_time() const {
    bool any =
        std::any_of(children_.begin(), children_.end(), [](const auto &child) { return !child.second.is_left_alone; });
    return any ? next_look_ : TimePoint::max();
}

void ToolChildren::on_time(TimePoint now) {
    if (children_.empty() || now < next_look_)
        return;
    next_look_ = now + look_again;
    // First, while it is known whose daemons end with their tool.
    for (auto &[nspace, of] : children_) {
        if (!of.goes_on || of.is_left_alone || is_over(nspace, of) || (!of.is_alone && of.is_here()))
            continue;
        if (!std::exchange(of.is_alone, true))
            context_.log.info("the tool that has spawned {} has gone: who stands in it goes on", nspace);
        leave_alone(nspace, of);
    }
    std::erase_if(children_, [&](const auto &child) {
        const auto &[nspace, of] = child;
        if (of.goes_on || of.is_here())
            return false;
        if (!is_over(nspace, of)) {
            context_.log.info("the tool that has spawned {} has gone: it is ended", nspace);
            context_.send(context_.launcher_peer(), wire::EndChild{nspace});
        }
        if (!of.debugged.empty())
            debugged_.debugger_gone(of.spawner, of.debugged);
        return true;
    });
}

} // namespace pmixhost
