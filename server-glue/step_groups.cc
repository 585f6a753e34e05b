// StepServer's part in process groups: construct and destruct are collectives of their own kinds,
// which carry the group's name in their signature, so that they never meet a fence over the same
// processes.
#include "server-glue/step_server.h"

#include "common/config_options.h"
#include "server-glue/host_events.h"
#include "server-glue/upcall_tools.h"

#include <algorithm>
#include <pmix.h>

namespace pmixhost {

// libpmix 4.2.2 must not see its own timer of a group or connect expire: so much earlier, because the
// daemon may be late itself.
static constexpr auto head_start = std::chrono::milliseconds(250);
static constexpr auto most_head_start = std::chrono::milliseconds(2000);

static pmix_proc_t named(const Bytes &nspace, Rank rank) {
    pmix_proc_t process;
    PMIX_LOAD_PROCID(&process, nspace.c_str(), rank);
    return process;
}

std::chrono::milliseconds StepServer::before_the_library(std::chrono::seconds timeout) {
    auto all = std::chrono::milliseconds(timeout);
    return all.count() > 0 ? all - std::clamp(all / 5, head_start, most_head_start) : all;
}

void StepServer::group(GroupAsk request) {
    auto signature = canonical(request.kind, request.members, [this](const Bytes &nspace) {
        return nspace == step_.nspace ? step_.map.rank_count() : size_unknown;
    });
    if (!signature)
        return request.reply(PMIX_ERR_NOT_FOUND, {});
    if (request.kind == CollectiveKind::group_destruct) {
        const Group *known = groups_.find(request.name);
        request.tolerant = known && known->tolerant;
    }
    signature->group = request.name;
    bool outside = spans_outside(*signature);
    signature->tolerant = request.tolerant && !outside;
    auto ask = std::make_shared<GroupAsk>(std::move(request));
    if (!outside || ask->kind == CollectiveKind::group_destruct)
        return enter_group(ask, *signature, {});
    collect_posted(*signature, [this, ask, signature = *signature](Bytes posted) {
        enter_group(ask, signature, std::move(posted));
    });
}

wire::GroupPart StepServer::group_part(const Signature &signature) {
    wire::GroupPart part;
    part.nspace = step_.nspace;
    part.host = step_.self;
    // Where they matter: otherwise the construction fails with them, and to look costs a file each.
    for (Rank rank : step_.map.ranks_on(step_.self)) {
        if (signature.tolerant != 0 && signature.contains(step_.nspace, rank) &&
            (tasks_.gone(rank) || tasks_.watch().ending(rank)))
            part.gone.push_back(rank);
    }
    // One host is enough, if all of them come to the same; this one cannot be missing.
    auto hosts = hosts_of(signature);
    if (hosts && !hosts->empty() && hosts->front() == step_.self)
        part.context_id = context_ids_.next();
    return part;
}

void StepServer::enter_group(std::shared_ptr<GroupAsk> ask, const Signature &signature,
                             Bytes posted) {
    Bytes data;
    if (ask->kind == CollectiveKind::group_construct) {
        wire::GroupPart part = group_part(signature);
        part.wants_context = ask->wants_context;
        part.endpoints = std::move(ask->endpoints);
        part.posted = std::move(posted);
        data = wire::encode(part);
    }
    std::optional<std::chrono::milliseconds> timeout;
    if (ask->timeout)
        timeout = before_the_library(*ask->timeout);
    if (ask->kind == CollectiveKind::group_construct)
        building_groups_.push_back({ask, signature});
    enter(signature, std::move(data), ask->refused, ask->local_status, timeout,
          {[this, ask, signature](pmix_status_t status, Bytes parts) {
               std::erase_if(building_groups_, [&](const auto &each) { return each.ask == ask; });
               if (status != PMIX_SUCCESS)
                   return ask->reply(status, {});
               group_done(*ask, signature, parts);
           },
           PMIX_ERROR, Bytes()});
}

// Of a host whose members have all gone, before anyone there could join.
std::optional<Bytes> StepServer::part_of_the_dead(const Signature &signature) {
    for (Rank rank : step_.map.ranks_on(step_.self)) {
        if (signature.contains(step_.nspace, rank) && !tasks_.gone(rank))
            return std::nullopt;
    }
    return signature.kind == CollectiveKind::group_construct ? wire::encode(group_part(signature))
                                                             : Bytes();
}

void StepServer::group_done(GroupAsk &ask, const Signature &signature, const Bytes &data) {
    if (ask.kind == CollectiveKind::group_destruct) {
        groups_.remove(ask.name);
        return ask.reply(PMIX_SUCCESS, {});
    }
    auto parts = merge_group_parts(data, step_.nspace);
    if (!parts) {
        log_.warning("group {}: {}", printable(ask.name), parts.failure().text);
        return ask.reply(parts.failure().kind == ErrorKind::limit ? PMIX_ERR_OUT_OF_RESOURCE
                                                                  : PMIX_ERR_UNPACK_FAILURE,
                         {});
    }
    for (auto &posted : parts->posted)
        posted_elsewhere_[{posted.nspace, posted.rank}] = std::move(posted.data);
    Group group{ask.name, std::move(ask.members), parts->context_id, ask.tells_of_ends,
                ask.tolerant};
    // Without those that did not come.
    if (signature.tolerant != 0) {
        for (Rank rank = 0; rank < step_.map.rank_count(); ++rank) {
            if (signature.contains(step_.nspace, rank) &&
                !parts->hosts.contains(step_.map.host_of(rank)))
                parts->gone.insert(rank);
        }
    }
    if (!parts->gone.empty()) {
        std::vector<Process> left;
        for (Rank rank = 0; rank < step_.map.rank_count(); ++rank) {
            if (signature.contains(step_.nspace, rank) && !parts->gone.contains(rank))
                left.push_back({step_.nspace, rank, false});
        }
        group.members = MemberList(left);
    }
    if (!groups_.add(group))
        log_.warning("there are too many groups: {} is not known to queries", printable(ask.name));
    ask.reply(parts->gone.empty() ? PMIX_SUCCESS : PMIX_ERR_PARTIAL_SUCCESS,
              {parts->context_id, std::move(parts->endpoints)});
    if (parts->gone.empty() || group.members.empty())
        return;
    // libpmix 4.2.2 passes no membership on with the answer.
    auto info = std::make_shared<InfoList>();
    std::vector<pmix_proc_t> members;
    for (const auto &member : group.members.all())
        members.push_back(named(member.nspace, member.rank));
    info->add_processes(PMIX_GROUP_MEMBERSHIP, members);
    // In the name of the server: nobody is told of what it did itself.
    tell_members(PMIX_GROUP_MEMBERSHIP_UPDATE, ask.name, members_here(group.members),
                 {step_.nspace + ".server", step_.self, false}, info, members.size());
}

void StepServer::hear_of_group(pmix_status_t code, Process source,
                               const InfoList &info) {
    GroupEvent event{code, std::move(source), {}, {}};
    for (const auto &one : info.all()) {
        if (PMIX_CHECK_KEY(&one, PMIX_GROUP_ID) && one.value.type == PMIX_STRING &&
            one.value.data.string)
            event.group = one.value.data.string;
        else if (PMIX_CHECK_KEY(&one, PMIX_EVENT_CUSTOM_RANGE))
            upcall::read_processes(one.value, event.targets);
    }
    auto group = invitations_.on_event(event);
    if (group && !groups_.add(std::move(*group)))
        log_.warning("there are too many groups: {} is not known to queries", printable(event.group));
}

// One event for each rank, as the standard has it; who hears of them is looked for once.
void StepServer::tell_of_ranks(pmix_status_t code, const Bytes &group, const std::vector<pmix_proc_t> &targets,
                               const std::vector<Rank> &ranks) {
    for (Rank rank : ranks) {
        auto info = std::make_shared<InfoList>();
        info->add_process(PMIX_EVENT_AFFECTED_PROC, named(step_.nspace, rank));
        info->add(PMIX_HOSTNAME, step_.map.hosts()[step_.map.host_of(rank)]);
        tell_members(code, group, targets, {step_.nspace, rank, false}, info, 1);
    }
}

// Who has ended, in whatever way, gives no answer to an invitation any more, nor leads a group.
void StepServer::tell_of_invited(const std::vector<Rank> &ended) {
    for (Rank rank : ended) {
        if (invitations_.size() == 0)
            return;
        for (auto &notice : invitations_.on_ended({step_.nspace, rank, false}))
            tell_of_ranks(notice.code, notice.group, members_here(MemberList(notice.recipients)), {rank});
    }
}

void StepServer::tell_of_failed(const wire::HostReport &report) {
    std::vector<Rank> ranks;
    if (report.lost != 0) {
        auto all = step_.map.ranks_on(report.host);
        ranks.assign(all.begin(), all.end());
    }
    for (const auto &ended : report.processes)
        ranks.push_back(ended.rank);
    tell_of_invited(ranks);
    for (const auto &[group, failed] : groups_.affected(step_.nspace, ranks))
        tell_of_ranks(PMIX_GROUP_MEMBER_FAILED, group->name, members_here(group->members), failed);
    for (const Building &building : building_groups_) {
        if (!building.ask->tells_of_ends)
            continue;
        std::vector<Rank> failed;
        std::copy_if(ranks.begin(), ranks.end(), std::back_inserter(failed),
                     [&](Rank rank) { return building.signature.contains(step_.nspace, rank); });
        if (!failed.empty())
            tell_of_ranks(PMIX_GROUP_MEMBER_FAILED, building.ask->name, members_here(building.signature), failed);
    }
}

// Those that run. One name for all of them where nobody is missing: it is copied into each event.
template <typename Members>
std::vector<pmix_proc_t> StepServer::members_here(const Members &members) {
    std::vector<pmix_proc_t> here;
    auto ranks = step_.map.ranks_on(step_.self);
    for (Rank rank : ranks) {
        if (members.contains(step_.nspace, rank) && !tasks_.gone(rank))
            here.push_back(named(step_.nspace, rank));
    }
    if (here.size() == ranks.size() && here.size() > 1)
        here = {named(step_.nspace, PMIX_RANK_WILDCARD)};
    return here;
}

// An event for the members of a group that are on this host, from the host environment. `processes`:
// how many the info names.
void StepServer::tell_members(pmix_status_t code, const Bytes &group,
                              const std::vector<pmix_proc_t> &targets, const Process &source,
                              std::shared_ptr<InfoList> info, std::size_t processes) {
    if (targets.empty())
        return;
    info->add(PMIX_GROUP_ID, group);
    info->add(PMIX_EVENT_NON_DEFAULT, true);
    info->add_processes(PMIX_EVENT_CUSTOM_RANGE, targets);
    std::size_t bytes = sizeof(pmix_info_t) * info->size() +
                        sizeof(pmix_proc_t) * (targets.size() + processes);
    if (bytes > most_kept_bytes(settings_.events_keep))
        info->add(PMIX_EVENT_DO_NOT_CACHE, true);
    pmix_proc_t from = named(source.nspace, source.rank);
    to_library(bytes,
               [this, code, from, info](PmixLibrary::Done done) {
                   library_->notify(code, from, PMIX_RANGE_CUSTOM, info, std::move(done));
               });
}

} // namespace pmixhost
