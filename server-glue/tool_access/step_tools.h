// Tools at a step's daemon: how those of this host find it (common/rendezvous/rendezvous_files.h), and what they are
// called. Who may come is the guard's business (library/connection_guard.h), before they are heard of here; when they
// go, libpmix says nothing.
#pragma once

#include "server-glue/step/step_context.h"
#include "server-glue/tool_access/tool_ask.h"
#include "server-glue/tool_access/tool_rights.h"

#include <set>

namespace pmixhost {

class StepTools final : public StepService {
  public:
    explicit StepTools(StepContext &context)
        : context_(context), rights_(context.loop, context.log, context.settings) {}

    // May a tool of this step's user come at all? Nothing: it is not known yet.
    std::optional<Result<void>> may_come(pid_t pid);
    // May that process, if it is a tool, do this here? Processes of the job may.
    bool may(const Process &process, policy::Action action);

    // Is that a tool which has connected here, now or before?
    bool is_tool(const Process &process) const { return tools_.contains({process.nspace, process.rank}); }

    void take_asks(UpcallHandlers &handlers) override;
    void on_library() override;

  private:
    static constexpr std::size_t max_remembered = 10'000;
    void connected(ToolConnectedAsk ask);

    StepContext &context_;
    ToolRights rights_;
    std::set<std::pair<Bytes, Rank>> tools_;
    std::uint64_t named_ = 0; // how many have got a name here
};

} // namespace pmixhost
