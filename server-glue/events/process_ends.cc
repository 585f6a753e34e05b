// See process_ends.h.
#include "server-glue/events/process_ends.h"

#include "server-glue/events/host_events.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/pmix_library.h"

#include <algorithm>
#include <ctime>
#include <pmix.h>
#include <sys/wait.h>

namespace pmixhost {

// The code does not depend on the wait status where a process left PMIx without a word: the status is
// not always to be had.
std::optional<wire::EndedProcess> bad_end_of(const StepContext &context, Rank rank, std::optional<int> wait_status) {
    const LocalTasks &tasks = *context.tasks;
    wire::EndedProcess ended;
    ended.rank = rank;
    bool bad_status = wait_status && *wait_status != 0;
    if (tasks.connected(rank) && !tasks.finalized(rank))
        ended.code = PMIX_ERR_PROC_ABORTED;
    else if (bad_status)
        ended.code = WIFSIGNALED(*wait_status) ? PMIX_ERR_PROC_ABORTED : PMIX_ERR_EXIT_NONZERO_TERM;
    else
        return std::nullopt;
    if (wait_status && WIFSIGNALED(*wait_status)) {
        ended.exit_code = 128 + WTERMSIG(*wait_status);
        ended.term_status = PMIX_ERR_PROC_ABORTED_BY_SIG;
    } else if (wait_status) {
        ended.exit_code = WEXITSTATUS(*wait_status);
        ended.term_status = bad_status ? PMIX_ERR_EXIT_NONZERO_TERM : PMIX_ERR_PROC_TERM_WO_SYNC;
    }
    ended.ends_job = context.is_end_of_job && context.is_end_of_job(ended) ? 1 : 0;
    return ended;
}

// Nobody hears of a process that never had to do with PMIx and has ended well.
void ProcessEnds::note_end(Rank rank, std::optional<int> wait_status) {
    if (auto ended = bad_end_of(context_, rank, wait_status)) {
        ends_.push_back(*ended);
        if (!ends_timer_)
            ends_timer_ = context_.loop.after(bad_ends_together, [this] { report_ends(); });
    } else if (context_.tasks->finalized(rank)) {
        events_.note_normal_exit(rank, wait_status.has_value());
        report_normal_exits_soon();
    }
}

void ProcessEnds::report_ends() {
    ends_timer_.reset();
    if (ends_.empty())
        return;
    wire::HostReport report;
    report.host = context_.self();
    report.time = static_cast<std::uint64_t>(std::time(nullptr));
    report.processes = std::exchange(ends_, {});
    tell_others_(report);
    events_.report_ended(std::move(report.processes), report.time);
    pass_on_bad_ends_later();
}

void ProcessEnds::pass_on_bad_ends_later() {
    if (context_.ending) // there may be no later
        return events_.pass_on_bad_ends();
    if (passing_timer_ || !events_.gathers_bad_ends())
        return;
    passing_timer_ = context_.loop.after(bad_ends_together, [this] {
        passing_timer_.reset();
        events_.pass_on_bad_ends();
        pass_on_bad_ends_later();
    });
}

void ProcessEnds::report_all() {
    report_ends();
    events_.pass_on_bad_ends();
    report_normal_exits();
}

// A client that is there, or a tool. The library keeps no event of an end, so who comes later does not hear of it.
bool ProcessEnds::anyone_hears() const {
    const LocalTasks &tasks = *context_.tasks;
    auto here = context_.ranks_here();
    return std::any_of(
               here.begin(), here.end(),
               [&](Rank rank) { return tasks.connected(rank) && !tasks.finalized(rank) && !tasks.gone(rank); }) ||
           !tools_().empty();
}

void ProcessEnds::tell(const wire::HostReport &report) {
    for (auto &event : events_of(report, context_.step.map, context_.step.nspace, context_.live_on)) {
        to_library_.give(sizeof(pmix_info_t) * event.info->size(), [this, event](LibraryEvents::Done done) {
            context_.library->notify(event.code, event.source, event.range, event.info, std::move(done));
        });
    }
    if (report.processes.empty() || !anyone_hears())
        return;
    for (const auto &ended : report.processes) {
        to_library_.give(2 * sizeof(pmix_info_t) * 8, [this, ended, time = report.time](LibraryEvents::Done done) {
            tell_of_terminated({ended.rank}, ended, time, std::move(done));
        });
    }
}

void ProcessEnds::report_normal_exits_soon() {
    if (!normal_exits_timer_)
        normal_exits_timer_ = context_.loop.after(normal_exits_together, [this] { report_normal_exits(); });
}

void ProcessEnds::report_normal_exits() {
    normal_exits_timer_.reset();
    events_.tell_ends(static_cast<std::uint64_t>(std::time(nullptr)));
}

void ProcessEnds::tell(const wire::NormalExits &ends) {
    if (!anyone_hears())
        return;
    for (const auto &range : ends.ranks)
        terminated_.add(range.first, range.last);
    for (const auto &range : ends.uncertain)
        terminated_somehow_.add(range.first, range.last);
    terminated_time_ = ends.time;
    tell_of_terminated();
}

// One event at a time: there may be many, and the library keeps what it has not yet handed on.
void ProcessEnds::tell_of_terminated() {
    if (!context_.library || telling_of_terminated_ || (terminated_.empty() && terminated_somehow_.empty()))
        return;
    if (!anyone_hears()) { // any more
        terminated_ = terminated_somehow_ = {};
        return;
    }
    telling_of_terminated_ = true;
    wire::EndedProcess how;
    if (!terminated_.empty())
        how.exit_code = 0;
    auto ranks = (terminated_.empty() ? terminated_somehow_ : terminated_).take(most_processes_in_event);
    tell_of_terminated(ranks, how, terminated_time_, [this](pmix_status_t) {
        telling_of_terminated_ = false;
        tell_of_terminated();
    });
}

// There are two codes. libpmix 4.2.2 listens to the older one itself, in a process that has invited others to a
// group: it takes any process' end for a failed invitation, also when the group has long been built and what the
// listener works with is freed. Such processes do not get it; all others here do, tools too.
void ProcessEnds::tell_of_terminated(const std::vector<Rank> &ranks, const wire::EndedProcess &how, std::uint64_t time,
                                     LibraryEvents::Done done) {
    auto notify = [&](pmix_status_t code, const HostEvent &event, LibraryEvents::Done then) {
        context_.library->notify(code, event.source, event.range, event.info, std::move(then));
    };
    auto event = terminated_event(ranks, how, time, context_.step.map, context_.step.nspace);
    if (inviters_.empty()) {
        notify(PMIX_EVENT_PROC_TERMINATED, event, [](pmix_status_t) {});
        return notify(PMIX_PROC_TERMINATED, event, std::move(done));
    }
    notify(PMIX_EVENT_PROC_TERMINATED, event, std::move(done));
    std::vector<pmix_proc_t> others;
    for (Rank rank : context_.ranks_here()) {
        if (inviters_.contains(rank) || context_.tasks->gone(rank))
            continue;
        others.push_back(proc_of(context_.step.nspace, rank));
    }
    for (const Process &tool : tools_())
        others.push_back(proc_of(tool.nspace, tool.rank));
    if (others.empty())
        return;
    auto narrow = terminated_event(ranks, how, time, context_.step.map, context_.step.nspace);
    narrow.info->add_processes(PMIX_EVENT_CUSTOM_RANGE, others);
    narrow.range = PMIX_RANGE_CUSTOM;
    notify(PMIX_PROC_TERMINATED, narrow, [](pmix_status_t) {});
}

} // namespace pmixhost
