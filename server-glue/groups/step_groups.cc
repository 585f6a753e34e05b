// See step_groups.h.
#include "server-glue/groups/step_groups.h"

#include "common/text/printable.h"
#include "server-glue/events/host_events.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/library/upcall_handlers.h"

#include <algorithm>
#include <pmix.h>

namespace pmixhost {

static constexpr std::size_t max_at_once = 256; // ended processes
// Of a group that was built by a wildcard: each of them costs 260 bytes in each member.
static constexpr std::size_t most_named = 10'000;

StepGroups::StepGroups(StepContext &context, GroupRegistry &groups, CrossJobs &jobs, StepCollectives &collectives,
                       StepConnect &connect, LibraryEvents &to_library)
    : StepService(context.services), context_(context), groups_(groups), jobs_(jobs), collectives_(collectives),
      connect_(connect), to_library_(to_library), context_ids_(context.step.number, context.self()) {
    collectives.set_part_of_the_dead([this](const Signature &signature) {
        groups_.remove(signature.group); // the others build another one of that name, which nobody here will know
        return wire::encode(part_of(signature));
    });
    collectives.set_tolerance_of([this](const Bytes &name) {
        const Group *known = groups_.find(name);
        return known ? std::optional(known->tolerant) : std::nullopt;
    });
}

void StepGroups::take_asks(UpcallHandlers &handlers) {
    handlers.on_unjudged<GroupAsk>([this](GroupAsk ask) { group(std::move(ask)); });
}

void StepGroups::group(GroupAsk request) {
    auto signature = canonical(request.kind, request.members, [this](const Bytes &nspace) {
        return nspace == context_.step.nspace ? context_.step.map.rank_count() : size_unknown;
    });
    if (!signature)
        return request.reply(PMIX_ERR_NOT_FOUND, {});
    signature->group = request.name;
    if (request.kind == CollectiveKind::group_construct)
        refuse_other_versions(request, *signature);
    bool cross_job = jobs_.spanned_by(*signature);
    // Of a destruction each host knows it, or not, from the construction (StepCollectives::is_tolerant): in the
    // signature it would part those that know it from the others, and each would wait for the other.
    signature->tolerant = request.kind == CollectiveKind::group_construct && request.tolerant && !cross_job;
    if (cross_job && request.must_bear_ends) // of other jobs' processes nobody here hears that they end
        request.refused = PMIX_ERR_NOT_SUPPORTED;
    auto ask = std::make_shared<GroupAsk>(std::move(request));
    if (!cross_job || ask->kind == CollectiveKind::group_destruct)
        return enter(ask, *signature, {}, context_.now());
    connect_.collect_posted(*signature, [this, ask, signature = *signature, since = context_.now()](Bytes posted) {
        enter(ask, signature, std::move(posted), since);
    });
}

// For all members, on all hosts: else some would have the group, with a wrong context id or without.
void StepGroups::refuse_other_versions(GroupAsk &ask, const Signature &signature) {
    auto stranger = context_.client_libraries.first_with_other_groups(
        [&](Rank rank) { return signature.contains(context_.step.nspace, rank); });
    if (!stranger)
        return;
    context_.client_libraries.tell_of_groups(*stranger);
    ask.refused = PMIX_ERR_NOT_SUPPORTED;
}

wire::GroupPart StepGroups::part_of(const Signature &signature) {
    wire::GroupPart part;
    part.nspace = context_.step.nspace;
    part.host = context_.self();
    // Only where they matter: elsewhere the construction fails with them, and each look costs a file.
    for (Rank rank : context_.ranks_here()) {
        if (signature.tolerant != 0 && signature.contains(context_.step.nspace, rank) &&
            (context_.tasks->gone(rank) || context_.tasks->watch().ending(rank)))
            part.gone.push_back(rank);
    }
    // One host is enough to give an id, since all come to the same; this one cannot be missing.
    auto hosts = collectives_.hosts_of(signature);
    if (hosts && !hosts->empty() && hosts->front() == context_.self())
        part.context_id = context_ids_.next();
    return part;
}

void StepGroups::enter(std::shared_ptr<GroupAsk> ask, const Signature &signature, Bytes posted, TimePoint since) {
    Bytes data;
    if (ask->kind == CollectiveKind::group_construct) {
        wire::GroupPart part = part_of(signature);
        part.wants_context = ask->wants_context;
        part.endpoints = std::move(ask->endpoints);
        part.posted = std::move(posted);
        data = wire::encode(part);
    }
    std::optional<std::chrono::milliseconds> timeout;
    if (ask->timeout)
        timeout = StepConnect::left_of(StepConnect::before_the_library(*ask->timeout), since, context_.now());
    if (ask->kind == CollectiveKind::group_construct)
        building_.push_back({ask, signature, {}});
    collectives_.enter(signature, {std::move(data), ask->refused, ask->local_status, timeout},
                       {[this, ask, signature](pmix_status_t status, Bytes parts) {
                            RankRanges told;
                            std::erase_if(building_, [&](auto &each) {
                                if (each.ask != ask)
                                    return false;
                                told = std::move(each.told);
                                return true;
                            });
                            if (status != PMIX_SUCCESS)
                                return ask->reply(status, {});
                            done(*ask, signature, parts, told);
                        },
                        PMIX_ERROR, Bytes()});
}

std::vector<Process> StepGroups::members_for_library(const Group &group) {
    if (!library_needs_each_member_of_groups())
        return group.members.all();
    return group.members.each([this](const Bytes &nspace) { return jobs_.size_of(nspace); }, most_named);
}

void StepGroups::done(GroupAsk &ask, const Signature &signature, const Bytes &data, const RankRanges &told) {
    if (ask.kind == CollectiveKind::group_destruct) {
        groups_.remove(ask.name);
        return ask.reply(PMIX_SUCCESS, {});
    }
    auto parts = merge_group_parts(data, context_.step.nspace);
    if (!parts) {
        context_.log.warning("group {}: {}", printable(ask.name), parts.failure().text);
        return ask.reply(parts.failure().kind == ErrorKind::limit ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_UNPACK_FAILURE,
                         {});
    }
    for (auto &posted : parts->posted)
        jobs_.posted().keep(posted.nspace, posted.rank, std::move(posted.data));
    Group group{ask.name, std::move(ask.members), parts->context_id, ask.tells_of_ends, ask.tolerant};
    // The group goes without the members that did not come.
    if (signature.tolerant != 0) {
        for (Rank rank = 0; rank < context_.step.map.rank_count(); ++rank) {
            if (signature.contains(context_.step.nspace, rank) &&
                !parts->hosts.contains(context_.step.map.host_of(rank)))
                parts->gone.insert(rank);
        }
    }
    if (!parts->gone.empty()) {
        std::vector<Process> left;
        for (Rank rank = 0; rank < context_.step.map.rank_count(); ++rank) {
            if (signature.contains(context_.step.nspace, rank) && !parts->gone.contains(rank))
                left.push_back({context_.step.nspace, rank, false});
        }
        group.members = MemberList(left);
    }
    if (!groups_.add(group))
        context_.log.warning("there are too many groups: {} is not known to queries", printable(ask.name));
    if (ask.tells_of_ends) {      // also who had ended before anybody here came
        std::vector<Rank> failed; // other hosts say so, of any number
        std::copy_if(parts->gone.begin(), parts->gone.end(), std::back_inserter(failed), [&](Rank rank) {
            return rank < context_.step.map.rank_count() && signature.contains(context_.step.nspace, rank) &&
                   !told.contains(rank);
        });
        tell_of_ranks(PMIX_GROUP_MEMBER_FAILED, ask.name, members_here(group.members), failed);
    }
    bool whole = parts->gone.empty() || library_drops_members_of_partial_groups();
    ask.reply(whole ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS,
              {parts->context_id, std::move(parts->endpoints), members_for_library(group)});
    if (parts->context_id)
        tell_context_id(group);
    if (parts->gone.empty() || group.members.empty())
        return;
    // libpmix 4.2.2 passes no membership on with the answer; this tells in every version that somebody is missing.
    auto info = std::make_shared<InfoList>();
    std::vector<pmix_proc_t> members;
    for (const auto &member : group.members.all())
        members.push_back(proc_of(member.nspace, member.rank));
    info->add_processes(PMIX_GROUP_MEMBERSHIP, members);
    // The event is in the name of the server, because nobody is told of what it did itself.
    tell_members(PMIX_GROUP_MEMBERSHIP_UPDATE, ask.name, members_here(group.members),
                 {context_.step.server_nspace(), context_.self(), false}, info, members.size());
}

// Whoever has built the group knows it from the answer. The event is for handlers of others in the same processes,
// such as a second programming model; it is not kept for later, lest many groups push out what the library keeps.
void StepGroups::tell_context_id(const Group &group) {
    auto info = std::make_shared<InfoList>();
    info->add_size(PMIX_GROUP_CONTEXT_ID, *group.context_id);
    info->add(PMIX_EVENT_DO_NOT_CACHE, true);
    tell_members(PMIX_GROUP_CONTEXT_ID_ASSIGNED, group.name, members_here(group.members),
                 {context_.step.server_nspace(), context_.self(), false}, info, 0);
}

void StepGroups::on_event(pmix_status_t code, const Process &source, const InfoList &info) {
    GroupEvent event{code, source, {}, {}};
    for (const auto &one : info.all()) {
        if (PMIX_CHECK_KEY(&one, PMIX_GROUP_ID) && one.value.type == PMIX_STRING && one.value.data.string)
            event.group = one.value.data.string;
        else if (PMIX_CHECK_KEY(&one, PMIX_EVENT_CUSTOM_RANGE))
            read_processes(one.value, event.targets);
    }
    auto group = invitations_.on_event(event);
    if (!group)
        return;
    if (groups_.is_taken(*group))
        context_.log.warning(
            "{} of {} has invited to a group {}, but there is another one of that name; that one stays", source.rank,
            printable(source.nspace), printable(event.group));
    else if (!groups_.add(std::move(*group)))
        context_.log.warning("there are too many groups: {} is not known to queries", printable(event.group));
}

// One event for each rank, as the standard has it; who hears of them is looked for once.
void StepGroups::tell_of_ranks(pmix_status_t code, const Bytes &group, const std::vector<pmix_proc_t> &targets,
                               const std::vector<Rank> &ranks) {
    for (Rank rank : ranks) {
        auto info = std::make_shared<InfoList>();
        info->add_process(PMIX_EVENT_AFFECTED_PROC, proc_of(context_.step.nspace, rank));
        info->add(PMIX_HOSTNAME, context_.step.map.hosts()[context_.step.map.host_of(rank)]);
        tell_members(code, group, targets, {context_.step.nspace, rank, false}, info, 1);
    }
}

// A process that has ended, in whatever way, gives no answer to an invitation any more, nor leads a group.
void StepGroups::tell_of_invited(Rank ended) {
    for (auto &notice : invitations_.on_ended({context_.step.nspace, ended, false}))
        tell_of_ranks(notice.code, notice.group, members_here(MemberList(notice.recipients)), {ended});
}

void StepGroups::on_normal_exits(const wire::NormalExits &ends) {
    if (invitations_.size() == 0)
        return;
    bool under_way = !ended_.empty();
    for (const auto *ranges : {&ends.ranks, &ends.uncertain}) {
        for (const auto &range : *ranges)
            ended_.add(range.first, range.last);
    }
    if (!under_way)
        tell_of_ended();
}

// Some at a time: there may be many of both.
void StepGroups::tell_of_ended() {
    for (Rank rank : ended_.take(max_at_once)) {
        if (invitations_.size() > 0)
            tell_of_invited(rank);
    }
    if (!ended_.empty())
        context_.loop.post([this] { tell_of_ended(); });
}

void StepGroups::on_bad_ends(const wire::HostReport &report) {
    std::vector<Rank> ranks;
    if (report.lost != 0) {
        auto all = context_.step.map.ranks_on(report.host);
        ranks.assign(all.begin(), all.end());
    }
    for (const auto &ended : report.processes)
        ranks.push_back(ended.rank);
    for (std::size_t i = 0; i < ranks.size() && invitations_.size() > 0; ++i)
        tell_of_invited(ranks[i]);
    for (const auto &[group, failed] : groups_.affected(context_.step.nspace, ranks))
        tell_of_ranks(PMIX_GROUP_MEMBER_FAILED, group->name, members_here(group->members), failed);
    for (Building &building : building_) {
        if (!building.ask->tells_of_ends)
            continue;
        std::vector<Rank> failed;
        std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(failed),
                     [&](Rank rank) { return building.signature.contains(context_.step.nspace, rank); });
        for (Rank rank : failed)
            building.told.add(rank, rank);
        if (!failed.empty())
            tell_of_ranks(PMIX_GROUP_MEMBER_FAILED, building.ask->name, members_here(building.signature), failed);
    }
}

// The members here that run. There is one name for all of them where nobody is missing: it is copied into each event.
template <typename Members> std::vector<pmix_proc_t> StepGroups::members_here(const Members &members) {
    std::vector<pmix_proc_t> here;
    auto ranks = context_.ranks_here();
    for (Rank rank : ranks) {
        if (members.contains(context_.step.nspace, rank) && !context_.tasks->gone(rank))
            here.push_back(proc_of(context_.step.nspace, rank));
    }
    if (here.size() == ranks.size() && here.size() > 1)
        here = {proc_of(context_.step.nspace, PMIX_RANK_WILDCARD)};
    return here;
}

// An event for the members of a group that are on this host, from the host environment. `processes`:
// how many the info names.
void StepGroups::tell_members(pmix_status_t code, const Bytes &group, const std::vector<pmix_proc_t> &targets,
                              const Process &source, std::shared_ptr<InfoList> info, std::size_t processes) {
    if (targets.empty())
        return;
    info->add(PMIX_GROUP_ID, group);
    info->add(PMIX_EVENT_NON_DEFAULT, true);
    info->add_processes(PMIX_EVENT_CUSTOM_RANGE, targets);
    std::size_t bytes = sizeof(pmix_info_t) * info->size() + sizeof(pmix_proc_t) * (targets.size() + processes);
    if (bytes > most_kept_bytes(context_.settings.events_keep))
        info->add(PMIX_EVENT_DO_NOT_CACHE, true);
    pmix_proc_t from = proc_of(source.nspace, source.rank);
    to_library_.give(bytes, [this, code, from, info](LibraryEvents::Done done) {
        context_.library->notify(code, from, PMIX_RANGE_CUSTOM, info, std::move(done));
    });
}

} // namespace pmixhost
