// See allocations.h.
#include "plugins/slurm/backend/allocations.h"

#include "common/base/start_thread.h"

#include <algorithm>
#include <condition_variable>
#include <fmt/ranges.h>
#include <mutex>
#include <set>

namespace pmixhost::slurm {

// Allocations of this host, each of which has one call at a time; a cancellation must never be refused.
static constexpr std::size_t max_calls = 4096;

Allocations::Allocations(EventLoop &loop, Log &log, std::uint32_t own_job, Slurm slurm)
    : loop_(loop), log_(log), own_job_(own_job), slurm_(std::move(slurm)), calls_(loop, max_calls) {}

// What the thread and the one that waits for it share.
struct Leaving {
    std::mutex mutex;
    std::condition_variable over;
    std::set<std::uint32_t> jobs; // that are not cancelled
    bool is_over = false;
};

static void cancel_all(Leaving &leaving, const std::set<std::uint32_t> &jobs,
                       const std::function<Result<void>(std::uint32_t)> &cancel) {
    for (std::uint32_t job : jobs) {
        auto cancelled = cancel(job);
        std::lock_guard lock(leaving.mutex);
        if (cancelled || cancelled.failure().kind == ErrorKind::not_found)
            leaving.jobs.erase(job);
    }
    std::lock_guard lock(leaving.mutex);
    leaving.is_over = true;
    leaving.over.notify_all();
}

Allocations::~Allocations() {
    auto leaving = std::make_shared<Leaving>();
    for (const auto &[job, cancelling] : cancelling_)
        leaving->jobs.insert(job);
    for (const auto &[id, waiting] : waiting_) {
        if (waiting.job != 0)
            leaving->jobs.insert(waiting.job);
    }
    if (leaving->jobs.empty())
        return;
    auto started =
        start_thread([cancel = slurm_.cancel, jobs = leaving->jobs, leaving] { cancel_all(*leaving, jobs, cancel); });
    std::unique_lock lock(leaving->mutex);
    if (started)
        leaving->over.wait_for(lock, leave_patience, [&] { return leaving->is_over; });
    if (!leaving->jobs.empty())
        log_.warning("allocations that nobody wants any more may stay in Slurm's queue: {}; next: scancel",
                     fmt::join(leaving->jobs, ", "));
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
    if (cancelling_.try_emplace(job).second)
        try_to_cancel(job);
}

void Allocations::try_to_cancel(std::uint32_t job) {
    calls_.run(
        {}, TimePoint::max(), [cancel = slurm_.cancel, job] { return cancel(job); },
        [this, job](const Result<void> &cancelled) { on_cancelled(job, cancelled); });
}

void Allocations::on_cancelled(std::uint32_t job, const Result<void> &cancelled) {
    bool is_away = !cancelled && cancelled.failure().kind == ErrorKind::unreachable;
    if (!cancelled && !is_away && cancelled.failure().kind != ErrorKind::not_found)
        log_.warning("the pending allocation {} stays in Slurm's queue: {}", job, cancelled.failure().text);
    if (!is_away) {
        cancelling_.erase(job);
        return;
    }
    Cancelling &cancelling = cancelling_.at(job);
    if (!std::exchange(cancelling.told, true))
        log_.warning("the pending allocation {} is not cancelled yet, and Slurm is asked again: {}", job,
                     cancelled.failure().text);
    cancelling.again = loop_.after(cancelling.pause, [this, job] { try_to_cancel(job); });
    cancelling.pause = std::min(2 * cancelling.pause, longest_pause);
}

} // namespace pmixhost::slurm
