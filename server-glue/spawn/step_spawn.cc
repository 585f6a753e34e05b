// See step_spawn.h.
#include "server-glue/spawn/step_spawn.h"

#include "common/wire/session_messages.h"
#include "server-glue/events/host_events.h"
#include "server-glue/library/inner_client.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/spawn/spawn_directives.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <pmix.h>

namespace pmixhost {

StepSpawn::StepSpawn(StepContext &context, Children &children, ChildrenIo &io, CrossJobs &jobs, StepFate &fate,
                     StepEvents &events, const StepCollectives &collectives, SessionLink &session)
    : context_(context), children_(children), io_(io), jobs_(jobs), fate_(fate), events_(events),
      collectives_(collectives), session_(session), spawn_([this](std::uint8_t type, SharedBytes payload) {
          return context_.send(context_.launcher_peer(), type, std::move(payload));
      }) {}

void StepSpawn::take_asks(UpcallHandlers &handlers) {
    handlers.on<SpawnAsk>([this](SpawnAsk ask) { spawn(std::move(ask)); });
}

void StepSpawn::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::SpawnReply>(Peer::launcher,
                                  [this](HostIndex, auto &&message, const auto &) { on_spawned(std::move(message)); });
    messages.on<wire::JobEvent>(Peer::launcher,
                                [this](HostIndex, const auto &message, const auto &) { on_job_event(message); });
}

void StepSpawn::spawn(SpawnAsk ask) {
    if (ask.refused != PMIX_SUCCESS)
        return ask.reply(ask.refused, {});
    if (!context_.backend.spawned_step())
        return ask.reply(PMIX_ERR_NOT_SUPPORTED, {});
    ask.request.nspace = ask.caller.nspace;
    ask.request.rank = ask.caller.rank;
    ask.request.lives_on = context_.live_on ? 1 : 0;
    // Who names a personality is an MPI library and will connect with the children: the connection to
    // the session is made while they start.
    if (std::any_of(ask.request.directives.begin(), ask.request.directives.end(),
                    [](const auto &directive) { return directive.key == PMIX_PERSONALITY; }))
        context_.mesh->invite(context_.session_peer());
    if (std::uint8_t channels = forwarded_channels(ask.request.directives); channels != 0)
        ask.reply = forwarding_begins(ask.caller, channels, std::move(ask.reply));
    spawn_.spawn(std::move(ask.request), std::move(ask.reply));
}

// Whoever waits for the answer hears it before anything is delivered: libpmix notes then who gets it.
SpawnAnswer StepSpawn::forwarding_begins(const Process &caller, std::uint8_t channels, SpawnAnswer reply) {
    io_.begins();
    auto waiting = std::make_shared<SpawnAnswer>(std::move(reply));
    return {[this, caller, channels, waiting](pmix_status_t status, const std::string &nspace) {
                if (status == PMIX_SUCCESS)
                    io_.runs(nspace, caller, channels); // it may pull as soon as it has the answer
                (*waiting)(status, nspace);
                io_.answered();
            },
            PMIX_ERROR, std::string()};
}

// The children's job information goes to their parent with the answer (libpmix takes it along, if it knows
// the namespace by then). Not where the children would not know the parent's alike: Open MPI 5 asks at the connect
// who of the other job is local, and if the sides differ its collectives do, with wrong results. There the namespace
// is known right behind the answer, before the parent can ask for it.
void StepSpawn::on_spawned(wire::SpawnReply message) {
    if (message.status != 0)
        return spawn_.on_reply(std::move(message));
    children_.running.insert(message.nspace);
    if (!context_.calls_steps())
        session_.come(); // as the children do
    wire::NamespaceInfo info = std::exchange(message.info, {});
    if (info.nspace != message.nspace)
        return spawn_.on_reply(std::move(message));
    if (!InnerClient::possible()) {
        spawn_.on_reply(std::move(message));
        return jobs_.learn_child(info, [] {});
    }
    jobs_.learn_child(info, [this, message = std::move(message)]() mutable { spawn_.on_reply(std::move(message)); });
}

// As if the other namespace had sent it: to every host of this step.
void StepSpawn::on_job_event(const wire::JobEvent &job) {
    if (job.what == wire::JobEvent::ended)
        on_child_ended(job);
    if (job.asked == 0)
        return;
    for (const auto &event : events_of(job)) {
        if (auto message = cross_job_event(event))
            events_.tell_step(std::move(*message));
        else
            context_.log.warning("{}", message.failure().text);
    }
}

// Whoever waits for that job in the session hears of it. A job that never had to do with the session
// is not known there, and nobody else can tell.
void StepSpawn::on_child_ended(const wire::JobEvent &job) {
    const Bytes &nspace = job.nspace;
    fate_.fate().on_job_ended(context_.now(), nspace, job.exit_code);
    children_.ended.insert(nspace);
    children_.running.erase(nspace);
    if (context_.session_is_there() || collectives_.waits_for(nspace))
        context_.send_to_session(wire::NamespaceEnded{nspace});
}

void StepSpawn::on_step_over(bool badly) {
    if (!spawn_.used() || !context_.mesh->connected(context_.launcher_peer()))
        return;
    wire::StepOver over;
    over.badly = badly;
    context_.send(context_.launcher_peer(), over);
}

} // namespace pmixhost
