// See tool_children.h.
#include "server-glue/spawn/tool_children.h"

#include "common/wire/spawn_messages.h"

namespace pmixhost {

ToolOrigins::IsHere ToolChildren::connection_of(const Process &spawner) const {
    return tools_.is_tool(spawner) ? tools_.connection_of(spawner) : nullptr;
}

void ToolChildren::runs(const Bytes &nspace, ToolOrigins::IsHere spawner) {
    if (!spawner)
        return;
    children_[nspace] = std::move(spawner);
    next_look_ = context_.now();
}

void ToolChildren::on_time(TimePoint now) {
    if (children_.empty() || now < next_look_)
        return;
    next_look_ = now + look_again;
    std::erase_if(children_, [&](const auto &child) {
        const auto &[nspace, is_here] = child;
        if (is_here())
            return false;
        context_.log.info("the tool that has spawned {} has gone: it is ended", nspace);
        context_.send(context_.launcher_peer(), wire::EndChild{nspace});
        return true;
    });
}

} // namespace pmixhost
