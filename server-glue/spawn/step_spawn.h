// PMIx_Spawn of this host's processes: the launcher starts the jobs (spawn_service.h), and tells how they fare.
#pragma once

#include "common/wire/spawn_messages.h"
#include "server-glue/collective/step_collectives.h"
#include "server-glue/cross_job/cross_jobs.h"
#include "server-glue/events/host_events.h"
#include "server-glue/events/step_events.h"
#include "server-glue/iof/children_io.h"
#include "server-glue/spawn/children.h"
#include "server-glue/spawn/children_ends.h"
#include "server-glue/spawn/spawn_ask.h"
#include "server-glue/spawn/spawn_places.h"
#include "server-glue/spawn/spawn_service.h"
#include "server-glue/spawn/starting_jobs.h"
#include "server-glue/spawn/tool_children.h"
#include "server-glue/step/session_link.h"

namespace pmixhost {

class StepSpawn final : public StepService {
  public:
    StepSpawn(StepContext &context, Children &children, ChildrenIo &io, CrossJobs &jobs, StepFate &fate,
              StepEvents &events, const StepCollectives &collectives, SessionLink &session, ToolChildren &of_tools,
              ChildrenEnds &ends, SpawnPlaces &places);

    void spawn(SpawnAsk ask);
    // Of those beside that job, which processes of this host have spawned: are there any that go on without their tool?
    bool has_lasting_daemons(const Bytes &nspace) const;
    // Others than the launcher say that a job has ended which was spawned here (lost_children.h); nothing: and nobody
    // knows how.
    void on_lost_child_ended(const Bytes &nspace, std::optional<int> exit_code);
    // This daemon leaves. `badly`: children that share its fate shall end too.
    void on_leaving(bool badly) override;

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    void on_launcher_gone() override;
    TimePoint next_time() const override { return leaving_.empty() ? TimePoint::max() : next_look_; }
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
    SpawnAnswer with_forwarding(const Process &caller, const wire::SpawnRequest &request, SpawnAnswer reply);
    void on_spawned(wire::SpawnReply message);
    void on_job_event(const wire::JobEvent &job);
    SpawnPlaces::Stay on_child_ended(const wire::JobEvent &job);
    void let_go(const Bytes &nspace, SpawnPlaces::Stay stay);
    void tell_of(const wire::JobEvent &job, std::optional<FirstFailure> first);
    void tell_debuggers(const wire::JobEvent &job, const std::vector<HostEvent> &events);

    StepContext &context_;
    Children &children_;
    ChildrenIo &io_;
    CrossJobs &jobs_;
    StepFate &fate_;
    StepEvents &events_;
    const StepCollectives &collectives_;
    SessionLink &session_;
    ToolChildren &of_tools_;
    ChildrenEnds &ends_;
    SpawnPlaces &places_;
    std::map<Bytes, SpawnPlaces::Stay> stays_; // of jobs that run
    struct Leaving {
        SpawnPlaces::Stay stay;
        TimePoint until;
    };
    std::map<Bytes, Leaving> leaving_;      // jobs that have ended, and whose output may still come
    std::multimap<Bytes, Bytes> debuggers_; // by what they debug, jobs that processes of this host have spawned
    std::map<Bytes, bool> told_ends_;       // jobs that run and whose end was asked for; true: a bad one alone
    TimePoint next_look_{};
    StartingJobs starting_;
    std::size_t learnt_ = 0; // of them, those that run already, and are made known to libpmix before the answer
    SpawnService spawn_;
};

} // namespace pmixhost
