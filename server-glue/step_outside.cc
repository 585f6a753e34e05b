// StepServer's dealings with processes of other namespaces: connect, disconnect, what a collective over
// several namespaces brings, and direct modex from and to other steps. All of it goes through the
// session.
#include "server-glue/step_server.h"

#include <algorithm>

namespace pmixhost {

static constexpr auto head_start = std::chrono::milliseconds(250);
static constexpr auto posted_patience = std::chrono::milliseconds(200);

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
    auto entry = std::make_shared<ConnectEntry>();
    entry->signature = std::move(*signature);
    entry->refused = request.refused;
    entry->local_status = request.local_status;
    entry->timeout = timeout;
    entry->reply = std::move(request.reply);
    if (request.kind == CollectiveKind::connect && spans_outside(entry->signature))
        return collect_posted(std::move(entry));
    enter_connect(std::move(entry));
}

void StepServer::enter_connect(std::shared_ptr<ConnectEntry> entry) {
    entry->timer.reset();
    enter(entry->signature, std::move(entry->data), entry->refused, entry->local_status, entry->timeout,
          {[entry](pmix_status_t status, Bytes) { entry->reply(status); }, PMIX_ERROR, Bytes()});
}

// What the participants here have posted goes along, so that the other namespaces need not ask for it
// one by one. Who has posted nothing yet is not waited for long; it can be asked later.
void StepServer::collect_posted(std::shared_ptr<ConnectEntry> entry) {
    std::vector<Rank> ranks;
    for (Rank rank : step_.map.ranks_on(step_.self)) {
        if (entry->signature.contains(step_.nspace, rank) && !tasks_.gone(rank))
            ranks.push_back(rank);
    }
    entry->left = ranks.size();
    if (ranks.empty() || !library_)
        return enter_connect(std::move(entry));
    entry->timer = loop_.after(posted_patience, [this, entry] {
        entry->left = 0;
        enter_connect(entry);
    });
    for (Rank rank : ranks) {
        library_->posted_data(step_.nspace, rank, [this, entry, rank](pmix_status_t status, Bytes data) {
            if (entry->left == 0)
                return; // too late
            if (status == PMIX_SUCCESS && entry->data.size() + data.size() <= settings_.fence_max_bytes)
                entry->data += wire::encode(wire::PostedData{rank, std::move(data)});
            if (--entry->left == 0)
                enter_connect(entry);
        });
    }
}

void StepServer::remember_posted(const wire::NamespacePart &part) {
    wire::Reader reader(part.data);
    while (reader.ok() && !reader.at_end()) {
        wire::PostedData posted;
        reader.get(posted);
        if (reader.ok())
            posted_elsewhere_[{part.info.nspace, posted.rank}] = std::move(posted.data);
    }
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

void StepServer::complete_with(CollectiveKind kind, DataReply reply, Contributions contributions) {
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
        if (kind == CollectiveKind::connect) {
            remember_posted(*part);
            sets_.connected(part->info.nspace, sets_of(part->info));
        } else {
            waiting->data += part->data;
        }
        if (kind == CollectiveKind::disconnect)
            sets_.disconnected(part->info.nspace);
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
    replies_.emplace(id, Reply{{answer, PMIX_ERROR, Bytes()}});
    modex_.request(id, message.nspace, message.rank, now, deadline);
}

} // namespace pmixhost
