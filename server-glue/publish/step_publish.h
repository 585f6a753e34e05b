// PMIx_Publish, _Lookup and _Unpublish of this host's processes and tools (publish_service.h): the session keeps the
// data.
#pragma once

#include "server-glue/publish/publish_service.h"
#include "server-glue/step/session_link.h"
#include "server-glue/step/step_context.h"

namespace pmixhost {

class StepPublish final : public StepService, private PublishPort {
  public:
    // Where a tool is; nothing of a process of the job.
    using FindTool = std::function<std::optional<ToolPlace>(const Process &)>;
    StepPublish(StepContext &context, SessionLink &session, FindTool find_tool);

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    TimePoint next_time() const override { return publish_.next_time(); }
    void on_time(TimePoint now) override { publish_.on_time(now); }
    void on_process_gone(Rank rank, std::optional<int>) override;
    void on_session_here() override { publish_.on_session_here(context_.now()); }
    void on_session_gone() override { publish_.on_session_gone(); }

  private:
    Owner owner_of(const Process &process) override;
    std::optional<ToolPlace> tool(const Process &process) override { return find_tool_(process); }
    void not_found() override { context_.explain_not_found(); }
    void reach_session() override { context_.mesh->invite(context_.session_peer()); }

    StepContext &context_;
    SessionLink &session_;
    FindTool find_tool_;
    PublishService publish_;
};

} // namespace pmixhost
