// See step_peers.h.
#include "server-glue/daemon/step_peers.h"

#include "common/transport/invitation.h"
#include "server-glue/rm/user_notes.h"

namespace pmixhost {

Result<void> StepPeers::open() {
    context_.tell_services([this](StepService &each) { each.take_messages(messages_); });
    const StepInfo &step = context_.step;
    auto mesh = Mesh::create(
        context_.loop, context_.log, context_.settings, step.step_key, step.self,
        step.map.host_count() + central_role_count, context_.authenticator(),
        {[this](HostIndex from, std::uint8_t type, Bytes payload) { on_message(from, type, std::move(payload)); },
         [this](HostIndex peer, Mesh::Gone how, const Error &why) {
             // It is posted, because this may come from within a send of a service.
             context_.loop.post([this, peer, how, why] { on_gone(peer, how, why); });
         },
         [this](HostIndex peer, Bytes message, TimePoint deadline, std::function<void(Result<void>)> done) {
             send_contact(peer, std::move(message), deadline, std::move(done));
         },
         [this](HostIndex peer) {
             if (peer == context_.session_peer())
                 context_.tell_services([](StepService &each) { each.on_session_here(); });
         }});
    if (!mesh)
        return mesh.failure();
    mesh_ = std::move(*mesh);
    context_.mesh = mesh_.get();
    context_.leave_session = [this] { leave_session(); };
    if (!step.link_faults.empty())
        mesh_->set_faults(step.link_faults);
    return {};
}

void StepPeers::on_contact(const std::string &message) {
    if (message == session_call)
        return services_.session.come();
    if (message.starts_with(desk_call))
        return services_.desks.called(std::string_view(message).substr(desk_call.size()));
    mesh_->on_contact(message);
}

void StepPeers::on_message(HostIndex from, std::uint8_t type, Bytes payload) {
    using Peer = StepMessages::Peer;
    if (from == context_.session_peer()) {
        services_.session.tell_of_ends(); // of those that came while the connection was made
        messages_.hand_on(Peer::session, from, "the session", type, std::move(payload));
    } else if (from == context_.launcher_peer()) {
        messages_.hand_on(Peer::launcher, from, "the launcher", type, std::move(payload));
    } else {
        messages_.hand_on(Peer::host, from, context_.step.map.hosts()[from], type, std::move(payload));
    }
}

void StepPeers::on_gone(HostIndex peer, Mesh::Gone how, const Error &why) {
    HostIndex hosts = context_.step.map.host_count();
    bool left = how == Mesh::Gone::left;
    if (peer < hosts) {
        if (!left && !context_.ending)
            context_.log.warning("{} is lost: {}", context_.step.map.hosts()[peer], why.text);
        if (!left && !context_.ending && why.kind == ErrorKind::timeout && !mesh_->was_connected(peer))
            tell_unreachable(peer, why);
        return context_.tell_services([&](StepService &each) { each.on_host_gone(peer, left); });
    }
    if (!mesh_->gone(peer)) // it was left meanwhile, and all have heard so
        return;
    mesh_->forget(peer); // the next one who wants it may have better luck
    if (!context_.ending)
        context_.log.warning("the {} of this job is gone: {}", name_of(static_cast<CentralRole>(peer - hosts)),
                             why.text);
    if (peer == context_.session_peer())
        context_.tell_services([](StepService &each) { each.on_session_gone(); });
    else
        context_.tell_services([](StepService &each) { each.on_launcher_gone(); });
}

void StepPeers::leave_session() {
    mesh_->leave(context_.session_peer());
    context_.tell_services([](StepService &each) { each.on_session_gone(); });
}

// Tells the user, because tasks only get an error. Of two hosts the first one speaks, and each host once: what keeps
// one host out keeps others out.
void StepPeers::tell_unreachable(HostIndex peer, const Error &why) {
    auto *notes = context_.backend.user_notes();
    if (!notes || told_unreachable_ || peer < context_.self())
        return;
    told_unreachable_ = true;
    const auto &hosts = context_.step.map.hosts();
    const char *question = mesh_->hindered_on_the_way(peer)
                               ? ". Is there a firewall between them? It must let the ports of transport.ports "
                                 "(pmixhost.conf) through"
                               : "";
    notes->tell_user({fmt::format("{} and {}: {}{}", context_.host_name(), hosts[peer], why.text, question)},
                     [](Result<void>) {});
}

void StepPeers::send_contact(HostIndex peer, Bytes message, TimePoint deadline,
                             std::function<void(Result<void>)> done) {
    HostIndex hosts = context_.step.map.host_count();
    if (peer < hosts)
        return context_.backend.send_contact(peer, std::move(message), services_.handing_over.has_begun(peer), deadline,
                                             std::move(done));
    Invitation invitation;
    invitation.contact = std::move(message);
    invitation.step_key = context_.step.step_key;
    invitation.host_count = hosts;
    invitation.nspace = context_.step.nspace;
    services_.session.reach(static_cast<CentralRole>(peer - hosts), wire::encode(invitation), deadline,
                            std::move(done));
}

} // namespace pmixhost
