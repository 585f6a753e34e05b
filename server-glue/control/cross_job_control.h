// PMIx_Job_control of processes in other namespaces of the session, on the side of a step's daemon. A request of a
// process of this host goes to the session (session_control.h), which has the other steps do it, and the answer comes
// back; what the session brings from other jobs is done to this one. Pure: what it needs of its surroundings are the
// ports and this job's own JobControl.
//
// Other jobs come first, then the caller's own: it may be what keeps this daemon alive. Where the others refuse, or
// their time is up, the caller's own job is not touched.
//
// Allowed are processes of the same user in the same session. The session has no others, and no daemon takes such a
// message from anybody else.
#pragma once

#include "common/wire/control_messages.h"
#include "server-glue/control/job_control.h"
#include "server-glue/core/host_port.h"

namespace pmixhost {

class CrossJobControlPort {
  public:
    virtual ~CrossJobControlPort() = default;
    // Is that job known to have ended?
    virtual bool has_ended(const Bytes &nspace) const = 0;
    // Jobs that processes of this host have spawned and that run.
    virtual std::vector<Bytes> children() const = 0;
};

class CrossJobControl {
  public:
    // The most namespaces of one call: as many as a session has steps.
    static constexpr std::size_t max_namespaces = 4096;
    static constexpr std::size_t max_pending = 10'000;

    CrossJobControl(HostPort &hosts, CrossJobControlPort &port, JobControl &own, const Bytes &nspace)
        : hosts_(hosts), port_(port), own_(own), nspace_(nspace) {}

    // Takes any targets; a request for targets in this job alone never leaves it.
    void request(TimePoint now, JobControlAsk ask);
    void on_part(TimePoint now, wire::ControlPart message);
    void on_reply(TimePoint now, const wire::ControlReply &message);
    void on_session_gone();
    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    struct Pending {
        wire::ControlTarget own; // neither whole nor ranks: none
        wire::ControlOrder order;
        TimePoint deadline;
        StatusReply reply;
    };

    HostPort &hosts_;
    CrossJobControlPort &port_;
    JobControl &own_;
    const Bytes nspace_;
    std::map<std::uint64_t, Pending> pending_;
    std::uint64_t next_id_ = 1, sessions_gone_ = 0;
};

} // namespace pmixhost
