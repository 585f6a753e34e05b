// See step_caller.h.
#include "plugins/slurm/backend/step_caller.h"

#include "plugins/slurm/backend/contact_socket.h"
#include "plugins/slurm/base/task_map.h"
#include "plugins/slurm/steps/session_step.h"
#include "server-glue/core/central_roles.h"

#include <algorithm>
#include <unistd.h>

namespace pmixhost::slurm {

// How long a step is tried that is starting, or has no pmixhost.
static constexpr auto patience = std::chrono::minutes(5);
// The hosts that are tried in one round, for when the first has left its step.
static constexpr std::size_t max_hosts = 4;
// A step with an order of hosts of its own (-m arbitrary): up to so many places are tried.
static constexpr std::size_t max_places = 16;

Result<void> reach_step(std::uint32_t job, const RunningStep &step, const ContactPlace &where,
                        const ForwardToNode &forward, const std::string &message) {
    Result<void> last = error(ErrorKind::not_found, "step {}.{} has no hosts", job, step.step);
    auto at = [&](const std::string &node, std::size_t place) {
        auto path =
            contact_path(where.base, geteuid(), job, step.step, static_cast<std::uint32_t>(place), where.family);
        auto sent = path ? forward(node, *path, message) : Result<void>(path.failure());
        // That somebody does not answer says more than that nobody is there.
        if (last.failure().kind == ErrorKind::not_found && !sent)
            last = sent;
        return sent.ok();
    };
    bool first_answers = true;
    for (std::size_t i = 0; i < std::min(step.nodes.size(), max_hosts); ++i) {
        if (at(step.nodes[i], i))
            return {};
        if (i == 0)
            first_answers = last.failure().kind == ErrorKind::not_found;
    }
    for (std::size_t i = 1; i < std::min(step.nodes.size(), max_places) && first_answers; ++i) {
        if (at(step.nodes.front(), i))
            return {};
    }
    return last;
}

StepCaller::StepCaller(EventLoop &loop, Log &log, std::uint32_t job, Where where, Slurm slurm)
    : loop_(loop), log_(log), job_(job), where_(std::move(where)), slurm_(std::move(slurm)), calls_(loop, 1) {}

void StepCaller::call(std::set<Bytes> known, std::function<void(CalledSteps)> done) {
    known_ = std::move(known);
    if (done)
        waiting_.push_back(std::move(done));
    if (std::exchange(busy_, true))
        return; // who does not wait asks again as long as it matters
    begin();
}

void StepCaller::begin() {
    auto for_whom = std::make_shared<std::vector<std::function<void(CalledSteps)>>>(std::exchange(waiting_, {}));
    calls_.run(
        {}, TimePoint::max(),
        [job = job_, where = where_, slurm = slurm_, known = known_, memory = memory_] {
            return Result<Round>(round(job, where, slurm, known, *memory, Clock::now()));
        },
        [this, for_whom](const Result<Round> &result) {
            if (!result)
                log_.warning("steps cannot be called: {}", result.failure().text);
            for (const auto &line : result ? result->said : std::vector<std::string>())
                log_.debug("{}", line);
            if (busy_ = !waiting_.empty(); busy_) // they may know of steps that this round has not seen
                begin();
            for (const auto &done : *for_whom)
                done(result ? result->called : CalledSteps());
        });
}

StepCaller::Round StepCaller::round(std::uint32_t job, const Where &where, const Slurm &slurm,
                                    const std::set<Bytes> &known, Memory &memory, TimePoint now) {
    Round result;
    auto steps = slurm.steps(job);
    if (!steps) {
        result.said.push_back(steps.failure().text);
        return result;
    }
    result.called.known = true;
    std::erase_if(memory.first_tries, [&](const auto &entry) {
        return std::none_of(steps->begin(), steps->end(),
                            [&](const RunningStep &step) { return step.step == entry.first; });
    });
    for (const auto &step : *steps) {
        result.called.there.insert(namespace_of(job, step.step));
        if (step.name == session_step_name || known.contains(namespace_of(job, step.step))) {
            memory.first_tries.erase(step.step);
            continue;
        }
        if (now - memory.first_tries.try_emplace(step.step, now).first->second > patience)
            continue;
        bool reached = reach_step(job, step, where, slurm.forward, std::string(session_call)).ok();
        if (reached) { // its daemon that was connected may have left: it can be called again at any time
            memory.first_tries.erase(step.step);
            result.called.names.insert(namespace_of(job, step.step));
        }
        result.said.push_back(
            fmt::format("step {}.{} ({}) {}", job, step.step, step.name, reached ? "was called" : "cannot be called"));
    }
    return result;
}

} // namespace pmixhost::slurm
