// What a spawned process has said until its program was executed, or it could not be (task_spec.h).
#pragma once

#include "common/base/unique_fd.h"
#include "common/process/output_file.h"

#include <string>
#include <vector>

namespace pmixhost {

struct ExecWords {
    static constexpr std::size_t longest = 4096;
    std::string said;
    UniqueFd armed;       // with "=": for the stop at the first instruction (common/process/exec_stop.h)
    UniqueFd description; // with "d": what an agent is to start (common/start/agent_description.h)
    std::vector<OutputCopy> copies;
    UniqueFd task; // the connection: a task that could not execute its program ends when it is dropped

    // Reads what has come on `task`. True: that was all, because it has closed, or says too much.
    bool take();

  private:
    static constexpr std::size_t most_copies = 2; // a stream each
    bool take_copy(UniqueFd fd);                  // false: there are too many
    OutputCopy next_;
};

} // namespace pmixhost
