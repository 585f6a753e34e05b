// StepServer's dealings with processes of other namespaces: connect, disconnect, what a collective over
// several namespaces brings, and direct modex from and to other steps. All of it goes through the
// session.
#include "server-glue/step_server.h"

#include <algorithm>

namespace pmixhost {

static constexpr auto head_start = std::chrono::milliseconds(250);

void StepServer::connect(ConnectRequest request) {
    auto signature = canonical(request.kind, request.participants, [this](const Bytes &nspace) {
        return nspace == step_.nspace ? step_.map.rank_count() : size_unknown;
    });
    if (!signature)
        return request.reply(PMIX_ERR_NOT_FOUND);
    // libpmix 4.2.2 answers a connect with PMIX_TIMEOUT itself when the time is up, and takes an answer
    // that comes after its own for another one (contrib/doc/decisions/libpmix.md): be earlier.
    std::optional<std::chrono::milliseconds> timeout;
    if (request.timeout)
        timeout = request.timeout->count() > 0 && request.kind == CollectiveKind::connect
                      ? std::chrono::milliseconds(*request.timeout) - head_start
                      : std::chrono::milliseconds(*request.timeout);
    auto shared = std::make_shared<StatusReply>(std::move(request.reply));
    enter(*signature, {}, request.refused, request.local_status, timeout,
          {[shared](pmix_status_t status, Bytes) { (*shared)(status); }, PMIX_ERROR, Bytes()});
}

bool StepServer::spans_outside(const Signature &signature) {
    return std::any_of(signature.members.begin(), signature.members.end(),
                       [this](const Members &members) { return members.nspace != step_.nspace; });
}

void StepServer::join_outside(const Bytes &key, std::uint64_t sequence,
                              const std::vector<wire::Contribution> &contributions) {
    wire::GatheringJoin join;
    join.signature = key;
    join.sequence = sequence;
    join.part.info = describe(step_);
    for (const auto &contribution : contributions)
        join.part.data += contribution.data;
    Bytes message = wire::encode(join);
    if (message.size() > wire::frame_limit) {
        leave_outside(key, sequence, PMIX_ERR_OUT_OF_RESOURCE);
        return collectives_.outside_done(key, sequence, PMIX_ERR_OUT_OF_RESOURCE, {});
    }
    if (!send_to_session(wire::GatheringJoin::type, share(std::move(message))))
        collectives_.outside_done(key, sequence, PMIX_ERR_UNREACH, {});
}

void StepServer::leave_outside(const Bytes &key, std::uint64_t sequence, std::int32_t status) {
    wire::GatheringJoin join;
    join.signature = key;
    join.sequence = sequence;
    join.status = status;
    join.part.info = describe(step_);
    send_to_session(wire::GatheringJoin::type, share(wire::encode(join)));
}

void StepServer::on_gathering_done(wire::GatheringDone message) {
    std::vector<wire::Contribution> parts;
    for (const auto &part : message.parts)
        parts.push_back({no_host, wire::encode(part)});
    collectives_.outside_done(message.signature, message.sequence, message.status, std::move(parts));
}

void StepServer::complete_with(DataReply reply, Contributions contributions) {
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
    std::size_t size = 0;
    for (const auto &contribution : *contributions)
        size += contribution.data.size();
    waiting->data.reserve(size);
    for (const auto &contribution : *contributions) {
        if (contribution.host != no_host) {
            waiting->data += contribution.data;
            continue;
        }
        auto part = wire::decode<wire::NamespacePart>(contribution.data);
        if (!part) {
            log_.warning("{}", part.failure().text);
            continue;
        }
        waiting->data += part->data;
        ++waiting->left;
        foreign_.learn(*library_, part->info, one_less);
    }
    one_less();
}

// Another namespace asks for what one of ours has posted; perhaps on another host.
void StepServer::on_foreign_modex(const wire::ModexRequest &message) {
    TimePoint now = loop_.now();
    HostIndex host = step_.map.host_of(message.rank);
    if (message.nspace != step_.nspace || host == no_host || host == step_.self)
        return modex_.on_request(now, session_peer(), message);
    TimePoint deadline = TimePoint::max();
    if (message.timeout_ms != UINT32_MAX)
        deadline = now + std::chrono::milliseconds(message.timeout_ms);
    std::uint64_t id = next_id_++;
    auto answer = [this, asked = message.id](pmix_status_t status, Bytes data) {
        wire::ModexReply reply;
        reply.id = asked;
        reply.status = status;
        reply.data = std::move(data);
        send_to_session(wire::ModexReply::type, share(wire::encode(reply)));
    };
    replies_.emplace(id, DataReply{answer, PMIX_ERROR, Bytes()});
    modex_.request(id, message.nspace, message.rank, now, deadline);
}

} // namespace pmixhost
