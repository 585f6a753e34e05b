// The allocations in which a launcher starts jobs (daemon/launcher_server.h): what starts them there, which the RM may
// take long to say, and for how long each is kept. The own one has the empty name, and stays.
//
// One that was asked for the jobs in it is given back when the last of them has ended and the lobby
// (StepInfo::is_lobby) has what is still on its way from there (LeaveAllocation), or has gone. An RM that does not take
// it, being restarted perhaps, is asked again; then the allocation ends with its time.
//
// All runs in the loop's thread but what is in `Calls`, which may have to wait for the RM.
#pragma once

#include "common/base/log.h"
#include "common/loop/slow_calls.h"
#include "server-glue/rm/job_starter.h"

#include <map>

namespace pmixhost {

class AllocationPlaces {
  public:
    // Called in a thread; each owns all that it uses.
    struct Calls {
        std::function<Result<std::shared_ptr<JobStarter>>(const std::string &allocation)> make_starter;
        // BackendModule::give_back.
        std::function<Result<void>(const std::string &allocation)> give_back;
        Duration return_again = std::chrono::seconds(10); // until an allocation that was not taken is given back again
        // For the lobby to have what its jobs have written, which it waits for itself.
        Duration lobby_patience = std::chrono::minutes(1);
    };
    static constexpr unsigned most_returns = 20; // of one allocation
    // The time that the RM has to say where jobs can be started.
    static constexpr std::chrono::milliseconds starter_patience = std::chrono::minutes(2);

    // At most `most_waiting` wait for a starter. `on_given_back` comes each time that an allocation is given back, or
    // that this is given up. `loop` and `log` outlive this object.
    AllocationPlaces(EventLoop &loop, Log &log, Calls calls, std::size_t most_waiting,
                     std::function<void()> on_given_back);

    // A request is there for this allocation, and then its job, until leave(). `gives_back`: it was asked for the jobs
    // in it. Gives the starter, if it has been made.
    std::shared_ptr<JobStarter> enter(const std::string &allocation, bool gives_back);
    // Of a place that was entered and has none: it is made, once for all that ask before this begins. `found` comes
    // once, not from within, and where it failed the next one who asks has it tried again. Fails (timeout) where the RM
    // has not answered within `limit`, or `starter_patience` if that is less; (limit) where too many wait; else with
    // the error of `make_starter`.
    using Found = std::function<void(Result<std::shared_ptr<JobStarter>>)>;
    void find_starter(const std::string &allocation, std::chrono::milliseconds limit, Found found);
    // The request was refused or taken back, or its job has ended.
    void leave(const std::string &allocation);
    // The lobby has what jobs there have written, and sends no more of them unless it enters again.
    void lobby_leaves(const std::string &allocation);
    // Nobody is to enter any more; an allocation that somebody enters and leaves all the same is given back at once.
    // Nor does a lobby wait for anything: what has no job is given back, and the others with the last of theirs.
    void close();
    // Is any being given back?
    bool is_giving_back() const { return giving_ > 0; }

  private:
    struct Place {
        std::shared_ptr<JobStarter> starter; // once it was made
        std::size_t requests = 0;            // that are under way, and jobs
        bool gives_back = false;
        bool left = false;         // by the lobby
        EventLoop::Handle timer{}; // without requests, for it to leave
    };
    void give_back(const std::string &allocation);
    void give_back(const std::string &allocation, unsigned tries);

    EventLoop &loop_;
    Log &log_;
    Calls calls_;
    std::function<void()> on_given_back_;
    std::map<std::string, Place> places_; // by allocation
    bool closed_ = false;
    std::size_t giving_ = 0; // allocations back
    std::map<std::uint64_t, EventLoop::Handle> tries_;
    std::uint64_t next_try_ = 1;
    SlowCalls starters_, givers_;
};

} // namespace pmixhost
