// Process groups of this host's processes: construct and destruct are collectives of their own kinds, which carry the
// group's name in their signature, so that they never meet a fence over the same processes. Groups that are built by
// invitation are watched (group_invitations.h), and members are told what becomes of other members.
#pragma once

#include "common/job/rank_ranges.h"
#include "common/wire/cross_job_messages.h"
#include "common/wire/event_messages.h"
#include "server-glue/collective/step_connect.h"
#include "server-glue/events/library_events.h"
#include "server-glue/groups/group_ask.h"
#include "server-glue/groups/group_invitations.h"
#include "server-glue/groups/group_parts.h"

namespace pmixhost {

class StepGroups final : public StepService {
  public:
    StepGroups(StepContext &context, GroupRegistry &groups, CrossJobs &jobs, StepCollectives &collectives,
               StepConnect &connect, LibraryEvents &to_library);

    void group(GroupAsk request);

    void take_asks(UpcallHandlers &handlers) override;
    void on_bad_ends(const wire::HostReport &report) override;
    void on_normal_exits(const wire::NormalExits &ends) override;
    bool wants_event(pmix_status_t code, const Bytes &) const override {
        return GroupInvitations::is_of_interest(code);
    }
    void on_event(pmix_status_t code, const Process &source, const InfoList &info) override;

  private:
    wire::GroupPart part_of(const Signature &signature);
    void enter(std::shared_ptr<GroupAsk> ask, const Signature &signature, Bytes posted, TimePoint since);
    void refuse_other_versions(GroupAsk &ask, const Signature &signature);
    // `told`: members whose end those here have heard of.
    void done(GroupAsk &ask, const Signature &signature, const Bytes &parts, const RankRanges &told);
    std::vector<Process> members_for_library(const Group &group);
    void tell_context_id(const Group &group);
    // Members of groups that want to know, or of one that is being built by invitation, have ended.
    void tell_of_invited(Rank ended);
    void tell_of_ended();
    void tell_of_ranks(pmix_status_t code, const Bytes &group, const std::vector<pmix_proc_t> &targets,
                       const std::vector<Rank> &ranks);
    template <typename Members> std::vector<pmix_proc_t> members_here(const Members &members);
    void tell_members(pmix_status_t code, const Bytes &group, const std::vector<pmix_proc_t> &targets,
                      const Process &source, std::shared_ptr<InfoList> info, std::size_t processes);

    StepContext &context_;
    GroupRegistry &groups_;
    CrossJobs &jobs_;
    StepCollectives &collectives_;
    StepConnect &connect_;
    LibraryEvents &to_library_;
    GroupInvitations invitations_;
    RankRanges ended_; // in order, of which invitations have not yet heard
    struct Building {
        std::shared_ptr<GroupAsk> ask;
        Signature signature;
        RankRanges told; // ended meanwhile, of which those who want to know have heard
    };
    std::vector<Building> building_; // under way
    ContextIds context_ids_;
};

} // namespace pmixhost
