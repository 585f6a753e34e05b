// See agent_descriptions.h.
#include "server-glue/tasks/agent_descriptions.h"

#include <algorithm>

namespace pmixhost {

Result<AgentDescription> AgentDescriptions::tell(pid_t agent) {
    auto found = std::find_if(kept_.begin(), kept_.end(),
                              [&](const auto &kept) { return agent > 0 && pid_of_(kept.first) == agent; });
    if (found == kept_.end())
        return error(ErrorKind::not_found, "process {} is no agent of this host that has its process yet to start",
                     agent);
    auto told = read_agent_description(found->second.file.get());
    if (told && !found->second.end)
        found->second.end = loop_.after(patience_, [this, rank = found->first] { drop(rank); });
    return told;
}

} // namespace pmixhost
