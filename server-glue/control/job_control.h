// PMIx_Job_control: signals, and the event of a checkpoint, for processes of this daemon's own job, on all its hosts.
// The asker may be a process of the job or, by way of the session, of another one (cross_job_control.h). Pure:
// messages and time in, messages, signals and one answer out.
//
// Nothing is signalled unless all of the request makes sense. It goes along the tree of the step's hosts from where
// it was asked, around hosts that have gone, to where it has targets; each host sends to its neighbours in the tree
// alone. The processes behind a host come first and are counted there, then its own, because they may be what keeps
// its daemon alive; the caller comes at the very end. A host that is asked again, because the host that asked it has
// gone, does it once. A request may hold several signals: each process gets them in their order. The event is sent
// first; when there is nothing else, the processes that are there are counted. Of a daemon, not of a process, the end
// of a pause is one of the signals (debug/release.h).
//
// The answer: SUCCESS (all named processes that the job has were signalled), NOT_FOUND (none of them
// runs, or there never was such a one), PARTIAL_SUCCESS (some had ended), LOST_CONNECTION (a host is
// lost, with its processes), TIMEOUT. To name the whole job means those that run.
#pragma once

#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/transport/tree.h"
#include "common/wire/control_messages.h"
#include "server-glue/control/job_control_ask.h"
#include "server-glue/core/host_port.h"

#include <deque>
#include <map>
#include <set>

namespace pmixhost {

class JobControlPort {
  public:
    virtual ~JobControlPort() = default;
    // Signals a process of this host, or ends its pause; false when it does not run.
    virtual bool signal_local(Rank rank, int signal) = 0;
    // Ends the whole job with the RM's means.
    virtual void end_job(std::string why, StatusReply reply) = 0;
    // PMIX_JCTRL_CHECKPOINT for these processes of the job, wherever they are.
    virtual void notify_checkpoint(const wire::ControlOrder &order, const wire::ControlTarget &target) = 0;
};

pmix_status_t status_of(const wire::ControlOutcome &outcome);
void add(wire::ControlOutcome &sum, const wire::ControlOutcome &more);
// True for an event, 1 to max_signals numbers of signals or ends of a pause, or both.
bool makes_sense(const wire::ControlOrder &order);

class JobControl {
  public:
    static constexpr Duration patience = std::chrono::seconds(30); // without PMIX_TIMEOUT

    static constexpr std::size_t max_remembered = 1024; // requests of other hosts that are done

    JobControl(HostPort &hosts, JobControlPort &port, const Bytes &nspace, const JobMap &map, HostIndex self,
               std::uint32_t radix)
        : hosts_(hosts), port_(port), nspace_(nspace), map_(map), self_(self), tree_(map.host_count(), radix) {}

    struct Order {
        wire::ControlTarget target; // its namespace is not looked at
        wire::ControlOrder what;
        TimePoint deadline;
        OneShot<wire::ControlOutcome> done;
    };
    static TimePoint deadline_of(TimePoint now, const JobControlAsk &ask);
    // Can these processes be addressed? A PMIx status.
    pmix_status_t check(const wire::ControlTarget &target) const;
    // Carries out an order that check() and makes_sense() allow.
    void carry_out(TimePoint now, Order order);
    // Does all of this for a request whose targets are in this job alone.
    void request(TimePoint now, JobControlAsk ask);

    void on_request(TimePoint now, HostIndex from, wire::SignalRanks message);
    void on_reply(HostIndex from, const wire::SignalReply &message);
    // `lost`: it did not go because its processes had all ended.
    void on_host_gone(HostIndex host, bool lost);
    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    struct Pending {
        HostIndex asker = no_host; // no_host: `done` is told
        std::uint64_t id_there = 0;
        HostIndex origin = 0;
        std::uint64_t number = 0;
        std::optional<Rank> last;
        std::vector<std::int32_t> signals;
        bool whole = false;                     // ended processes do not count
        std::vector<Rank> ranks;                // of this host and of those behind it
        std::map<HostIndex, HostIndex> waiting; // for whom, and which neighbour it is behind
        wire::ControlOutcome outcome;
        Duration timeout{};
        TimePoint deadline;
        OneShot<wire::ControlOutcome> done;
    };
    using Iterator = std::map<std::uint64_t, Pending>::iterator;
    using Place = std::pair<HostIndex, std::uint64_t>; // origin and number
    Iterator start(TimePoint now, Pending pending);
    void spread(Iterator pending, HostIndex at, HostIndex coming_from, const std::vector<Rank> &ranks);
    bool has_target(const Pending &pending, HostIndex host) const;
    // How many of `ranks` got all of the signals.
    std::size_t signal(const std::vector<Rank> &ranks, const std::vector<std::int32_t> &signals);
    void finish(Iterator pending, bool in_time = true);
    void reply(HostIndex to, std::uint64_t id, wire::SignalReply message);

    HostPort &hosts_;
    JobControlPort &port_;
    const Bytes nspace_;
    const JobMap &map_;
    const HostIndex self_;
    Tree tree_;
    std::map<std::uint64_t, Pending> pending_;
    std::map<Place, wire::SignalReply> remembered_;
    std::deque<Place> oldest_; // of those
    std::uint64_t next_id_ = 1;
};

} // namespace pmixhost
