// Allocations that processes of the step ask for: a new one is a job of Slurm's, which may have to wait
// in its queue. In the loop's thread; what blocks is behind `Slurm` and happens in a thread.
//
// slurmctld is asked how a waiting job is doing, at growing intervals, because there is no port on which it could
// call. A job that is not wanted any more is cancelled, also one that was granted in the same moment; a slurmctld that
// is away is asked again until it has done so.
#pragma once

#include "common/base/log.h"
#include "common/loop/slow_calls.h"
#include "server-glue/rm/allocations.h"

#include <map>

namespace pmixhost::slurm {

class Allocations {
  public:
    struct Slurm { // blocking
        // The number of the new job.
        std::function<Result<std::uint32_t>(const RmAllocation &)> submit;
        struct State {
            bool waits = false;
            std::string hopeless; // why the partition cannot give it as it is now
            RmAllocated granted;  // when it does not
        };
        std::function<Result<State>(std::uint32_t job)> look;
        std::function<Result<void>(std::uint32_t job)> cancel;
        // Extends or releases (RmAllocation::Kind). `own`: the step's job.
        std::function<Result<RmAllocated>(const RmAllocation &, std::uint32_t own)> change;
    };
    Allocations(EventLoop &loop, Log &log, std::uint32_t own_job, Slurm slurm);
    // Cancels what waits; at most `leave_patience` for a slurmctld that does not answer. The log says what is left.
    ~Allocations();
    // Is Slurm being asked for one? Then it is not yet known what would have to be cancelled.
    bool is_submitting() const { return submitting_ > 0; }

    void allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                  std::function<void(Result<RmAllocated>)> done);
    void abandon(std::uint64_t id);

    static constexpr Duration first_pause = std::chrono::milliseconds(100);
    static constexpr Duration longest_pause = std::chrono::seconds(5);
    static constexpr std::chrono::seconds leave_patience{2};

  private:
    struct Waiting {
        std::function<void(Result<RmAllocated>)> done;
        std::uint32_t job = 0;
        bool fails_if_hopeless = false;
        std::string hopeless;
        Duration pause = first_pause;
        EventLoop::Handle again, deadline;
    };
    void on_submitted(std::uint64_t id, Result<std::uint32_t> job);
    void look(std::uint64_t id);
    void on_state(std::uint64_t id, Result<Slurm::State> state);
    void finish(std::uint64_t id, Result<RmAllocated> outcome);
    void cancel(std::uint32_t job);
    void try_to_cancel(std::uint32_t job);
    void on_cancelled(std::uint32_t job, const Result<void> &cancelled);

    EventLoop &loop_;
    Log &log_;
    const std::uint32_t own_job_;
    Slurm slurm_;
    std::map<std::uint64_t, Waiting> waiting_;
    struct Cancelling {
        Duration pause = first_pause;
        EventLoop::Handle again{};
        bool told = false; // that it is not cancelled yet
    };
    std::map<std::uint32_t, Cancelling> cancelling_; // by jobs
    std::size_t submitting_ = 0;
    SlowCalls calls_;
};

} // namespace pmixhost::slurm
