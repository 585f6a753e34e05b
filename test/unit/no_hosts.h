// What starts jobs where there is nowhere to start one: it refuses each.
#pragma once

#include "server-glue/rm/job_starter.h"

namespace pmixhost {

class NoHosts final : public JobStarter {
  public:
    const SpawnSite &site() const override { return site_; }
    Result<JobCommand> command(const SpawnPlan &) override { return error(ErrorKind::system, "no command"); }
    JobPlace place(const SpawnPlan &, const std::string &) const override { return {}; }
    Error explain(const std::string &) const override { return error(ErrorKind::system, "no word"); }

  private:
    SpawnSite site_;
};

} // namespace pmixhost
