// The stops of `pmixhost debug --stop init` and `--stop app`: processes that wait in PMIx_Init, or where their program
// says, for a debugger's word. That they all have come there, and the word, are events of PMIx, heard and given as a
// tool of the job's daemon on this host. (At the first instruction it is a signal: common/process/exec_stop.h.)
#pragma once

#include "common/job/job_map.h"
#include "tools/view/tool_process.h"

#include <string>
#include <vector>

namespace pmixhost {

class ReadyForDebug {
  public:
    // Fails as ListeningTool::start() does. What was told before is heard as well.
    static Result<ReadyForDebug> listen(const ListedServer &server);

    int fd() const { return tool_.fd(); } // readable: call hear()
    enum class Word { nothing, ready, ended };
    // Blocks until something was said. `ready`: all processes of the job that are to stop have come to their places;
    // `ended`: nobody will say so any more.
    Word hear();
    const std::string &why() const { return why_; } // it has ended; may be empty

  private:
    ReadyForDebug(ListeningTool tool, std::string job) : tool_(std::move(tool)), job_(std::move(job)) {}
    ListeningTool tool_;
    std::string job_; // a namespace
    std::string why_;
};

// PMIX_DEBUGGER_RELEASE to these ranks of the server's job. Blocks, and fails, as as_tool() does.
Result<void> release_from_stop(const ListedServer &server, const std::vector<Rank> &ranks,
                               std::chrono::seconds patience);

} // namespace pmixhost
