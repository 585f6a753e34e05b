// See session_joins.h.
#include "server-glue/collective/session_joins.h"

#include "common/text/printable.h"
#include "common/wire/session_messages.h"

#include <pmix_common.h>

namespace pmixhost {

SessionJoins::SessionJoins(SessionPeers &peers, Log &log, Related related)
    : SessionService(peers.services), peers_(peers), log_(log), related_(std::move(related)),
      collectives_([this](const SessionCollectives::Member &member, const wire::SessionCollectiveDone &done) {
          answer(member, done);
      }) {}

void SessionJoins::take_messages(SessionMessages &messages) {
    messages.on<wire::SessionCollectiveJoin>([this](TimePoint, const SessionMember &from,
                                                    wire::SessionCollectiveJoin message,
                                                    const SharedBytes &) { join(from, std::move(message)); });
    messages.on<wire::ProcessesEnded>(
        [this](TimePoint, const SessionMember &from, const wire::ProcessesEnded &message, const SharedBytes &) {
            collectives_.on_processes_ended(from.nspace, message.ranks);
        });
    messages.on<wire::NamespaceEnded>(
        [this](TimePoint, const SessionMember &, const wire::NamespaceEnded &message, const SharedBytes &) {
            if (peers_.step_of(message.nspace) == 0) // of one that is here, its own end is heard
                collectives_.on_step_gone(0, message.nspace);
        });
}

void SessionJoins::join(const SessionMember &from, wire::SessionCollectiveJoin message) {
    if (message.part.info.nspace != from.nspace)
        return log_.warning("{} speaks for another namespace", printable(from.nspace));
    wire::SessionCollectiveDone done;
    done.signature = message.signature;
    done.sequence = message.sequence;
    auto joined = collectives_.join({from.step, from.host}, std::move(message));
    if (joined)
        return;
    log_.warning("{}: {}", printable(from.nspace), joined.failure().text);
    done.status = joined.failure().kind == ErrorKind::limit ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_ERR_BAD_PARAM;
    peers_.send(from.step, from.host, done);
}

// Namespaces that are connected hear of each other's misfortunes, and must before anybody is told that they are.
void SessionJoins::answer(const SessionCollectives::Member &member, const wire::SessionCollectiveDone &done) {
    auto signature = wire::decode<Signature>(done.signature);
    bool connect = signature && signature->kind == CollectiveKind::connect;
    if (done.status == PMIX_SUCCESS && (connect || (signature && signature->kind == CollectiveKind::disconnect))) {
        Bytes nspace = peers_.nspace_of(member.step);
        for (const auto &part : done.parts)
            related_(nspace, part.info.nspace, connect);
    }
    peers_.send(member.step, member.host, done);
}

void SessionJoins::on_host_gone(TimePoint, const SessionMember &member, bool) {
    collectives_.on_member_gone({member.step, member.host});
}

void SessionJoins::on_step_gone(TimePoint, SessionPeers::StepId step, const Bytes &nspace) {
    collectives_.on_step_gone(step, nspace);
}

} // namespace pmixhost
