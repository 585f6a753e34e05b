// See job_life.h.
#include "server-glue/indirect/job_life.h"

#include "common/text/printable.h"
#include "server-glue/events/end_lines.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace pmixhost::indirect {

static std::uint64_t now() {
    return static_cast<std::uint64_t>(std::time(nullptr));
}

void JobLife::log(const std::string &what) {
    if (lines_left_ == 0)
        return;
    --lines_left_;
    port_.say(printable(nspace_) + what);
}

void JobLife::tell_job(std::uint8_t what) {
    wire::JobEvent news;
    news.nspace = nspace_;
    news.time = now();
    news.what = what;
    for (const auto &event : events_of(news))
        port_.tell(event);
}

void JobLife::allocated(const Allocated &allocation) {
    allocation_ = allocation;
    port_.tell(session_event(PMIX_EVENT_SESSION_START, allocation.id, {}, now(), allocation.nspace));
}

void JobLife::allocation_over() {
    if (auto over = std::exchange(allocation_, std::nullopt))
        port_.tell(session_event(PMIX_EVENT_SESSION_END, over->id, {}, now(), over->nspace));
}

void JobLife::started() {
    if (!nspace_.empty() && !std::exchange(told_start_, true))
        tell_job(wire::JobEvent::started);
}

void JobLife::running() {
    started();
    if (nspace_.empty() || std::exchange(told_launch_, true))
        return;
    if (wishes_.logs_start)
        log(": all of its processes run");
    tell_job(wire::JobEvent::running);
}

// Hosts may say anything: ranges are cut before they are processes one by one.
void JobLife::keep_new(HostEnds &ends) {
    std::erase_if(ends.bad, [this](const auto &one) {
        bool is_new = one.rank < processes_ && !ended_.contains(one.rank);
        if (is_new)
            ended_.add(one.rank, one.rank);
        return !is_new;
    });
    RankRanges well;
    for (const auto &range : ends.well) {
        if (range.first < processes_)
            well.add(range.first, std::min(range.last, processes_ - 1));
    }
    well.subtract(ended_);
    ended_.add_all(well);
    ends.well = well.take_all();
}

void JobLife::note_ends(HostEnds ends) {
    if (nspace_.empty())
        return;
    keep_new(ends);
    const std::pair time(ends.time, ends.index);
    auto failed = std::find_if(ends.bad.begin(), ends.bad.end(), [](const auto &one) { return one.exit_code != 0; });
    if (failed != ends.bad.end() && (!first_ || time < first_time_)) {
        first_ = FirstFailure{failed->rank, failed->exit_code};
        first_time_ = time;
    }
    if (wishes_.logs_all_ends || wishes_.logs_bad_ends) {
        for (const auto &line : end_lines(ends.bad, wishes_.logs_all_ends ? ends.well : decltype(ends.well)()))
            log(": " + line);
    }
    if (wishes_.tells_all_ends || wishes_.tells_bad_ends) {
        for (const auto &one : ends.bad)
            port_.tell(terminated_event({one.rank}, one, now(), ends.name, nspace_));
    }
    if (!wishes_.tells_all_ends)
        return;
    RankRanges well;
    for (const auto &range : ends.well)
        well.add(range.first, range.last);
    wire::EndedProcess in_order;
    in_order.exit_code = 0;
    while (!well.empty())
        port_.tell(terminated_event(well.take(most_processes_in_event), in_order, now(), ends.name, nspace_));
}

void JobLife::note_failure(FirstFailure failure) {
    if (!heard_)
        heard_ = failure;
}

void JobLife::ended(std::optional<int> exit_code) {
    if (nspace_.empty())
        return;
    auto first = exit_code == 0 ? std::nullopt : first_ ? first_ : heard_;
    if (!exit_code && first && first->exit_code >= 0)
        exit_code = first->exit_code;
    if (wishes_.logs_end)
        log(exit_code ? fmt::format(" has ended with exit code {}", *exit_code) : " has ended; nobody knows how");
    port_.tell(job_end_event(nspace_, exit_code, now(), first));
}

bool JobLife::passes(pmix_status_t code, const Bytes &source) const {
    return code != PMIX_EVENT_PROC_TERMINATED || source != nspace_ ||
           !(wishes_.tells_all_ends || wishes_.tells_bad_ends);
}

} // namespace pmixhost::indirect
