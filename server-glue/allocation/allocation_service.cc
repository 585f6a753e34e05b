// See allocation_service.h.
#include "server-glue/allocation/allocation_service.h"

#include "server-glue/library/convert.h"
#include "server-glue/library/info_list.h"

#include <algorithm>
#include <fmt/ranges.h>
#include <pmix_common.h>

namespace pmixhost {

Result<RmAllocation> AllocationService::understand(const AllocationAsk &ask) {
    if (ask.refused != PMIX_SUCCESS)
        return error(ErrorKind::unsupported, "{} is not offered", fmt::join(ask.unsupported, ", "));
    RmAllocation request;
    request.allocation = ask.allocation;
    request.name = ask.request_id;
    request.queue = ask.queue;
    request.host_list = ask.host_list;
    request.hosts = static_cast<std::uint32_t>(ask.hosts);
    request.cpus = static_cast<std::uint32_t>(ask.cpus);
    request.seconds = static_cast<std::uint32_t>(ask.seconds);
    request.megabytes = ask.megabytes;
    bool resources = ask.hosts || ask.cpus || ask.megabytes || !ask.queue.empty();
    switch (ask.directive) {
    case PMIX_ALLOC_NEW:
        request.kind = RmAllocation::Kind::create;
        if (!ask.allocation.empty())
            return error(ErrorKind::invalid, "a new allocation gets its name from the resource manager");
        return request;
    case PMIX_ALLOC_EXTEND:
        request.kind = RmAllocation::Kind::extend;
        if (resources || !ask.host_list.empty())
            return error(ErrorKind::unsupported, "an allocation is extended in time only");
        if (ask.seconds == 0)
            return error(ErrorKind::invalid, "PMIX_ALLOC_TIME is missing");
        return request;
    case PMIX_ALLOC_RELEASE:
        request.kind = RmAllocation::Kind::release;
        if (resources || ask.seconds)
            return error(ErrorKind::unsupported, "hosts are released by name, or an allocation as a whole");
        if (ask.host_list.empty() && ask.allocation.empty())
            return error(ErrorKind::invalid, "neither PMIX_ALLOC_NODE_LIST nor PMIX_ALLOC_ID is there");
        return request;
    default:
        return error(ErrorKind::unsupported, "allocation directive {} is not offered", ask.directive);
    }
}

void AllocationService::request(TimePoint now, AllocationAsk ask, IsHere is_here) {
    auto understood = understand(ask);
    if (understood && pending_.size() >= max_waiting)
        understood = error(ErrorKind::limit, "{} requests wait already", pending_.size());
    if (!understood) {
        pmix_status_t status = status_of(understood.failure());
        port_.refused(ask.caller, status, understood.failure().text);
        return ask.reply(status, nullptr);
    }
    Duration wait = ask.timeout ? Duration(*ask.timeout) : patience_;
    TimePoint deadline = wait == Duration::zero() ? TimePoint::max() : now + wait;
    std::uint64_t id = next_id_++;
    next_look_ = std::min(next_time(), now + look_again);
    pending_.emplace(id, Pending{std::move(ask.caller), understood->kind, understood->host_list.empty(),
                                 std::move(ask.request_id), std::move(ask.reply), std::move(is_here)});
    port_.allocate(id, std::move(*understood), deadline,
                   [this, id](Result<RmAllocated> outcome) { answer(id, std::move(outcome)); });
}

void AllocationService::answer(std::uint64_t id, Result<RmAllocated> outcome) {
    auto node = pending_.extract(id);
    if (!node)
        return;
    Pending &pending = node.mapped();
    if (!outcome) {
        pmix_status_t status = status_of(outcome.failure());
        port_.refused(pending.caller, status, outcome.failure().text);
        return pending.reply(status, nullptr);
    }
    if (pending.kind == RmAllocation::Kind::create && pending.has_gone())
        return give_back(outcome->allocation);
    if (pending.kind == RmAllocation::Kind::create)
        port_.session_began(outcome->allocation, pending.request_id, outcome->seconds);
    else if (pending.kind == RmAllocation::Kind::release && pending.all_of_it)
        port_.session_over(outcome->allocation);
    auto info = std::make_shared<InfoList>();
    info->add(PMIX_ALLOC_ID, outcome->allocation);
    if (!pending.request_id.empty())
        info->add(PMIX_ALLOC_REQ_ID, pending.request_id);
    if (!outcome->hosts.empty()) {
        info->add(PMIX_ALLOC_NUM_NODES, static_cast<std::uint64_t>(outcome->hosts.size()));
        info->add(PMIX_ALLOC_NODE_LIST, fmt::format("{}", fmt::join(outcome->hosts, ",")));
        info->add(PMIX_ALLOC_NUM_CPUS, static_cast<std::uint64_t>(outcome->cpus));
        info->add(PMIX_ALLOC_TIME, outcome->seconds);
    }
    pending.reply(PMIX_SUCCESS, std::move(info));
}

void AllocationService::give_back(const std::string &allocation) {
    RmAllocation release;
    release.kind = RmAllocation::Kind::release;
    release.allocation = allocation;
    ++giving_back_;
    port_.allocate(next_id_++, std::move(release), TimePoint::max(),
                   [this, allocation](const Result<RmAllocated> &given) {
                       --giving_back_;
                       if (!given && given.failure().kind != ErrorKind::not_found) // it may be over
                           port_.stays(allocation, given.failure());
                   });
}

TimePoint AllocationService::next_time() const {
    bool any =
        std::any_of(pending_.begin(), pending_.end(), [](const auto &each) { return bool(each.second.is_here); });
    return any ? next_look_ : TimePoint::max();
}

void AllocationService::on_time(TimePoint now) {
    if (now < next_time())
        return;
    next_look_ = now + look_again;
    std::erase_if(pending_, [&](const auto &entry) {
        if (!entry.second.has_gone())
            return false;
        port_.abandon_allocation(entry.first);
        return true;
    });
}

void AllocationService::on_process_ended(const Bytes &nspace, Rank rank) {
    std::erase_if(pending_, [&](auto &entry) {
        const Process &caller = entry.second.caller;
        if (caller.nspace != nspace || caller.rank != rank)
            return false;
        port_.abandon_allocation(entry.first);
        return true;
    });
}

} // namespace pmixhost
