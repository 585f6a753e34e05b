// What debugger daemons of this host debug: a job that is not theirs. They are told when it has ended, and end with it:
// who still runs a while later is ended. Pure: messages and time in, what is to be done out.
//
// A daemon of that job is asked, by way of the session, and answers when its job has ended (job_end.h). When it leaves
// before, because its own processes have ended, the next one is asked; when the session finds no daemon of such a job
// any more, it has ended, and how is known only where one that left had heard of a bad end. Each host asks for itself,
// so that none depends on another that may leave; it asks once as a rule. The end of a spawned job whose launcher has
// gone is found out in the same way (spawn/lost_jobs.h).
#pragma once

#include "common/loop/event_loop.h"
#include "common/wire/debug_messages.h"
#include "server-glue/core/host_port.h"

#include <optional>

namespace pmixhost {

class DebuggedJobPort {
  public:
    virtual ~DebuggedJobPort() = default;
    // Once. The exit code as a shell reports it; nothing where nobody knows it.
    virtual void has_ended(std::optional<int> exit_code) = 0;
    // Once: these daemons have had their time.
    virtual void end_daemons() = 0;
};

class DebuggedJob {
  public:
    static constexpr Duration ask_again = std::chrono::seconds(1);
    static constexpr Duration ask_again_later = std::chrono::seconds(5); // nobody can be asked now
    static constexpr Duration hearsay = std::chrono::seconds(2);         // for who may know how it ended
    static constexpr Duration grace = std::chrono::seconds(30);

    // `nspace`: of that job; empty: these are no debugger daemons, and nothing is done. `before_first`: its questions
    // have the numbers behind this one; of two that ask they must differ.
    DebuggedJob(HostPort &hosts, DebuggedJobPort &port, Bytes nspace, std::uint64_t before_first = 0)
        : hosts_(hosts), port_(port), nspace_(std::move(nspace)), id_(before_first) {}

    void begin(TimePoint now);
    void on_reply(TimePoint now, const wire::JobEndReply &message);
    // The daemons have been told of the end by whoever spawned that job.
    void on_end_told(TimePoint now);
    void on_session_gone(TimePoint now);
    TimePoint next_time() const { return next_; }
    void on_time(TimePoint now);

  private:
    enum class State { idle, asks, will_ask, seems_over, over };

    void wait(State state, TimePoint until);
    std::optional<int> how() const;

    HostPort &hosts_; // for the session
    DebuggedJobPort &port_;
    const Bytes nspace_;
    std::uint64_t id_; // of the question that waits
    State state_ = State::idle;
    bool ended_ = false;          // a daemon of that job has said so
    std::optional<int> bad_exit_; // of a process that ended badly; negative: nobody knows its code
    TimePoint next_ = TimePoint::max();
};

} // namespace pmixhost
