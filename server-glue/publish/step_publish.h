// PMIx_Publish, _Lookup and _Unpublish of this host's processes (publish_service.h): the session keeps the data.
#pragma once

#include "server-glue/publish/publish_service.h"
#include "server-glue/step/session_link.h"
#include "server-glue/step/step_context.h"

namespace pmixhost {

class StepPublish final : public StepService, private PublishPort {
  public:
    StepPublish(StepContext &context, SessionLink &session);

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    TimePoint next_time() const override { return publish_.next_time(); }
    void on_time(TimePoint now) override { publish_.on_time(now); }
    void on_process_gone(Rank rank, std::optional<int>) override;
    void on_session_gone() override { publish_.on_session_gone(); }

  private:
    Owner owner_of(Rank rank) override;
    void not_found() override { context_.explain_not_found(); }

    StepContext &context_;
    SessionLink &session_;
    PublishService publish_;
};

} // namespace pmixhost
