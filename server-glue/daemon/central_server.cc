// See central_server.h.
#include "server-glue/daemon/central_server.h"

#include "common/transport/invitation.h"

#include <algorithm>

namespace pmixhost {

// More steps than this at once are no sane allocation.
static constexpr std::size_t max_steps = 4096;
// Connections that are being made, of all steps. Who is refused asks again (SessionLink::reach).
static constexpr std::size_t max_dialing = 1024;

CentralServer::CentralServer(EventLoop &loop, Log &log, const Settings &settings, CentralRole role,
                             Authenticators authenticators, Callbacks callbacks)
    : loop_(loop), log_(log), settings_(settings), role_(role), authenticators_(std::move(authenticators)),
      callbacks_(std::move(callbacks)) {}

CentralServer::~CentralServer() {
    alive_.reset();
}

CentralServer::Step *CentralServer::find(StepId id) {
    auto found = steps_.find(id);
    return found == steps_.end() ? nullptr : &found->second;
}

void CentralServer::on_invitation(std::string_view message) {
    auto invitation = Invitation::decode(message);
    if (!invitation)
        return log_.warning("{}", invitation.failure().text);
    auto known = std::find_if(steps_.begin(), steps_.end(), [&](const auto &entry) {
        return entry.second.key == invitation->step_key && entry.second.host_count == invitation->host_count;
    });
    std::size_t dialing = 0;
    for (const auto &[id, step] : steps_)
        dialing += step.mesh->dialing();
    if (dialing >= max_dialing)
        return log_.warning("{} connections are being made at once, one more has to wait", dialing);
    if (known != steps_.end())
        return known->second.mesh->on_contact(invitation->contact);
    if (steps_.size() >= max_steps)
        return log_.warning("{} steps at once, another one is refused", max_steps);

    StepId id = next_id_++;
    std::weak_ptr<bool> alive = alive_;
    // It is posted, because this may come from within a send.
    auto gone = [this, alive, id](HostIndex host, Mesh::Gone how, const Error &) {
        Step *step = find(id);
        if (!step)
            return;
        // Who was never here may only have ended before this side had dialed it.
        step->going.emplace(host, step->mesh->was_connected(host) ? how : Mesh::Gone::left);
        loop_.post([this, alive, id, host] {
            if (!alive.expired())
                host_gone(id, host);
        });
    };
    auto mesh = Mesh::create(loop_, log_, settings_, invitation->step_key, peer_of(role_, invitation->host_count),
                             invitation->host_count + central_role_count, authenticators_(invitation->secret),
                             {[this, id](HostIndex from, std::uint8_t type, Bytes payload) {
                                  callbacks_.on_message(id, from, type, std::move(payload));
                              },
                              gone, nullptr},
                             Mesh::Listening::no);
    if (!mesh)
        return log_.error("{}", mesh.failure().text);
    Step &step = steps_[id];
    step.key = invitation->step_key;
    step.nspace = invitation->nspace;
    step.host_count = invitation->host_count;
    step.mesh = std::move(*mesh);
    step.mesh->on_contact(invitation->contact);
    if (!step.mesh->wanted())
        steps_.erase(id); // no contact that makes sense
}

bool CentralServer::send(StepId id, HostIndex host, std::uint8_t type, SharedBytes payload) {
    Step *step = find(id);
    return step && step->mesh->connected(host) && step->mesh->send(host, type, std::move(payload));
}

Bytes CentralServer::nspace_of(StepId id) const {
    auto found = steps_.find(id);
    return found == steps_.end() ? Bytes() : found->second.nspace;
}

CentralServer::StepId CentralServer::step_of(const Bytes &nspace) const {
    for (const auto &[id, step] : steps_) {
        if (step.nspace == nspace)
            return id;
    }
    return 0;
}

std::vector<HostIndex> CentralServer::connected_hosts(StepId id) const {
    auto found = steps_.find(id);
    return found == steps_.end() ? std::vector<HostIndex>() : found->second.mesh->connected_hosts();
}

std::map<Bytes, CentralServer::StepId> CentralServer::connected_steps() const {
    std::map<Bytes, StepId> steps;
    for (const auto &[id, step] : steps_) {
        if (!step.mesh->connected_hosts().empty())
            steps.emplace(step.nspace, id);
    }
    return steps;
}

std::size_t CentralServer::queued_bytes(StepId id, HostIndex host) const {
    auto found = steps_.find(id);
    return found == steps_.end() ? 0 : found->second.mesh->queued_bytes(host);
}

std::size_t CentralServer::unsent_bytes() const {
    std::size_t bytes = 0;
    for (const auto &[id, step] : steps_)
        bytes += step.mesh->unsent_bytes();
    return bytes;
}

void CentralServer::tell_gone(StepId id, Step &step, HostIndex host) {
    auto going = step.going.extract(host);
    if (!going)
        return;              // it was told with the last one
    step.mesh->forget(host); // it may invite us again
    callbacks_.on_gone(id, host, going.mapped());
}

void CentralServer::host_gone(StepId id, HostIndex host) {
    Step *step = find(id);
    if (!step)
        return;
    tell_gone(id, *step, host);
    while ((step = find(id)) && !step->mesh->wanted() && !step->going.empty())
        tell_gone(id, *step, step->going.begin()->first);
    if (!step || step->mesh->wanted())
        return;
    callbacks_.on_step_gone(id);
    steps_.erase(id);
}

} // namespace pmixhost
