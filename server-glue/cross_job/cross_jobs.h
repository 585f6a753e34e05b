// The other jobs of the session that processes of this host deal with, and what is known of them here: their job
// information (cross_job_registry.h), what their processes have posted, and whether they share this job's fate.
#pragma once

#include "common/wire/cross_job_messages.h"
#include "common/wire/modex_messages.h"
#include "server-glue/cross_job/cross_job_posted.h"
#include "server-glue/cross_job/cross_job_registry.h"
#include "server-glue/cross_job/namespace_asks.h"
#include "server-glue/cross_job/step_fate.h"
#include "server-glue/sets/step_sets.h"
#include "server-glue/step/step_context.h"

namespace pmixhost {

class CrossJobs final : public StepService {
  public:
    CrossJobs(StepContext &context, StepSets &sets, StepFate &fate);

    const CrossJobRegistry &jobs() const { return jobs_; }
    // 0 when it is not known.
    Rank size_of(const Bytes &nspace) const {
        return nspace == context_.step.nspace ? context_.step.map.rank_count() : jobs_.size_of(nspace);
    }
    // Has the signature members in other namespaces?
    bool spanned_by(const Signature &signature) const;

    // Calls `then` when the library knows that namespace, after asking for it where nobody has yet; with an error
    // when there is none, after the library has learned that (CrossJobRegistry::mark_unknown).
    void when_known(const Bytes &nspace, TimePoint deadline, std::function<void(pmix_status_t)> then);
    // The same for who is only curious: the library does not learn that there is none.
    void look_for(const Bytes &nspace, TimePoint deadline, std::function<void(pmix_status_t)> then);
    // Calls `then` when something is known here of each job that takes part; PMIX_ERR_NOT_FOUND where there is no such
    // job, or none of its processes has such a rank.
    void look_for_all(const Signature &signature, TimePoint deadline, std::function<void(pmix_status_t)> then);
    // Whether somebody takes part of whose job nothing is known here.
    bool has_unknown(const Signature &signature) const;
    // A process here has spawned that job; `then` is called in any case.
    void learn_child(const wire::NamespaceInfo &info, std::function<void()> then);

    // Takes in the part of another namespace in a collective that has succeeded; `done` is called when the library
    // has it.
    void meet(CollectiveKind kind, const wire::NamespacePart &part, std::function<void()> done);
    // Called after meet() for all parts.
    void met(const Signature &signature);

    // What processes of other namespaces had posted when they connected.
    CrossJobPosted &posted() { return posted_; }

    void take_messages(StepMessages &messages) override;
    TimePoint next_time() const override { return asks_.next_time(); }
    void on_time(TimePoint now) override { asks_.on_time(now); }
    void on_session_gone() override { asks_.on_session_gone(); }

    // How the CPUs of a process are written in wire::PostedData.
    static constexpr std::string_view cpuset_prefix = "hwloc:";

  private:
    bool has_all_ranks(const Signature &signature) const;
    void find(const Bytes &nspace, TimePoint deadline, std::function<void(pmix_status_t)> then,
              std::function<void(pmix_status_t)> none);
    void refuse(const Bytes &nspace, pmix_status_t status, std::function<void(pmix_status_t)> then);
    std::map<Rank, std::string> remember_posted(const wire::NamespacePart &part);
    void describe_this(const wire::NamespaceRequest &message);

    StepContext &context_;
    StepSets &sets_;
    StepFate &fate_;
    CrossJobRegistry jobs_;
    NamespaceAsks asks_;
    CrossJobPosted posted_;
};

} // namespace pmixhost
