// See step_collectives.h.
#include "server-glue/collective/step_collectives.h"

#include "server-glue/guard/closed_connections.h"
#include "server-glue/library/library_version.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <fmt/format.h>
#include <pmix_common.h>

namespace pmixhost {

StepCollectives::StepCollectives(StepContext &context, CrossJobs &jobs, HandingOver &handing_over)
    : StepService(context.services), context_(context), jobs_(jobs), handing_over_(handing_over),
      collectives_(context, *this, context.self(), context.settings.transport_radix) {}

void StepCollectives::take_asks(UpcallHandlers &handlers) {
    handlers.shared<CollectiveLimits>()->bytes = context_.settings.fence_max_bytes;
    handlers.on_unjudged<FenceAsk>([this](FenceAsk ask) { fence(std::move(ask)); });
}

void StepCollectives::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::CollectiveUp>(Peer::host, [this](HostIndex from, auto &&message, const SharedBytes &) {
        collectives_.on_up(context_.now(), from, std::move(message));
    });
    messages.on<wire::CollectiveDown>(Peer::host, [this](HostIndex from, auto &&message, const SharedBytes &payload) {
        collectives_.on_down(from, std::move(message), payload);
    });
    messages.on<wire::CollectiveProbe>(Peer::host, [this](HostIndex from, const auto &message, const SharedBytes &) {
        collectives_.on_probe(context_.now(), from, message);
    });
    messages.on<wire::CollectiveComplete>(Peer::host, [this](HostIndex from, const auto &message, const SharedBytes &) {
        collectives_.on_complete(context_.now(), from, message);
    });
    messages.on<wire::CollectivePiece>(Peer::host,
                                       [this](HostIndex from, const auto &message, const SharedBytes &payload) {
                                           collectives_.on_piece(context_.now(), from, message, payload);
                                       });
    messages.on<wire::CollectiveTaken>(Peer::host, [this](HostIndex from, const auto &message, const SharedBytes &) {
        collectives_.on_taken(from, message);
    });
    messages.on<wire::SessionCollectiveDone>(Peer::session, [this](HostIndex, auto &&message, const SharedBytes &) {
        on_session_collective_done(std::move(message));
    });
}

// Which of the namespaces a host knows must not make a difference, or it would refuse what others wait for: what one
// does not know it looks for first, and where there is none it tells the others.
void StepCollectives::fence(FenceAsk request) {
    auto signature = canonical(CollectiveKind::fence, request.participants, [this](const Bytes &nspace) {
        return nspace == context_.step.nspace ? context_.step.map.rank_count() : size_unknown;
    });
    if (!signature)
        return request.reply(PMIX_ERR_NOT_FOUND, {});
    if (!jobs_.spanned_by(*signature)) {
        Part part{std::move(request.data), request.refused, request.local_status, request.timeout};
        return fence(*signature, std::move(part), request.collects, std::move(request.reply));
    }
    auto limit = request.timeout ? std::chrono::milliseconds(*request.timeout) : context_.settings.fence_timeout;
    TimePoint deadline = limit.count() > 0 ? context_.now() + limit : TimePoint::max();
    auto ask = std::make_shared<FenceAsk>(std::move(request));
    jobs_.look_for_all(*signature, deadline, [this, ask, signature = *signature, deadline](pmix_status_t found) {
        if (ask->refused == PMIX_SUCCESS)
            ask->refused = found;
        auto left = std::chrono::milliseconds(0);
        if (deadline != TimePoint::max())
            left = std::max(std::chrono::duration_cast<std::chrono::milliseconds>(deadline - context_.now()),
                            std::chrono::milliseconds(1));
        fence(signature, {std::move(ask->data), ask->refused, ask->local_status, left}, ask->collects,
              std::move(ask->reply));
    });
}

void StepCollectives::fence(const Signature &signature, Part part, bool collects, DataReply reply) {
    // Some versions of libpmix give a blob all the same, which says that there is no data. What others collect they are
    // not given either, because not all versions leave it unread (_mdxcbfunc, pmix_server.c).
    if (!collects) {
        part.data.clear();
        reply = {[whole = std::make_shared<DataReply>(std::move(reply))](pmix_status_t status, Bytes) {
                     (*whole)(status, {});
                 },
                 PMIX_ERROR, Bytes()};
    }
    bool of_all = signature.members.size() == 1 && signature.members[0].all &&
                  signature.members[0].nspace == context_.step.nspace;
    if (!of_all || !handing_over_.needs_fence(collects))
        return enter(signature, std::move(part), std::move(reply));
    auto whole = std::make_shared<DataReply>(std::move(reply));
    auto digests = collects ? handing_over_.digest_posted() : nullptr;
    auto all = digests ? std::make_shared<bool>(false) : nullptr;
    part.all_have_data = all;
    enter(signature, std::move(part),
          {[this, whole, digests, all](pmix_status_t status, Bytes data) {
               if (status == PMIX_SUCCESS)
                   handing_over_.on_fence_of_all(all && *all ? digests : nullptr);
               (*whole)(status, std::move(data));
           },
           PMIX_ERROR, Bytes()});
}

void StepCollectives::enter(const Signature &signature, Part part, DataReply reply) {
    TimePoint now = context_.now(), deadline = TimePoint::max();
    auto limit = part.timeout.value_or(context_.settings.fence_timeout);
    if (limit.count() > 0)
        deadline = now + limit;
    std::int32_t status = part.refused;
    if (status == PMIX_SUCCESS && !is_tolerant(signature) &&
        (lacks_one_for_libpmix(part) || local_member_gone(signature) || local_member_ending(signature)))
        status = PMIX_ERR_PROC_TERM_WO_SYNC;
    auto shared = std::make_shared<DataReply>(std::move(reply));
    collectives_.enter(now, signature, std::move(part.data), status, deadline,
                       {[this, shared, signature, all = std::move(part.all_have_data)](std::int32_t result,
                                                                                       Contributions contributions) {
                            if (result == PMIX_ERR_TIMEOUT && jobs_.has_unknown(signature))
                                context_.explain_not_found();
                            if (result != PMIX_SUCCESS || !contributions)
                                return (*shared)(result, {});
                            if (all) {
                                auto hosts = hosts_of(signature);
                                *all = hosts && hosts->size() == contributions->size();
                            }
                            complete(signature, contributions, std::move(*shared));
                        },
                        PMIX_ERROR, Contributions()});
}

void StepCollectives::complete(const Signature &signature, const Contributions &contributions, DataReply reply) {
    struct Waiting {
        DataReply reply;
        Bytes data;
        std::size_t left = 1;
    };
    auto waiting = std::make_shared<Waiting>();
    waiting->reply = std::move(reply);
    auto one_less = [waiting] {
        if (--waiting->left == 0)
            waiting->reply(PMIX_SUCCESS, std::move(waiting->data));
    };
    // That of this host goes back with the others' where libpmix stores it for its clients, which otherwise ask for
    // what they have of each other (server_store_modex_cb() of 5.0.7), and as a group is made of all parts.
    HostIndex left_out = no_host;
    if (signature.kind == CollectiveKind::fence && !library_wants_own_part_of_fences())
        left_out = context_.self();
    std::size_t size = 0;
    for (const auto &contribution : *contributions)
        size += contribution.host == left_out ? 0 : contribution.data.size();
    waiting->data.reserve(size);
    for (const auto &contribution : *contributions) {
        if (contribution.host != no_host) {
            if (contribution.host != left_out)
                waiting->data += contribution.data;
            continue;
        }
        auto part = wire::decode<wire::NamespacePart>(contribution.data);
        if (!part) {
            context_.log.warning("{}", part.failure().text);
            continue;
        }
        if (signature.kind != CollectiveKind::connect)
            waiting->data += part->data;
        ++waiting->left;
        jobs_.meet(signature.kind, *part, one_less);
    }
    if (!signature.of_group() && jobs_.spanned_by(signature))
        jobs_.met(signature);
    one_less();
}

// --- which hosts and processes ----------------------------------------------------------------------

Result<std::vector<HostIndex>> StepCollectives::hosts_of(const Signature &signature) {
    const JobMap &map = context_.step.map;
    std::vector<bool> takes_part(map.host_count());
    for (const auto &members : signature.members) {
        if (members.nspace != context_.step.nspace)
            continue; // its own step sees to it
        if (members.all) {
            for (HostIndex h = 0; h < map.host_count(); ++h) {
                if (!map.ranks_on(h).empty())
                    takes_part[h] = true;
            }
            continue;
        }
        // Before they are gone through: another host may say that there are four billion.
        if (members.ranks.back() >= map.rank_count())
            return error(ErrorKind::not_found, "there is no rank {}", members.ranks.back());
        for (Rank rank : members.ranks)
            takes_part[map.host_of(rank)] = true;
    }
    std::vector<HostIndex> hosts;
    for (HostIndex h = 0; h < map.host_count(); ++h) {
        if (takes_part[h])
            hosts.push_back(h);
    }
    return hosts;
}

bool StepCollectives::lacks_one_for_libpmix(const Part &part) {
    if (part.local_status == PMIX_SUCCESS)
        return false;
    tell_why_it_fails(fmt::format("libpmix has lost a participant of this host (status {})", part.local_status));
    return true;
}

template <typename Is> std::optional<Rank> StepCollectives::local_member(const Signature &signature, Is is) {
    for (Rank rank : context_.ranks_here()) {
        if (is(rank) && signature.contains(context_.step.nspace, rank))
            return rank;
    }
    return std::nullopt;
}

void StepCollectives::tell_why_it_fails(const std::string &why) {
    context_.log.info("a collective fails with PMIX_ERR_PROC_TERM_WO_SYNC on all its hosts: {}", why);
}

bool StepCollectives::local_member_gone(const Signature &signature) {
    auto rank = local_member(signature, [this](Rank one) { return context_.tasks->gone(one); });
    if (rank && !is_tolerant(signature))
        tell_why_it_fails(fmt::format("rank {} has ended", *rank));
    return rank.has_value();
}

// libpmix leaves a rank out of the fence as soon as its connection is closed, which is before anyone
// else can hear of its end. Where it has closed none since a member was last seen alive, that one is not looked at: the
// number is asked for first.
bool StepCollectives::local_member_ending(const Signature &signature) {
    auto closed = ClosedConnections::count();
    auto rank =
        local_member(signature, [this, closed](Rank one) { return context_.tasks->watch().ending(one, closed); });
    if (rank)
        tell_why_it_fails(fmt::format("rank {} is ending", *rank));
    return rank.has_value();
}

bool StepCollectives::all_members_gone(const Signature &signature) {
    return !local_member(signature, [this](Rank one) { return !context_.tasks->gone(one); });
}

// A host whose members had all gone before the group was built knows no group, and holds nobody up. Elsewhere what
// is not known was built by the library alone, or is beyond what is remembered.
bool StepCollectives::is_tolerant(const Signature &signature) {
    if (signature.kind != CollectiveKind::group_destruct)
        return signature.tolerant != 0;
    if (spans_jobs(signature))
        return false; // of other jobs' processes nobody here hears that they end
    auto known = tolerance_of_ ? tolerance_of_(signature.group) : std::nullopt;
    return known ? *known : all_members_gone(signature);
}

// The part of this host when its members have all gone before any of them could join.
std::optional<Bytes> StepCollectives::part_of_the_dead(const Signature &signature) {
    if (!all_members_gone(signature))
        return std::nullopt;
    return signature.kind == CollectiveKind::group_construct ? part_of_the_dead_(signature) : Bytes();
}

// --- with other jobs, through the session -----------------------------------------------------------

void StepCollectives::join_cross_job(const Bytes &key, std::uint64_t sequence,
                                     const std::vector<wire::Contribution> &contributions) {
    wire::SessionCollectiveJoin join;
    join.signature = key;
    join.sequence = sequence;
    join.part.info = describe(context_.step);
    for (const auto &contribution : contributions)
        join.part.data += contribution.data;
    Bytes message = wire::encode(join);
    if (message.size() > wire::frame_limit) {
        leave_cross_job(key, sequence, PMIX_ERR_OUT_OF_RESOURCE);
        return collectives_.cross_job_done(key, sequence, PMIX_ERR_OUT_OF_RESOURCE, {});
    }
    if (!context_.send_to_session(wire::SessionCollectiveJoin::type, share(std::move(message))))
        collectives_.cross_job_done(key, sequence, PMIX_ERR_UNREACH, {});
}

void StepCollectives::leave_cross_job(const Bytes &key, std::uint64_t sequence, std::int32_t status) {
    wire::SessionCollectiveJoin join;
    join.signature = key;
    join.sequence = sequence;
    join.status = status;
    join.part.info = describe(context_.step);
    context_.send_to_session(join);
}

void StepCollectives::on_session_collective_done(wire::SessionCollectiveDone message) {
    std::vector<wire::Contribution> parts;
    for (const auto &part : message.parts)
        parts.push_back({no_host, wire::encode(part)});
    collectives_.cross_job_done(message.signature, message.sequence, message.status, std::move(parts));
}

} // namespace pmixhost
