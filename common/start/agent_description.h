// What a fork/exec agent (PMIX_FORKEXEC_AGENT) is to start, on its way from pmixhost-task, which has found it out and
// becomes the agent, to the daemon, which tells it the agent: a file in memory that nobody can change any more. It may
// be too large for a message, and needs no place in any directory.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"
#include "common/start/task_spec.h"

#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

struct AgentDescription {
    std::uint32_t rank = 0;
    std::string file; // for execve(2)
    std::vector<std::string> argv, environment;
    std::string directory;
    bool operator==(const AgentDescription &) const = default;
};

// Fails (limit) where it is too long, and as memfd_create(2) and write(2) do.
Result<UniqueFd> seal_agent_description(const AgentDescription &description);
// Of a process that may send anything: reading does not wait, and takes no more than max_task_spec. Fails (invalid).
Result<AgentDescription> read_agent_description(int fd);

// Would a tool with this variable (NAME=VALUE) be taken for a process of the job, or look for its server elsewhere than
// the job's processes have it? The agent has none of these, the process that it starts has all.
bool is_not_for_agents(std::string_view variable);

} // namespace pmixhost
