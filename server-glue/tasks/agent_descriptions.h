// What the fork/exec agents of this host are to start (PMIX_FORKEXEC_AGENT), for as long as they need it. It has the
// whole environment of a program, and libpmix does not say who asks: whoever may ask anything can ask for it. So it is
// kept no longer than an agent takes: until the process that it has started connects, or, as that may never speak
// PMIx, for a while after the first answer; at most until the task ends.
#pragma once

#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/start/agent_description.h"

#include <functional>
#include <map>
#include <sys/types.h>

namespace pmixhost {

class AgentDescriptions {
  public:
    static constexpr Duration patience = std::chrono::seconds(60); // from the first answer

    // `pid_of`: of the task of a rank, which is the agent; 0: it does not run.
    AgentDescriptions(EventLoop &loop, std::function<pid_t(Rank)> pid_of,
                      Duration patience = AgentDescriptions::patience)
        : loop_(loop), pid_of_(std::move(pid_of)), patience_(patience) {}

    // `file`: of seal_agent_description(), or anything else that a task may send.
    void keep(Rank rank, UniqueFd file) { kept_[rank].file = std::move(file); }
    // Fails (not_found) where nothing is kept for that process, and as read_agent_description() does.
    Result<AgentDescription> tell(pid_t agent);
    // The process that is the rank has connected, or the task has ended.
    void drop(Rank rank) { kept_.erase(rank); }

  private:
    struct Kept {
        UniqueFd file;
        EventLoop::Handle end; // once it has been told
    };
    EventLoop &loop_;
    std::function<pid_t(Rank)> pid_of_;
    Duration patience_;
    std::map<Rank, Kept> kept_;
};

} // namespace pmixhost
