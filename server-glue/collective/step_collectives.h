// The collectives of this host's processes: fences, and what connects and groups are made of (collective.h), over the
// hosts of the step and, through the session, with other jobs.
#pragma once

#include "common/wire/collective_messages.h"
#include "common/wire/cross_job_messages.h"
#include "server-glue/collective/collective.h"
#include "server-glue/collective/fence_ask.h"
#include "server-glue/cross_job/cross_jobs.h"
#include "server-glue/modex/handing_over.h"
#include "server-glue/step/step_context.h"

namespace pmixhost {

class StepCollectives final : public StepService, private CollectivePort {
  public:
    StepCollectives(StepContext &context, CrossJobs &jobs, HandingOver &handing_over);

    void fence(FenceAsk request);

    // What this host's processes bring to any collective.
    struct Part {
        Bytes data;
        pmix_status_t refused = PMIX_SUCCESS;      // why this host cannot take part
        pmix_status_t local_status = PMIX_SUCCESS; // PMIX_LOCAL_COLLECTIVE_STATUS
        std::optional<std::chrono::milliseconds> timeout;
        std::shared_ptr<bool> all_have_data = nullptr; // where somebody asks: is set before the reply
    };
    // Enters a collective in which processes of this host take part. `reply` gets what all hosts have brought, one
    // behind the other, after the library knows what is new of other jobs.
    void enter(const Signature &signature, Part part, DataReply reply);
    // Says how this host's part of a tolerant collective is made when its members here have all gone.
    void set_part_of_the_dead(std::function<Bytes(const Signature &)> make) { part_of_the_dead_ = std::move(make); }
    // Says whether a group was built to be destructed without members that have ended; nothing where it is not known.
    void set_tolerance_of(std::function<std::optional<bool>(const Bytes &group)> find) {
        tolerance_of_ = std::move(find);
    }
    Result<std::vector<HostIndex>> hosts_of(const Signature &signature) override;
    bool waits_for(const Bytes &nspace) const { return collectives_.waits_for(nspace); }
    // Signatures of which children have yet to take a result.
    // Children that have yet to get pieces of a large result from each other need this host where one of them goes.
    bool has_unsent() override { return collectives_.handing_down() > 0; }
    // Answers what is under way: the end of the process is near.
    void drop_all() override { collectives_.drop_all(); }

    void take_asks(UpcallHandlers &handlers) override;
    void take_messages(StepMessages &messages) override;
    TimePoint next_time() const override { return collectives_.next_time(); }
    void on_time(TimePoint now) override { collectives_.on_time(now); }
    void on_process_gone(Rank, std::optional<int>) override { collectives_.on_local_process_gone(context_.now()); }
    void on_host_gone(HostIndex host, bool) override { collectives_.on_host_gone(context_.now(), host); }
    void on_session_gone() override { collectives_.on_cross_job_gone(); }

  private:
    void fence(const Signature &signature, Part part, bool collects, DataReply reply);
    // CollectivePort
    bool local_member_gone(const Signature &signature) override;
    bool is_tolerant(const Signature &signature) override;
    std::optional<Bytes> part_of_the_dead(const Signature &signature) override;
    bool all_members_gone(const Signature &signature);
    bool spans_jobs(const Signature &signature) override { return jobs_.spanned_by(signature); }
    void join_cross_job(const Bytes &key, std::uint64_t sequence,
                        const std::vector<wire::Contribution> &contributions) override;
    void leave_cross_job(const Bytes &key, std::uint64_t sequence, std::int32_t status) override;

    bool local_member_ending(const Signature &signature);
    bool lacks_one_for_libpmix(const Part &part);
    // The first rank of this host that belongs to it and `is` so.
    template <typename Is> std::optional<Rank> local_member(const Signature &signature, Is is);
    void tell_why_it_fails(const std::string &why);
    void complete(const Signature &signature, const Contributions &contributions, DataReply reply);
    void on_session_collective_done(wire::SessionCollectiveDone message);

    StepContext &context_;
    CrossJobs &jobs_;
    HandingOver &handing_over_;
    std::function<Bytes(const Signature &)> part_of_the_dead_;
    std::function<std::optional<bool>(const Bytes &)> tolerance_of_;
    Collectives collectives_;
};

} // namespace pmixhost
