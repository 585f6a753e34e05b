// PMIx_Connect and PMIx_Disconnect of this host's processes: collectives, mostly over several namespaces, that bring
// along what the participants have posted, so that the others need not ask for it one by one.
#pragma once

#include "common/wire/modex_messages.h"
#include "server-glue/collective/connect_ask.h"
#include "server-glue/collective/step_collectives.h"

namespace pmixhost {

class StepConnect final : public StepService {
  public:
    // `has_ended`: is that namespace, a child of a process here, known to have ended?
    StepConnect(StepContext &context, CrossJobs &jobs, StepCollectives &collectives,
                std::function<bool(const Bytes &nspace)> has_ended)
        : StepService(context.services), context_(context), jobs_(jobs), collectives_(collectives),
          has_ended_(std::move(has_ended)) {}

    void connect(ConnectAsk request);

    // `then` gets what the participants of this host have posted: wire::PostedData, one behind the other. A process
    // that has posted nothing yet is not waited for; it can be asked later.
    void collect_posted(const Signature &signature, std::function<void(Bytes)> then);
    // How long the answer to a connect or group may take, so that it is out before libpmix gives up after `timeout`
    // (0: never).
    static std::chrono::milliseconds before_the_library(std::chrono::seconds timeout);
    // Of a time that has begun `since` then; what was none (0) is none.
    static std::chrono::milliseconds left_of(std::chrono::milliseconds timeout, TimePoint since, TimePoint now);

    void take_asks(UpcallHandlers &handlers) override;

  private:
    StepContext &context_;
    CrossJobs &jobs_;
    StepCollectives &collectives_;
    std::function<bool(const Bytes &nspace)> has_ended_;
};

} // namespace pmixhost
