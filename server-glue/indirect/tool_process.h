// The process of pmixhost-indirect that is a tool of the job's server. Ends with the other one.
#pragma once

#include "common/base/unique_fd.h"

namespace pmixhost::indirect {

// `channel`: a non-blocking stream socket (side_messages.h). Returns the exit code.
int tool_process(UniqueFd channel);

} // namespace pmixhost::indirect
