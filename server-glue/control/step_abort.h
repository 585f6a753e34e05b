// PMIx_Abort. To abort the whole step is to have the RM end it, with the caller's words; to abort some processes is
// to kill them, wherever they are.
#pragma once

#include "common/wire/control_messages.h"
#include "server-glue/control/abort_ask.h"
#include "server-glue/groups/group_registry.h"
#include "server-glue/step/step_context.h"
#include "server-glue/step/step_service.h"

namespace pmixhost {

class StepAbort final : public StepService {
  public:
    StepAbort(StepContext &context, const GroupRegistry &groups) : context_(context), groups_(groups) {}

    void abort(AbortAsk request);

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;

  private:
    void abort_all(AbortAsk request);
    void abort_some(AbortAsk &request, const std::vector<Rank> &ranks);
    void kill(const wire::KillRanks &message);
    std::string name_of(const Process &caller) const;

    StepContext &context_;
    const GroupRegistry &groups_;
};

} // namespace pmixhost
