// How the session reaches the steps of its job that do not know of it: slurmctld tells which there are, and slurmd
// brings a session_call (server-glue/core/central_roles.h) to the contact socket of each step's daemon.
//
// Both block, and happen in a thread. A step without pmixhost, or one whose daemons are only starting,
// cannot be reached: it is tried for five minutes and then no more.
#pragma once

#include "common/base/bytes.h"
#include "common/base/log.h"
#include "common/loop/event_loop.h"
#include "common/loop/slow_calls.h"
#include "server-glue/rm/invitation_stream.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace pmixhost::slurm {

struct RunningStep {
    std::uint32_t step = 0;
    std::string name;               // as squeue -s shows it
    std::vector<std::string> nodes; // in Slurm's order, which need not be the step's
};

struct ContactPlace {
    std::string base;   // directory.base
    std::string family; // only steps of that one are reached; see contact_socket.h
};
// Sends to one node; fails (not_found) where nobody listens at that path. Blocks.
using ForwardToNode =
    std::function<Result<void>(const std::string &node, const std::string &path, const std::string &message)>;
// Brings a message to one of the daemons of a step. Blocks. Fails as the first attempt that found more than nobody
// there (not_found); there is one for each host that may have the first place in the step.
Result<void> reach_step(std::uint32_t job, const RunningStep &step, const ContactPlace &where,
                        const ForwardToNode &forward, const std::string &message);

class StepCaller {
  public:
    struct Slurm { // blocking; called in the thread
        std::function<Result<std::vector<RunningStep>>(std::uint32_t job)> steps;
        ForwardToNode forward;
    };
    using Where = ContactPlace;
    StepCaller(EventLoop &loop, Log &log, std::uint32_t job, Where where, Slurm slurm);

    // Calls all steps but those of these namespaces. Calls that come while a round is under way make one more round,
    // for the last of them, and none when nobody waits for it. `done` may be null.
    void call(std::set<Bytes> known, std::function<void(CalledSteps)> done);

    struct Memory {                                     // the thread's own
        std::map<std::uint32_t, TimePoint> first_tries; // of the steps that nobody has reached yet
    };
    struct Round {
        CalledSteps called;
        std::vector<std::string> said; // for the log
    };
    // What the thread does.
    static Round round(std::uint32_t job, const Where &where, const Slurm &slurm, const std::set<Bytes> &known,
                       Memory &memory, TimePoint now);

  private:
    void begin();

    EventLoop &loop_;
    Log &log_;
    std::uint32_t job_;
    Where where_;
    Slurm slurm_;
    std::shared_ptr<Memory> memory_ = std::make_shared<Memory>(); // the thread's, which may outlive this
    std::set<Bytes> known_;                                       // of the last call
    std::vector<std::function<void(CalledSteps)>> waiting_;
    bool busy_ = false;
    SlowCalls calls_;
};

} // namespace pmixhost::slurm
