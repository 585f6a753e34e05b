// What the steps of an allocation ask each other, relayed by the session: it finds the step that a question names,
// which may have to be called first, puts the question to one of its hosts, and brings the answer back. A question that
// cannot be put, or whose answer will not come any more, is answered with a status.
//
// Which messages are such questions and answers, and what is particular to each, they say themselves
// (common/wire/relayed.h). Pure: what it needs of its surroundings is SessionPeers.
#pragma once

#include "common/wire/relayed.h"
#include "server-glue/cross_job/step_finder.h"
#include "server-glue/session/session_service.h"

#include <tuple>

namespace pmixhost {

class SessionRelay final : public SessionService {
  public:
    using StepId = SessionPeers::StepId;
    static constexpr std::size_t max_relayed = 100'000;
    // An asker waits for a namespace as long as it likes, but no step is looked for longer than this; nor is an
    // answer that has no time of its own waited for.
    static constexpr Duration find_patience = std::chrono::seconds(30);

    // `peers` must outlive this.
    explicit SessionRelay(SessionPeers &peers);

    // SessionService
    void take_messages(SessionMessages &messages) override;
    void heard(TimePoint now, const SessionMember &member) override;
    TimePoint next_time() const override;
    void on_time(TimePoint now) override;
    void on_host_gone(TimePoint now, const SessionMember &member, bool lost) override;
    void on_step_gone(TimePoint now, StepId step, const Bytes &nspace) override;

  private:
    struct Question {
        std::uint8_t reply_type;
        Bytes (*refusal)(std::uint64_t id, std::int32_t status); // a reply that says no
        StepId asker;
        HostIndex asker_host;
        std::uint64_t asker_id; // of the asker's own
        StepId asked;
        HostIndex asked_host;
        TimePoint until;
        std::function<void(Question)> again{}; // puts it to another host
    };
    template <typename... All> void take_relayed(SessionMessages &messages, std::tuple<All...> *);
    template <typename Reply> void take_if_relayed(SessionMessages &messages);
    template <typename Request, typename Reply> void relays(SessionMessages &messages, wire::Relayed kind);
    template <typename Request> void find(TimePoint now, Question question, wire::Relayed kind, Request message);
    template <typename Request> void put(Question question, const wire::Relayed &kind, Request message);
    template <typename Reply> void bring_back(StepId from, Reply message);
    void refuse(const Question &question, std::int32_t status);
    // Those that were asked of whom is gone are asked again or answered, and those of askers who are gone forgotten.
    template <typename Gone> void on_gone(Gone gone, bool others_are_there);

    SessionPeers &peers_;
    StepFinder finder_;
    std::map<std::uint64_t, Question> questions_; // by our id
    std::set<std::pair<TimePoint, std::uint64_t>> until_;
    std::uint64_t next_id_ = 1;
};

} // namespace pmixhost
