// Who the processes of the job are: host, pid, executable, state, exit code and memory of each, for
// PMIX_QUERY_PROC_TABLE and PMIX_QUERY_MEMORY_USAGE. Pure: messages and time in, messages and one answer out.
//
// The question goes along the tree of the step's hosts from where it was asked, around hosts that have
// gone, and each host answers for the part of the tree behind it: O(log N) rounds, each entry crosses
// each connection on its way once. A host waits for those behind it a little shorter than it is waited
// for, so that one that is silent does not take the others with it.
//
// An asker on a host that gathers already waits for the next gathering, with all others who do so: nobody is told
// what was known before the question, and a host has one question of its own under way. So it is with those who ask for
// the same part of the tree: when all hosts ask at once, each host is looked at a few times for each of its neighbours.
//
// Of a host that has left, only those of its processes are known that were reported to have ended badly.
#pragma once

#include "common/job/job_map.h"
#include "common/loop/event_loop.h"
#include "common/transport/tree.h"
#include "common/wire/event_messages.h"
#include "common/wire/table_messages.h"
#include "server-glue/core/host_port.h"

#include <functional>
#include <map>
#include <optional>
#include <set>

namespace pmixhost {

struct ProcessEntry {
    Rank rank = 0;
    HostIndex host = 0;
    pid_t pid = 0; // 0: it does not run, or nobody knows
    int exit_code = 0;
    std::uint8_t state = 0; // pmix_proc_state_t
    std::string executable;
    std::uint64_t memory_kib = 0; // resident; 0: it does not run, or nobody knows
};
struct JobTable {
    std::vector<ProcessEntry> processes;
    std::map<HostIndex, std::uint64_t> daemons; // the resident memory of each that has answered, in KiB
};

// The table as hosts tell it each other. Entries that cannot be of such a job are left out.
std::vector<wire::TableHost> table_hosts(const JobTable &table);
JobTable table_of(const std::vector<wire::TableHost> &hosts, const JobMap &map);
// By rank, each once.
void in_order_of_ranks(JobTable &table);

class ProcessTablePort {
  public:
    virtual ~ProcessTablePort() = default;
    // The processes of this host. Of one that has ended only `rank` and `state` are looked at.
    virtual std::vector<ProcessEntry> local_processes() = 0;
    // The resident memory of this daemon, in KiB.
    virtual std::uint64_t daemon_memory() = 0;
};

class ProcessTable {
  public:
    // SUCCESS with an entry for each rank in order, or TIMEOUT. It may be called after the asker's own time, because
    // of several askers the longest time holds for all.
    using Done = std::function<void(std::int32_t status, const JobTable &)>;

    ProcessTable(HostPort &hosts, ProcessTablePort &port, const JobMap &map, HostIndex self, std::uint32_t radix)
        : hosts_(hosts), port_(port), map_(map), self_(self), tree_(map.host_count(), radix) {}

    JobTable local();
    void request(TimePoint now, Duration timeout, Done done);
    // Notes a reported end (wire::HostReport), of this host's processes too.
    void note_ended(const wire::EndedProcess &process);
    void note_lost(HostIndex host) { lost_.insert(host); }
    // The code of the first process that ended badly; 0: none has.
    std::int32_t first_bad_end() const { return first_bad_end_; }

    void on_request(TimePoint now, HostIndex from, const wire::TableRequest &message);
    void on_reply(TimePoint now, HostIndex from, wire::TableReply message);
    void on_host_gone(TimePoint now, HostIndex host);
    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    struct Waiter { // a neighbour that has asked for what is behind this host
        HostIndex asker;
        std::uint64_t id; // there
        TimePoint deadline;
    };
    struct Pending {
        HostIndex behind = no_host; // no_host: it is this host's own, and `askers` are told; else `waiters`
        std::vector<Done> askers;
        std::vector<Waiter> waiters;
        TimePoint deadline;
        Duration timeout;
        std::map<HostIndex, HostIndex> waiting; // for whom, and which neighbour it is behind
        wire::TableReply answer;
    };
    using Iterator = std::map<std::uint64_t, Pending>::iterator;
    bool neighbours(HostIndex a, HostIndex b) const;
    Iterator start(TimePoint now, Duration timeout);
    void spread(Iterator pending, HostIndex at, HostIndex coming_from);
    void gather(TimePoint now);
    void gather_for(TimePoint now, HostIndex behind);
    void finish(TimePoint now, Iterator pending);
    wire::TableHost own_host();
    JobTable whole_table(const wire::TableReply &answer) const;
    void complete(ProcessEntry &entry) const;

    HostPort &hosts_;
    ProcessTablePort &port_;
    const JobMap &map_;
    const HostIndex self_;
    Tree tree_;
    std::map<Rank, wire::EndedProcess> ended_;
    std::set<HostIndex> lost_;
    std::int32_t first_bad_end_ = 0;
    std::map<std::uint64_t, Pending> pending_;
    struct Direction {
        bool gathering = false;     // one of pending_ is for it
        std::vector<Waiter> next{}; // who have asked since that began
    };
    std::map<HostIndex, Direction> directions_; // of the tree, seen from the neighbour from which the question comes
    bool gathering_ = false;                    // one of pending_ is this host's own
    std::vector<Done> next_;                    // the askers of the next one
    TimePoint next_deadline_{};                 // the latest of theirs
    std::uint64_t next_id_ = 1;
};

} // namespace pmixhost
