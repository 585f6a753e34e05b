// See allocations.h.
#include "plugins/slurm/backend/allocations.h"

#include "common/base/start_thread.h"

#include <algorithm>
#include <future>

namespace pmixhost::slurm {

// Allocations of this host, each of which has one call at a time; a cancellation must never be refused.
static constexpr std::size_t max_calls = 4096;

Allocations::Allocations(EventLoop &loop, Log &log, std::uint32_t own_job, Slurm slurm)
    : loop_(loop), log_(log), own_job_(own_job), slurm_(std::move(slurm)), calls_(loop, max_calls) {}

Allocations::~Allocations() {
    for (const auto &[id, waiting] : waiting_) {
        if (waiting.job != 0)
            cancelling_.insert(waiting.job);
    }
    if (cancelling_.empty())
        return;
    auto over = std::make_shared<std::promise<void>>();
    auto future = over->get_future();
    auto started = start_thread([cancel = slurm_.cancel, jobs = cancelling_, over] {
        for (std::uint32_t job : jobs)
            (void)cancel(job);
        over->set_value();
    });
    if (started)
        future.wait_for(leave_patience);
    else
        log_.warning("pending allocations stay in Slurm's queue: {}", started.failure().text);
}

void Allocations::allocate(std::uint64_t id, RmAllocation request, TimePoint deadline,
                           std::function<void(Result<RmAllocated>)> done) {
    if (request.kind != RmAllocation::Kind::create)
        return calls_.run(
            {}, deadline,
            [change = slurm_.change, request = std::move(request), own = own_job_] { return change(request, own); },
            std::move(done));
    Waiting &waiting = waiting_[id];
    waiting.done = std::move(done);
    waiting.fails_if_hopeless = request.fails_if_hopeless;
    if (deadline != TimePoint::max())
        waiting.deadline = loop_.after(std::max(deadline - loop_.now(), Duration::zero()), [this, id] {
            const std::string &why = waiting_.at(id).hopeless;
            finish(id, error(ErrorKind::timeout, "Slurm did not grant the allocation in time{}{}",
                             why.empty() ? "" : ": ", why));
        });
    ++submitting_;
    // The call has no deadline: a job that was made must be heard of, if only to be cancelled.
    calls_.run(
        {}, TimePoint::max(), [submit = slurm_.submit, request = std::move(request)] { return submit(request); },
        [this, id](Result<std::uint32_t> job) { on_submitted(id, std::move(job)); });
}

void Allocations::on_submitted(std::uint64_t id, Result<std::uint32_t> job) {
    --submitting_;
    auto found = waiting_.find(id);
    if (found == waiting_.end()) {
        if (job)
            cancel(*job);
        return;
    }
    if (!job)
        return finish(id, job.failure());
    found->second.job = *job;
    look(id);
}

void Allocations::look(std::uint64_t id) {
    std::uint32_t job = waiting_.at(id).job;
    calls_.run(
        {}, TimePoint::max(), [look = slurm_.look, job] { return look(job); },
        [this, id](Result<Slurm::State> state) { on_state(id, std::move(state)); });
}

void Allocations::on_state(std::uint64_t id, Result<Slurm::State> state) {
    auto found = waiting_.find(id);
    if (found == waiting_.end())
        return;
    Waiting &waiting = found->second;
    waiting.hopeless = state ? state->hopeless : std::string();
    if (waiting.fails_if_hopeless && !waiting.hopeless.empty())
        return finish(id, error(ErrorKind::limit, "Slurm does not grant it: {}", std::string(waiting.hopeless)));
    bool ask_again = state ? state->waits : state.failure().kind == ErrorKind::unreachable;
    if (!ask_again) {
        waiting.job = state ? 0 : waiting.job; // granted: it stays
        return finish(id, state ? Result<RmAllocated>(std::move(state->granted)) : state.failure());
    }
    waiting.again = loop_.after(waiting.pause, [this, id] { look(id); });
    waiting.pause = std::min(2 * waiting.pause, longest_pause);
}

void Allocations::finish(std::uint64_t id, Result<RmAllocated> outcome) {
    auto node = waiting_.extract(id);
    if (!node)
        return;
    if (node.mapped().job != 0)
        cancel(node.mapped().job);
    node.mapped().done(std::move(outcome));
}

void Allocations::abandon(std::uint64_t id) {
    auto node = waiting_.extract(id);
    if (node && node.mapped().job != 0)
        cancel(node.mapped().job);
}

void Allocations::cancel(std::uint32_t job) {
    cancelling_.insert(job);
    calls_.run(
        {}, TimePoint::max(), [cancel = slurm_.cancel, job] { return cancel(job); },
        [this, job](Result<void> cancelled) {
            cancelling_.erase(job);
            if (!cancelled)
                log_.warning("the pending allocation {} stays in Slurm's queue: {}", job, cancelled.failure().text);
        });
}

} // namespace pmixhost::slurm
