// PMIx_Spawn of this host's processes, from the request to its answer: the launcher starts the jobs (spawn_service.h).
// What becomes of them is spawned_jobs.h; how they end, children_ends.h.
#pragma once

#include "common/wire/spawn_messages.h"
#include "server-glue/cross_job/cross_jobs.h"
#include "server-glue/iof/children_io.h"
#include "server-glue/spawn/spawn_ask.h"
#include "server-glue/spawn/spawn_places.h"
#include "server-glue/spawn/spawn_service.h"
#include "server-glue/spawn/spawned_jobs.h"
#include "server-glue/spawn/starting_jobs.h"
#include "server-glue/spawn/tool_children.h"
#include "server-glue/step/session_link.h"

namespace pmixhost {

class StepSpawn final : public StepService {
  public:
    StepSpawn(StepContext &context, SpawnedJobs &spawned, ChildrenIo &io, CrossJobs &jobs, SessionLink &session,
              const ToolChildren &of_tools, SpawnPlaces &places);

    void spawn(SpawnAsk ask);
    // This daemon leaves. `badly`: children that share its fate shall end too.
    void on_leaving(bool badly) override;

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    void on_launcher_gone() override { spawn_.on_launcher_gone(); }
    TimePoint next_time() const override { return look_at_tools_; }
    void on_time(TimePoint now) override;

  private:
    using Starting = std::shared_ptr<StartingJobs::Held>;
    void spawn_in(const Process &caller, wire::SpawnRequest request, const Starting &starting, SpawnAnswer reply);
    void spawn_one(const Process &caller, wire::SpawnRequest request, SpawnAnswer reply);
    void start(const Process &caller, wire::SpawnRequest request, SpawnAnswer reply);
    struct Second {
        wire::SpawnRequest request;
        bool debugs;       // the first one
        Starting starting; // both
    };
    void spawn_both(const Process &caller, wire::SpawnRequest request, Second second, SpawnAnswer reply);
    void find_target(const Process &target, const wire::SpawnRequest &request,
                     std::function<void(pmix_status_t, std::vector<wire::TargetHost>)> then);
    SpawnAnswer noted(const Process &caller, const wire::SpawnRequest &request, SpawnAnswer reply);
    void on_spawned(wire::SpawnReply message);
    void ask_launcher(wire::SpawnRequest request, SpawnAnswer reply, const SpawnedJob &job);

    StepContext &context_;
    SpawnedJobs &spawned_;
    ChildrenIo &io_;
    CrossJobs &jobs_;
    SessionLink &session_;
    const ToolChildren &of_tools_;
    SpawnPlaces &places_;
    StartingJobs starting_;
    SpawnService spawn_;
    TimePoint look_at_tools_ = TimePoint::max(); // libpmix does not say when one goes
};

} // namespace pmixhost
