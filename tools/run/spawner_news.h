// What a run tells whoever has spawned it (PMIx_Spawn; common/start/spawn_channel.h); nothing where nobody has.
#pragma once

#include "common/base/unique_fd.h"
#include "common/job/job_map.h"

#include <set>
#include <string>
#include <string_view>

namespace pmixhost {

class SpawnerNews {
  public:
    // The job is there, and has its daemons. `hosts`: how many of them have to say that their tasks run.
    void created(std::string_view nspace, std::size_t processes, std::size_t hosts);
    // A task runs its program, and others do not yet.
    void first_runs();
    // All tasks of that host run their programs (0), or one cannot (a PMIx status and why): the launch is told of when
    // all hosts have said so, or with the first failure, after which nothing more is.
    void launched(HostIndex host, int status, const std::string &text);

  private:
    UniqueFd channel_; // empty: nobody wants to hear
    std::size_t hosts_ = 0;
    std::set<HostIndex> launched_;
    bool told_started_ = false;
};

} // namespace pmixhost
