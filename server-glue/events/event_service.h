// Events on their way between the daemons of a step: what a process notifies, and what the host itself
// reports (ends of processes, loss of hosts). Pure: what it needs of its surroundings are the ports.
//
// An event floods the tree of the step's hosts (common/transport/tree.h): the host it comes from sends it to its
// neighbours in the tree, each of these to its others. So every byte crosses to a host once, and the events of one
// process come in its order everywhere. Where a neighbour is gone, the event is sent to its other neighbours in its
// stead. While hosts disagree about who is gone, an event may come twice, which its number shows, or late, after a
// younger one of the same origin: it is then dropped.
//
// An event that is for other namespaces too (ranges session and global, a custom range that names them) goes to the
// session straight from the host of the process, so that its order is kept. What the session brings goes along the
// tree as if this host were where it comes from.
//
// What processes notify waits for a host that does not take it, up to `max_waiting` bytes; beyond that it comes
// neither to that host nor to those behind it, because a host that forwards cannot refuse the notifier. What hosts
// report is small and always sent.
//
// A process ends once, so ends in disorder are known by their ranks: what is passed on are those that are new here. The
// first of them at once; those that come before the next pass_on_bad_ends() go then, of all hosts together in one
// message, which is as long as there are ways to end. So they may be those of all processes, and each connection of the
// tree has one message in that time.
//
// Ends of processes that are in order come in masses when a job ends, and nobody may be left to hear of them. They go
// up the tree, which gathers them on the way, and then from its root, or whoever is nearest to it, along the tree. No
// connection is made for them, because the other side has most likely left.
//
// The host of a process that notifies is not delivered to: libpmix has done that by itself before it
// makes the upcall (contrib/doc/decisions/libpmix.md).
#pragma once

#include "common/job/job_map.h"
#include "common/job/rank_ranges.h"
#include "common/transport/tree.h"
#include "common/wire/event_messages.h"
#include "common/wire/names.h"
#include "server-glue/core/host_port.h"
#include "server-glue/events/notify_ask.h"

#include <map>
#include <optional>
#include <set>

namespace pmixhost {

class EventPort {
  public:
    virtual ~EventPort() = default;
    // That host has lost an event, the first since its queue was empty.
    virtual void event_lost(HostIndex to) = 0;
    // Gives it to the processes of this host.
    virtual void deliver(const wire::EventNotice &notice) = 0;
    virtual void deliver(const wire::HostReport &report) = 0;
    virtual void deliver(const wire::BadEnds &ends) = 0;
    virtual void deliver(const wire::NormalExits &ends) = 0;
    virtual void send_cross_job(wire::CrossJobEvent event) = 0; // to the session
};

// The same for each host, of those that ended at the same time; in their order.
std::vector<wire::HostReport> by_host(const wire::BadEnds &ends, const JobMap &map);

class EventService {
  public:
    static constexpr std::size_t max_waiting = 64u << 20;

    EventService(HostPort &hosts, EventPort &port, const JobMap &map, const std::string &nspace, HostIndex self,
                 std::uint32_t radix)
        : hosts_(hosts), port_(port), map_(map), nspace_(nspace), self_(self), tree_(map.host_count(), radix) {}

    // Of what processes have notified: bytes that wait for other hosts of the step.
    std::size_t waiting_bytes();
    // A process of this host notifies.
    void notify(NotifyAsk ask);
    // These processes of this host have ended badly.
    void report_ended(std::vector<wire::EndedProcess> processes, std::uint64_t time);
    // Is pass_on_bad_ends() to be called a moment from now (ProcessEnds::bad_ends_together)? Asked after each report
    // and message of them, and after that call.
    bool gathers_bad_ends() const { return gathers_; }
    void pass_on_bad_ends();
    // A process of this host has ended, and all was in order. It is told with the next tell_ends(). `certain`: its
    // exit code is known to be 0.
    void note_normal_exit(Rank rank, bool certain) { (certain ? normal_exits_ : uncertain_ends_).add(rank, rank); }
    bool ends_to_tell() const { return !normal_exits_.empty() || !uncertain_ends_.empty(); }
    void tell_ends(std::uint64_t time);
    // The connection with `host` broke. It is told once for each host, whoever else sees it.
    void report_lost(HostIndex host, std::uint64_t time);
    // Messages from the daemon of `from`; `payload` is what they were decoded from, to be passed on.
    void on_notice(HostIndex from, wire::EventNotice notice, SharedBytes payload);
    void on_report(HostIndex from, wire::HostReport report, SharedBytes payload);
    void on_bad_ends(HostIndex from, const wire::BadEnds &ends);
    void on_ends(HostIndex from, wire::NormalExits ends, SharedBytes payload);
    // An event that the session brings.
    void on_cross_job(wire::CrossJobEvent event);

  private:
    using Hosts = std::vector<std::uint32_t>;
    template <typename Message> void originate(Message &message);
    template <typename Message> bool is_well_formed(HostIndex from, const Message &message) const;
    template <typename Message> bool pass(HostIndex from, const Message &message, SharedBytes payload);
    bool here(const Hosts &hosts) const;
    // Where those of the custom range are; nothing where none is in this namespace.
    std::optional<Hosts> hosts_of(const std::vector<wire::ProcessName> &custom) const;
    void spread(HostIndex from, const Hosts &hosts, std::uint8_t type, const SharedBytes &payload);
    void spread_beyond(HostIndex behind, const Hosts &hosts, std::uint8_t type, const SharedBytes &payload);
    // Of ranks that have ended in the same way, and were told at the same time.
    struct Manner {
        std::int32_t code, term_status, exit_code;
        std::uint8_t ends_job;
        std::uint64_t time;
        bool operator==(const Manner &) const = default;
    };
    // In the order in which the first of each manner has come: there are few, and the first may be why others end.
    using Ended = std::vector<std::pair<Manner, RankRanges>>;
    static RankRanges &of_manner(Ended &ended, const Manner &manner);
    static wire::BadEnds message_of(const Ended &ended);
    void note_bad_ends(HostIndex from, Ended ended);
    void reach(HostIndex at, HostIndex coming_from, const Hosts &hosts, std::uint8_t type, const SharedBytes &payload);
    bool has_room(HostIndex to, std::size_t bytes);
    template <typename Body> void each_neighbour(HostIndex of, Body body) const;

    HostPort &hosts_;
    EventPort &port_;
    const JobMap &map_;
    const std::string &nspace_;
    HostIndex self_;
    Tree tree_;
    std::uint64_t sequence_ = 0;
    std::map<HostIndex, std::uint64_t> seen_; // of each origin, the youngest
    std::set<HostIndex> lost_;
    struct Sent {
        std::size_t bytes = 0; // since its queue was empty
        bool lost = false;
    };
    std::map<HostIndex, Sent> sent_;
    RankRanges normal_exits_, uncertain_ends_; // not yet told
    RankRanges bad_ends_;                      // all that are known
    Ended bad_to_pass_on_;
    HostIndex bad_behind_ = no_host; // the neighbour that they all came by; this host: they have come by several ways
    bool gathers_ = false;
};

} // namespace pmixhost
