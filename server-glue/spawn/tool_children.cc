// See tool_children.h.
#include "server-glue/spawn/tool_children.h"

#include "common/wire/spawn_messages.h"

#include <algorithm>

namespace pmixhost {

ToolOrigins::IsHere ToolChildren::connection_of(const Process &spawner) const {
    return tools_.is_tool(spawner) ? tools_.connection_of(spawner) : nullptr;
}

void ToolChildren::runs(const Bytes &nspace, Child child) {
    const bool has_ended = child.has_ended;
    children_[nspace] = std::move(child);
    next_look_ = context_.now();
    if (has_ended)
        ended(nspace);
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

void ToolChildren::on_time(TimePoint now) {
    if (children_.empty() || now < next_look_)
        return;
    next_look_ = now + look_again;
    std::erase_if(children_, [&](const auto &child) {
        const auto &[nspace, of] = child;
        if (of.is_here())
            return false;
        if (!of.has_ended) {
            context_.log.info("the tool that has spawned {} has gone: it is ended", nspace);
            context_.send(context_.launcher_peer(), wire::EndChild{nspace});
        }
        if (!of.debugged.empty())
            debugger_gone_(of.spawner, of.debugged);
        return true;
    });
}

} // namespace pmixhost
