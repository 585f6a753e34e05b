// The session's part of collectives over several namespaces: brings the joins of the steps' hosts to where they meet
// (session_collective.h), and tells which namespaces are connected from then on.
#pragma once

#include "server-glue/collective/session_collective.h"
#include "server-glue/session/session_service.h"

namespace pmixhost {

class SessionJoins final : public SessionService {
  public:
    // These two have connected (PMIx_Connect), or are no longer.
    using Related = std::function<void(const Bytes &one, const Bytes &other, bool connected)>;
    // `peers` must outlive this.
    SessionJoins(SessionPeers &peers, Log &log, Related related);

    // SessionService
    void take_messages(SessionMessages &messages) override;
    void heard(TimePoint, const SessionMember &member) override { collectives_.here_again(member.nspace); }
    void on_host_gone(TimePoint now, const SessionMember &member, bool lost) override;
    void on_step_gone(TimePoint now, SessionPeers::StepId step, const Bytes &nspace) override;

  private:
    void join(const SessionMember &from, wire::SessionCollectiveJoin message);
    void answer(const SessionCollectives::Member &member, const wire::SessionCollectiveDone &done);

    SessionPeers &peers_;
    Log &log_;
    Related related_;
    SessionCollectives collectives_;
};

} // namespace pmixhost
