// Direct modex (modex.h) of this host's processes: what they want to know of another process, of whichever step of
// the session, and what others want to know of ours. Questions about another step go through the session.
#pragma once

#include "common/wire/modex_messages.h"
#include "server-glue/cross_job/cross_jobs.h"
#include "server-glue/modex/handing_over.h"
#include "server-glue/modex/modex.h"
#include "server-glue/modex/modex_ask.h"

namespace pmixhost {

class StepModex final : public StepService, private ModexPort {
  public:
    StepModex(StepContext &context, CrossJobs &jobs, HandingOver &handing_over);

    void get(ModexAsk request);
    // Another host has handed over to this one what that process had posted.
    void on_kept(Rank rank) { modex_.on_kept(context_.now(), context_.step.nspace, rank); }
    void on_refused(Rank rank) { modex_.on_refused(context_.now(), context_.step.nspace, rank); }
    // Answers what is under way: the end of the process is near.
    void drop_all() override { modex_.drop_all(); }

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    void on_library() override;
    TimePoint next_time() const override { return modex_.next_time(); }
    void on_time(TimePoint now) override { modex_.on_time(now); }
    void on_process_gone(Rank rank, std::optional<int>) override {
        modex_.on_local_process_gone(context_.step.nspace, rank);
    }
    void on_host_gone(HostIndex host, bool left) override { modex_.on_host_gone(context_.now(), host, left); }
    void on_session_gone() override {
        ++sessions_gone_;
        modex_.on_host_gone(context_.now(), context_.session_peer(), false);
    }

  private:
    // ModexPort
    void ask_library(std::uint64_t token, const Bytes &nspace, Rank rank, Wait wait) override;
    HostIndex host_of(const Bytes &nspace, Rank rank) override;
    HostIndex holder_of(const Bytes &nspace, Rank rank, const std::set<HostIndex> &but) override;
    Kept kept(const Bytes &nspace, Rank rank) override;
    bool local_process_gone(const Bytes &nspace, Rank rank) override {
        return nspace == context_.step.nspace && context_.tasks->gone(rank);
    }

    void read_posted(ModexAsk request, TimePoint deadline, ModexKey key);
    void on_cross_job_request(const wire::ModexRequest &message);

    std::uint64_t sessions_gone_ = 0;
    StepContext &context_;
    CrossJobs &jobs_;
    HandingOver &handing_over_;
    Modex modex_;
    struct EarlyAsk {
        std::uint64_t token;
        Bytes nspace;
        Rank rank;
        Wait wait;
    };
    std::vector<EarlyAsk> early_asks_; // for the library, before it had started
};

} // namespace pmixhost
