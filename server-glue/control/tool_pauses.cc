// See tool_pauses.h.
#include "server-glue/control/tool_pauses.h"

#include <algorithm>
#include <csignal>

namespace pmixhost {

void ToolPauses::note(const Process &caller, bool is_tool, const std::vector<Process> &targets,
                      const std::vector<std::int32_t> &signals) {
    for (std::int32_t signal : signals) {
        for (const Process &target : targets) {
            if (signal == SIGCONT)
                go_on(target);
            else if (signal == SIGSTOP && is_tool)
                pause(caller, target);
        }
    }
}

void ToolPauses::pause(const Process &tool, const Process &target) {
    auto found = std::find_if(paused_.begin(), paused_.end(), [&](const Paused &each) {
        return each.nspace == target.nspace && each.tool.nspace == tool.nspace && each.tool.rank == tool.rank;
    });
    if (found == paused_.end()) {
        if (paused_.size() == most_jobs)
            paused_.pop_front();
        paused_.push_back({tool, target.nspace, false, {}});
        found = std::prev(paused_.end());
    }
    if (!target.wildcard && !found->whole)
        found->ranks.insert(target.rank);
    if (target.wildcard || found->ranks.size() > most_ranks) {
        found->whole = true;
        found->ranks.clear();
    }
}

void ToolPauses::go_on(const Process &target) {
    std::erase_if(paused_, [&](Paused &each) {
        if (each.nspace != target.nspace)
            return false;
        if (!target.wildcard)
            each.ranks.erase(target.rank);
        return target.wildcard || (!each.whole && each.ranks.empty());
    });
}

void ToolPauses::go_on(const std::vector<Process> &targets) {
    if (targets.empty())
        paused_.clear();
    for (const Process &target : targets)
        go_on(target);
}

std::vector<Process> ToolPauses::take(const Process &tool, const Bytes &nspace) {
    Paused own;
    std::erase_if(paused_, [&](Paused &each) {
        if (each.nspace != nspace || each.tool.nspace != tool.nspace || each.tool.rank != tool.rank)
            return false;
        own = std::move(each);
        return true;
    });
    for (const Paused &other : paused_) {
        if (other.nspace != nspace)
            continue;
        if (other.whole)
            return {};
        for (Rank rank : other.ranks)
            own.ranks.erase(rank);
    }
    if (own.whole)
        return {{nspace, 0, true}};
    std::vector<Process> taken;
    for (Rank rank : own.ranks)
        taken.push_back({nspace, rank, false});
    return taken;
}

} // namespace pmixhost
