// PMIx_Job_control of this host's processes, and what it means for them: signals, the event of a checkpoint, the end of
// the job (job_control.h), here and in other jobs of the session (cross_job_control.h).
#pragma once

#include "common/wire/control_messages.h"
#include "server-glue/control/cross_job_control.h"
#include "server-glue/control/tool_pauses.h"
#include "server-glue/cross_job/cross_jobs.h"
#include "server-glue/events/step_events.h"
#include "server-glue/groups/group_registry.h"
#include "server-glue/spawn/spawned_jobs.h"

namespace pmixhost {

class StepControl final : public StepService, private JobControlPort, private CrossJobControlPort {
  public:
    StepControl(StepContext &context, const GroupRegistry &groups, const CrossJobs &jobs, const SpawnedJobs &spawned,
                StepEvents &events, std::function<bool(const Process &)> is_tool);

    void control(JobControlAsk request);
    // A tool has gone, whose debugger daemons were beside that job: what it has paused there goes on, but for those
    // that another debugger holds at a stop. Where this daemon leaves, that is told by an event, which nobody answers.
    void debugger_gone(const Process &tool, const Bytes &nspace);

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    TimePoint next_time() const override { return std::min(control_.next_time(), cross_job_.next_time()); }
    void on_time(TimePoint now) override;
    void on_host_gone(HostIndex host, bool left) override { control_.on_host_gone(host, !left); }
    void on_session_gone() override { cross_job_.on_session_gone(); }
    bool wants_event(pmix_status_t code, const Bytes &) const override {
        return code == PMIX_DEBUGGER_RELEASE && pauses_->any();
    }
    void on_event(pmix_status_t code, const Process &source, const InfoList &info) override;

  private:
    // JobControlPort
    bool signal_local(Rank rank, int signal) override;
    void end_job(std::string why, StatusReply reply) override;
    void notify_checkpoint(const wire::ControlOrder &order, const wire::ControlTarget &target) override;
    // CrossJobControlPort
    bool has_ended(const Bytes &nspace) const override { return spawned_.has_ended(nspace); }
    std::vector<Bytes> children() const override { return {spawned_.running().begin(), spawned_.running().end()}; }

    void note_declaration(JobControlAsk &request);
    void note_pauses(JobControlAsk &request);
    void resume_without_answer(const std::vector<Process> &targets);
    std::vector<Process> whole_jobs() const;

    StepContext &context_;
    const GroupRegistry &groups_;
    const CrossJobs &jobs_;
    const SpawnedJobs &spawned_;
    StepEvents &events_;
    const std::function<bool(const Process &)> is_tool_;
    const std::shared_ptr<ToolPauses> pauses_ = std::make_shared<ToolPauses>(); // an answer may outlive this
    JobControl control_;
    CrossJobControl cross_job_;
};

} // namespace pmixhost
