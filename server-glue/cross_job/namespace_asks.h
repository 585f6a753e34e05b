// Asks the session what is known of the namespaces of other steps: one question for each namespace, however many wait
// for it. Pure: messages and time in, messages and answers out.
//
// The session asks a daemon of that namespace; a namespace that nobody of the session knows is
// PMIX_ERR_NOT_FOUND (step_finder.h).
#pragma once

#include "common/loop/event_loop.h"
#include "common/wire/cross_job_messages.h"

#include <functional>
#include <map>
#include <vector>

namespace pmixhost {

class NamespaceAsks {
  public:
    static constexpr std::size_t max_waiting = 100'000;
    // False when there is no way to the session.
    using Send = std::function<bool(std::uint8_t type, SharedBytes payload)>;
    // Called exactly once; `info` is null unless the status is PMIX_SUCCESS.
    using Answer = std::function<void(std::int32_t status, const wire::NamespaceInfo *info)>;

    explicit NamespaceAsks(Send send) : send_(std::move(send)) {}

    void ask(const Bytes &nspace, TimePoint deadline, Answer answer);
    void on_reply(const wire::NamespaceReply &message);
    void on_session_gone();
    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    struct Waiting {
        TimePoint deadline;
        Answer answer;
    };
    struct Question {
        std::uint64_t id;
        std::vector<Waiting> waiting;
    };
    void settle(std::map<Bytes, Question>::iterator question, std::int32_t status, const wire::NamespaceInfo *info);

    Send send_;
    std::uint64_t next_id_ = 1;
    std::map<Bytes, Question> questions_; // by namespace
    std::size_t waiting_ = 0;
};

} // namespace pmixhost
