// PMIx_Abort. To abort the whole step is to have the RM end it, with the caller's words; to abort some processes is
// to kill them, wherever they are. Before that it is told, with what is about to be ended.
#pragma once

#include "common/wire/control_messages.h"
#include "server-glue/control/abort_ask.h"
#include "server-glue/events/step_events.h"
#include "server-glue/groups/group_registry.h"
#include "server-glue/log/task_texts.h"
#include "server-glue/step/step_context.h"
#include "server-glue/step/step_service.h"

#include <set>

namespace pmixhost {

class StepAbort final : public StepService {
  public:
    // `texts`: of the tasks of this host.
    StepAbort(StepContext &context, const GroupRegistry &groups, StepEvents &events, TaskTexts &texts)
        : StepService(context.services), context_(context), groups_(groups), events_(events), texts_(texts) {}

    void abort(AbortAsk request);

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    bool wants_event(pmix_status_t code, const Bytes &nspace) const override;
    void on_event(pmix_status_t code, const Process &source, const InfoList &info) override;
    // The order to end ranks is on its way to hosts with which there is no connection yet.
    bool has_unsent() override;

  private:
    void abort_all(AbortAsk request);
    void abort_some(AbortAsk request, std::vector<Rank> ranks);
    void end(AbortAsk &request, const std::vector<Rank> &ranks);
    void kill(const wire::KillRanks &message);
    void tell(const AbortAsk &request, const std::vector<Rank> &ranks);
    std::string name_of(const Process &caller) const;

    StepContext &context_;
    const GroupRegistry &groups_;
    StepEvents &events_;
    TaskTexts &texts_;
    std::set<HostIndex> ordered_; // hosts that were told to end ranks
    bool told_of_all_ = false;    // by this host or another one: all may abort their job at once
};

} // namespace pmixhost
