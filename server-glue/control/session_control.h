// PMIx_Job_control between the steps of a session, in the session. Pure: messages and time in, messages
// out; what it needs of its surroundings is SessionPeers.
//
// A request goes through three phases. All steps that it names are found: one that has not come to the session is
// called, and waited for a while. Then one host of each is asked whether it has such processes; a no refuses all of
// the request. Then each is told to do it, and the answers are summed up. A request for everyone means all steps that
// there are but the asker's, which does its own part.
//
// A host that goes while it is asked is replaced by another one of its step. One that goes after it was
// told to kill its whole job has done so; else its processes had ended, or are lost with it.
#pragma once

#include "common/wire/control_messages.h"
#include "server-glue/session/session_service.h"

#include <memory>

namespace pmixhost {

class SessionControl final : public SessionService {
  public:
    using StepId = SessionPeers::StepId;
    static constexpr std::size_t max_requests = 10'000;
    static constexpr std::size_t max_targets = 4096; // namespaces of one
    // How long to wait for steps that were called, or that come by themselves.
    static constexpr Duration grace = std::chrono::seconds(5);

    explicit SessionControl(SessionPeers &peers) : SessionService(peers.services), peers_(peers) {}

    void on_request(TimePoint now, StepId step, HostIndex from, wire::ControlRequest message);
    void on_cancel(StepId step, HostIndex from, const wire::ControlCancel &message);
    void on_reply(TimePoint now, StepId step, HostIndex from, const wire::ControlPartReply &message);

    // SessionService
    void take_messages(SessionMessages &messages) override;
    void heard(TimePoint now, const SessionMember &member) override;
    void on_host_gone(TimePoint now, const SessionMember &member, bool lost) override;
    void on_step_gone(TimePoint now, StepId step, const Bytes &nspace) override;
    TimePoint next_time() const override;
    void on_time(TimePoint now) override;

  private:
    enum class Phase { finding, asking, doing };
    struct Part {
        wire::ControlTarget target;
        StepId step = 0;
        HostIndex host = 0;
        bool answered = false;
    };
    struct Request {
        StepId step;
        HostIndex host;
        std::uint64_t id; // of the asker's own
        bool everyone = false;
        wire::ControlOrder order;
        Phase phase = Phase::finding;
        bool calling = false;
        std::set<Bytes> expected; // that have not come
        std::map<Bytes, Part> parts;
        wire::ControlOutcome outcome;
        TimePoint patience; // for who is expected
        TimePoint deadline;
    };
    using Iterator = std::map<std::uint64_t, Request>::iterator;
    void call(Iterator request);
    void on_called(TimePoint now, std::uint64_t id, const CalledSteps &called);
    // Each of these may end the request.
    void find(TimePoint now, Iterator request);
    void ask(TimePoint now, Iterator request);
    void go_on(TimePoint now, Iterator request);
    void without(TimePoint now, Iterator request, const Bytes &nspace, std::int32_t status);
    void on_part_gone(TimePoint now, Iterator request, const Bytes &nspace, bool lost);
    void refuse(Iterator request, std::int32_t status);
    void finish(Iterator request);
    // False when its step has no host left.
    bool send(TimePoint now, Iterator request, Part &part);
    template <typename Condition> void parts_gone(TimePoint now, Condition gone, bool lost);

    SessionPeers &peers_;
    std::map<std::uint64_t, Request> requests_;
    std::uint64_t next_id_ = 1;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace pmixhost
