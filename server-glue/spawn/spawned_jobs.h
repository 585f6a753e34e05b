// The jobs that processes and tools of this host have spawned: which run, which have ended, and which of them are
// debugger daemons. Who has to do with them enters itself here, and hears of each in the same order, however quick the
// job was: the launcher tells of a job's end and answers its request in any order.
//
//     starts()    the launcher says that it runs               nobody: the request does not know it yet
//     runs()      its request hears so, and says what it is    when_runs()
//     answered()  whoever has asked for it has the answer      when_ended(), if it has ended by then
//     ended()     as the launcher says, or its own hosts do    when_ended(), if it was answered by then
//     told()      the end, to whoever asked for that           when_told(), behind when_ended()
//
// So nobody has to ask whether a job that he hears of for the first time is over already. A job that is never answered
// (its request was given up) is one of those that run until it has ended, and nobody who has entered himself hears of
// it.
//
// What is kept of a job goes when its end has been told, but for its name. That is of use as long as somebody may name
// the job, which is for ever: the launcher, when it comes back, of an end that is known; who connects with it or
// signals it, and would have the session look for it; hosts of its own, that come late with ends of processes. All of
// these have another answer, later or less exact, of a job that nobody knows. So the names of the last 10,000 that have
// ended are kept, some 2 MB, whatever number of jobs a master goes through; that includes those whose end comes before
// their answer, so nobody may wait for one while 10,000 others end.
//
// Pure, but for what the hooks do. In the loop's thread. Whoever only reads has it const.
#pragma once

#include "server-glue/core/recent_names.h"
#include "server-glue/core/signature.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace pmixhost {

// What its request says of a job.
struct SpawnedJob {
    Process spawner;
    std::function<bool()> tool_is_here; // is the tool connected that has spawned it? Null: a process of a job has
    Bytes debugged;                     // its processes are debugger daemons beside that job; empty: they are none
    bool goes_on = false;               // without its tool (PMIX_NOHUP)
    bool stands = false;                // processes of it stop for a debugger; never daemons
    enum class TellsEnd { no, if_bad, always } tells_end = TellsEnd::no; // to this step, as an event

    // When its tool goes. Of one that shall go on, but stands first, nobody would let go who stands: as long as it is
    // being started it ends, too.
    bool ends_with_tool() const { return tool_is_here && (!goes_on || stands); }
};

class SpawnedJobs {
  public:
    static constexpr std::size_t most_remembered = 10'000; // that have ended

    // From starts() until ended().
    const std::set<Bytes> &running() const { return running_; }
    bool is_running(const Bytes &nspace) const { return running_.contains(nspace); }
    // Of the last `most_remembered`; of others, and of those that were not spawned here: no.
    bool has_ended(const Bytes &nspace) const { return ended_.contains(nspace); }
    // From runs() until ended(): their requests do not count them any more.
    std::size_t how_many() const;
    // Those that run beside that job, whether it is one of these or not.
    std::vector<Bytes> debuggers_of(const Bytes &nspace) const;
    // Are there any of them that go on without a tool?
    bool has_lasting_debuggers(const Bytes &nspace) const;
    // Has its request asked for an event at such an end (`exit_code`: as a shell reports it, if known)? Until ended().
    bool tells_end(const Bytes &nspace, std::optional<int> exit_code) const;

    // Entered once and for all, before the first job; called in the order in which they were entered. A hook must
    // enter, end and tell nothing itself.
    using OnRuns = std::function<void(const Bytes &nspace, const SpawnedJob &job)>;
    using Hook = std::function<void(const Bytes &nspace)>;
    void when_runs(OnRuns hook) { on_runs_.push_back(std::move(hook)); }
    void when_ended(Hook hook) { on_ended_.push_back(std::move(hook)); }
    void when_told(Hook hook) { on_told_.push_back(std::move(hook)); }

    // As above. Of one that has ended already: nothing.
    void starts(const Bytes &nspace);
    // A second time for the same name: nothing.
    void runs(const Bytes &nspace, SpawnedJob job);
    void answered(const Bytes &nspace);
    // False: that is known. Otherwise told() follows, once.
    bool ended(const Bytes &nspace);
    void told(const Bytes &nspace);

  private:
    struct Known {
        SpawnedJob job;
        bool is_answered = false;
        bool has_ended = false;
        bool end_is_passed_on = false;
    };
    void pass_on(std::map<Bytes, Known>::iterator at);
    void forget_debugger(const Bytes &nspace, const SpawnedJob &job);

    std::set<Bytes> running_;
    std::map<Bytes, Known> known_; // from runs() until all has been passed on
    RecentNames ended_{most_remembered};
    std::set<Bytes> telling_;               // have ended, and are not told
    std::multimap<Bytes, Bytes> debuggers_; // that run, by what they debug
    std::vector<OnRuns> on_runs_;
    std::vector<Hook> on_ended_, on_told_;
};

} // namespace pmixhost
