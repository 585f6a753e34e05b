// The part of StepServer that tells processes of each other's ends, whether or not all was in order.
#include "server-glue/step_server.h"

#include "server-glue/host_events.h"

#include <ctime>
#include <pmix.h>

namespace pmixhost {

// A job ends within some of these, and each is a message.
static constexpr auto orderly_ends_together = std::chrono::milliseconds(20);
// Processes in one event; each takes some 300 bytes.
static constexpr std::size_t max_in_event = 256;

void StepServer::note_orderly_end(Rank rank, bool certain) {
    events_.note_orderly_end(rank, certain);
    report_orderly_ends_soon();
}

void StepServer::report_orderly_ends_soon() {
    if (!orderly_ends_timer_)
        orderly_ends_timer_ =
            loop_.after(orderly_ends_together, [this] { report_orderly_ends(); });
}

void StepServer::report_orderly_ends() {
    orderly_ends_timer_.reset();
    events_.tell_ends(static_cast<std::uint64_t>(std::time(nullptr)));
}

void StepServer::deliver(const wire::OrderlyEnds &ends) {
    for (const auto &range : ends.ranks) {
        terminated_.add(range.first, range.last);
        heirs_.ended_in_order(range.first, range.last);
    }
    for (const auto &range : ends.uncertain) {
        terminated_somehow_.add(range.first, range.last);
        heirs_.ended_in_order(range.first, range.last);
    }
    terminated_time_ = ends.time;
    tell_session_of(ends);
    tell_of_terminated();
}

// One event at a time: there may be many, and the library keeps what it has not yet handed on.
void StepServer::tell_of_terminated() {
    if (!library_ || telling_of_terminated_ || (terminated_.empty() && terminated_somehow_.empty()))
        return;
    telling_of_terminated_ = true;
    wire::EndedProcess how;
    if (!terminated_.empty())
        how.exit_code = 0;
    auto ranks = (terminated_.empty() ? terminated_somehow_ : terminated_).take(max_in_event);
    tell_of_invited(ranks);
    tell_of_terminated(ranks, how, terminated_time_, [this](pmix_status_t) {
        telling_of_terminated_ = false;
        tell_of_terminated();
    });
}

// There are two codes. libpmix 4.2.2 listens to the older one itself, in a process that has invited others
// to a group: it takes any process' end for a failed invitation, also when the group has long been built
// and what the listener works with is freed. These do not get it.
void StepServer::tell_of_terminated(const std::vector<Rank> &ranks, const wire::EndedProcess &how,
                                    std::uint64_t time, PmixLibrary::Done done) {
    auto notify = [&](pmix_status_t code, const HostEvent &event, PmixLibrary::Done then) {
        library_->notify(code, event.source, event.range, event.info, std::move(then));
    };
    auto event = terminated_event(ranks, how, time, step_.map, step_.nspace);
    if (inviters_.empty()) {
        notify(PMIX_EVENT_PROC_TERMINATED, event, [](pmix_status_t) {});
        return notify(PMIX_PROC_TERMINATED, event, std::move(done));
    }
    notify(PMIX_EVENT_PROC_TERMINATED, event, std::move(done));
    std::vector<pmix_proc_t> others;
    for (Rank rank : step_.map.ranks_on(step_.self)) {
        if (inviters_.contains(rank) || tasks_.gone(rank))
            continue;
        pmix_proc_t &other = others.emplace_back();
        PMIX_LOAD_PROCID(&other, step_.nspace.c_str(), rank);
    }
    if (others.empty())
        return;
    auto narrow = terminated_event(ranks, how, time, step_.map, step_.nspace);
    narrow.info->add_processes(PMIX_EVENT_CUSTOM_RANGE, others);
    narrow.range = PMIX_RANGE_CUSTOM;
    notify(PMIX_PROC_TERMINATED, narrow, [](pmix_status_t) {});
}

} // namespace pmixhost
