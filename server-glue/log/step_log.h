// PMIx_Log of this host's processes: where what they log goes (log_service.h). The user's terminal is reached by
// way of the caller's own output; the job's record is the RM's; mail is handed to the site's program.
#pragma once

#include "common/loop/slow_calls.h"
#include "server-glue/log/log_ask.h"
#include "server-glue/log/task_texts.h"
#include "server-glue/step/step_context.h"
#include "server-glue/step/step_service.h"

namespace pmixhost {

class StepLog final : public StepService {
  public:
    explicit StepLog(StepContext &context) : StepService(context.services), context_(context), texts_(context.loop) {}

    void log(LogAsk request);
    // For what else the user is told by way of a task, so that all of it comes in order.
    TaskTexts &texts() { return texts_; }

    void take_asks(UpcallHandlers &handlers) override;
    bool has_unsent() override { return texts_.any(); }

  private:
    void record(const std::string &text, std::function<void(pmix_status_t)> done);
    void mail(std::shared_ptr<const Mail> letter, std::function<void(pmix_status_t)> done);
    void syslog(std::string text, int priority, std::function<void(pmix_status_t)> done);

    StepContext &context_;
    TaskTexts texts_;
    std::optional<SlowCalls> mailer_; // made for the first letter
    std::optional<SlowCalls> syslog_; // and for the first line to syslog, whose reader may be slow
};

} // namespace pmixhost
