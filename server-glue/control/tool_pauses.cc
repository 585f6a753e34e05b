// See tool_pauses.h.
#include "server-glue/control/tool_pauses.h"

#include <algorithm>
#include <csignal>

namespace pmixhost {

std::optional<ToolPauses::Resume> ToolPauses::note(const Process &caller, bool is_tool,
                                                   const std::vector<Process> &targets,
                                                   const std::vector<std::int32_t> &signals) {
    auto last = std::find_if(signals.rbegin(), signals.rend(), [](auto s) { return s == SIGSTOP || s == SIGCONT; });
    if (last == signals.rend())
        return std::nullopt;
    ++asked_;
    if (*last == SIGCONT)
        return any() ? std::optional(Resume{targets, asked_}) : std::nullopt;
    for (const Process &target : targets) {
        if (is_tool)
            pause(caller, target);
    }
    return std::nullopt;
}

void ToolPauses::went_on(const Resume &resume) {
    if (resume.targets.empty())
        std::erase_if(paused_, [&](Paused &each) { return each.goes_on(resume.asked); });
    for (const Process &target : resume.targets)
        go_on(target, resume.asked);
}

bool ToolPauses::Paused::goes_on(std::uint64_t until) {
    if (whole)
        return asked <= until;
    std::erase_if(ranks, [until](const auto &rank) { return rank.second <= until; });
    return ranks.empty();
}

void ToolPauses::pause(const Process &tool, const Process &target) {
    auto found = std::find_if(paused_.begin(), paused_.end(), [&](const Paused &each) {
        return each.nspace == target.nspace && each.tool.nspace == tool.nspace && each.tool.rank == tool.rank;
    });
    if (found == paused_.end()) {
        if (paused_.size() == most_jobs)
            paused_.pop_front();
        paused_.push_back({tool, target.nspace, false, 0, {}});
        found = std::prev(paused_.end());
    }
    if (!target.wildcard && !found->whole)
        found->ranks[target.rank] = asked_;
    if (found->whole || target.wildcard || found->ranks.size() > most_ranks) {
        found->whole = true;
        found->asked = asked_;
        found->ranks.clear();
    }
}

void ToolPauses::go_on(const Process &target, std::uint64_t asked) {
    std::erase_if(paused_, [&](Paused &each) {
        if (each.nspace != target.nspace)
            return false;
        if (target.wildcard)
            return each.goes_on(asked);
        if (auto rank = each.ranks.find(target.rank); rank != each.ranks.end() && rank->second <= asked)
            each.ranks.erase(rank);
        return !each.whole && each.ranks.empty();
    });
}

void ToolPauses::go_on(const std::vector<Process> &targets) {
    if (targets.empty())
        paused_.clear();
    for (const Process &target : targets)
        go_on(target, asked_);
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
        for (const auto &[rank, asked] : other.ranks)
            own.ranks.erase(rank);
    }
    if (own.whole)
        return {{nspace, 0, true}};
    std::vector<Process> taken;
    for (const auto &[rank, asked] : own.ranks)
        taken.push_back({nspace, rank, false});
    return taken;
}

} // namespace pmixhost
