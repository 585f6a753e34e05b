// PMIx_Query_info of this host's processes, with what a step's daemon knows: its processes and those of the other
// hosts (process_table.h), sets and groups, other jobs, and what the RM says.
#pragma once

#include "common/process/memory_use.h"
#include "common/wire/event_messages.h"
#include "server-glue/cross_job/cross_jobs.h"
#include "server-glue/query/job_tables.h"
#include "server-glue/query/query_service.h"
#include "server-glue/step/step_context.h"
#include "server-glue/step/step_service.h"
#include "server-glue/tool_access/tool_rights.h"

namespace pmixhost {

class StepQueries final : public StepService, private QueryPort, private ProcessTablePort {
  public:
    StepQueries(StepContext &context, const ProcessSets &sets, const GroupRegistry &groups, CrossJobs &cross_jobs);

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    TimePoint next_time() const override {
        return std::min({table_.next_time(), job_tables_.next_time(), queries_.next_time(),
                         rights_asked_.empty() ? TimePoint::max() : ask_again_});
    }
    void on_time(TimePoint now) override;
    void on_process_gone(Rank rank, std::optional<int> wait_status) override;
    void on_host_gone(HostIndex host, bool) override { table_.on_host_gone(context_.now(), host); }
    void on_bad_ends(const wire::HostReport &report) override;
    void on_session_gone() override { job_tables_.on_session_gone(); }

  private:
    // ProcessTablePort
    std::vector<ProcessEntry> local_processes() override;
    std::uint64_t daemon_memory() override { return resident_kib(0); }
    // QueryPort
    const StepInfo &step() const override { return context_.step; }
    const ProcessSets &process_sets() const override { return sets_; }
    const GroupRegistry &groups() const override { return groups_; }
    std::vector<Bytes> other_namespaces() const override { return cross_jobs_.jobs().names(); }
    const StepInfo *job(const Bytes &nspace) const override {
        return nspace == context_.step.nspace ? &context_.step : cross_jobs_.jobs().find(nspace);
    }
    JobTable local_table() override { return table_.local(); }
    void gather_table(Duration timeout, ProcessTable::Done done) override {
        table_.request(context_.now(), timeout, std::move(done));
    }
    void find_job(const Bytes &nspace, Duration timeout, std::function<void(pmix_status_t)> then) override {
        cross_jobs_.look_for(nspace, context_.now() + timeout, std::move(then));
    }
    void gather_table_of(const StepInfo &job, HostIndex host, Duration timeout, ProcessTable::Done done) override;
    std::int32_t first_bad_end() const override { return table_.first_bad_end(); }
    RmQuestions *rm_questions() override { return context_.backend.questions(); }
    HostAbilities abilities() override;
    void ask_rights(std::function<void(const ToolActions &)> done) override;
    Result<AgentDescription> described_to(pid_t agent) override { return context_.tasks->described_to(agent); }
    void unanswered(const std::string &key, pmix_status_t status, const std::string &why) override;

    void describe_this(const wire::JobTableRequest &message);

    StepContext &context_;
    const ProcessSets &sets_;
    const GroupRegistry &groups_;
    CrossJobs &cross_jobs_;
    ProcessTable table_;
    JobTables job_tables_;
    ToolRights rights_; // read when they are first asked for
    std::vector<std::function<void(const ToolActions &)>> rights_asked_;
    TimePoint ask_again_{};
    QueryService queries_{*this};
};

} // namespace pmixhost
