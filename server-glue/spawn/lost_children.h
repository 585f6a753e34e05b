// The jobs that processes of this host have spawned, when the launcher has gone or the link to it is lost: their ends
// are found out (lost_jobs.h), and told as the launcher would have told them.
#pragma once

#include "server-glue/spawn/children_ends.h"
#include "server-glue/spawn/lost_jobs.h"
#include "server-glue/spawn/spawned_jobs.h"
#include "server-glue/step/step_context.h"
#include "server-glue/step/step_messages.h"

namespace pmixhost {

class LostChildren final : public StepService {
  public:
    LostChildren(StepContext &context, const SpawnedJobs &jobs, ChildrenEnds &ends)
        : StepService(context.services), context_(context), jobs_(jobs), ends_(ends), lost_(context) {}

    void take_messages(StepMessages &messages) override {
        messages.on<wire::JobEndReply>(
            StepMessages::Peer::session,
            [this](HostIndex, const auto &message, const auto &) { lost_.on_reply(context_.now(), message); });
    }
    void on_launcher_gone() override {
        if (!context_.ending && !jobs_.running().empty())
            lost_.on_launcher_gone(context_.now());
    }
    void on_session_gone() override {
        if (!lost_.on_session_gone(context_.now(), running()))
            context_.log.warning(
                "the launcher is gone, and no session stays: nobody will hear of the ends of spawned jobs");
    }
    TimePoint next_time() const override { return lost_.next_time(); }
    void on_time(TimePoint now) override {
        if (now < lost_.next_time())
            return;
        for (const auto &ended : lost_.on_time(now, running()))
            ends_.on_lost_child_ended(ended.nspace, ended.exit_code);
    }

  private:
    const std::set<Bytes> &running() const {
        static const std::set<Bytes> none;
        return context_.ending ? none : jobs_.running();
    }

    StepContext &context_;
    const SpawnedJobs &jobs_;
    ChildrenEnds &ends_;
    LostJobs lost_;
};

} // namespace pmixhost
