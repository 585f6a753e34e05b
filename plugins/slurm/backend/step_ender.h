// How a step is ended: srun is told why, and Slurm has its processes killed. slurmctld may be away for a while (it is
// being restarted), or refuse for a while (the job is suspended), and nobody else would kill then: so it is asked
// until it has done so, and once more for hosts that were just starting their tasks, or until this daemon leaves. In
// the loop's thread; what blocks is in `Calls`.
#pragma once

#include "common/base/log.h"
#include "common/loop/worker.h"
#include "server-glue/rm/rm_backend.h"

#include <optional>
#include <vector>

namespace pmixhost::slurm {

class StepEnder {
  public:
    struct Calls { // blocking; each owns all that it uses
        // Tells srun; null: it gave no address.
        std::function<Result<void>(const StepEnd &)> report;
        // Fails (denied) where it will never be allowed; any other failure is one for now. A step that is over is
        // killed.
        std::function<Result<void>()> kill;
        Duration first_pause = std::chrono::seconds(1); // and then twice as long each time, up to the longest
        Duration longest_pause = std::chrono::seconds(30);
    };
    // `loop` and `log` outlive this.
    StepEnder(EventLoop &loop, Log &log, Calls calls)
        : loop_(loop), log_(log), calls_(std::move(calls)), worker_(loop) {}

    // The first `end` is reported, until srun has heard it. `done` comes once, with what became of the first kill that
    // was tried for it: who asks while one is under way is answered with that one. It may end this.
    void end(StepEnd end, std::function<void(Result<void>)> done);

    // See Worker. Nothing is tried again.
    bool finish(Duration limit);

  private:
    struct Tried {
        std::string unheard; // why srun does not know; empty: it does, or cannot
        Result<void> killed;
    };
    void attempt();
    void on_tried(Result<Tried> tried);
    void try_later();

    EventLoop &loop_;
    Log &log_;
    Calls calls_;
    std::optional<StepEnd> end_;
    std::vector<std::function<void(Result<void>)>> askers_; // of the attempt that runs
    bool runs_ = false, leaves_ = false;
    bool heard_ = false;                               // by srun
    bool told_unheard_ = false, told_failure_ = false; // the log
    bool taken_ = false;                               // Slurm has taken the order once
    bool repeats_ = true;                              // the next one that Slurm takes, since somebody has asked
    Duration pause_{};
    EventLoop::Handle again_;
    Worker worker_;
};

} // namespace pmixhost::slurm
