// See parent_news.h.
#include "server-glue/events/parent_news.h"

#include "common/job/rank_ranges.h"
#include "common/start/spawn_channel.h"
#include "common/wire/spawn_messages.h"
#include "server-glue/events/host_events.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <pmix.h>
#include <utility>

namespace pmixhost {

ParentNews::ParentNews(StepContext &context, StepEvents &events)
    : StepService(context.services), context_(context), events_(events),
      // The start is the launch's (spawn/launch_outcome.h).
      wanted_(context.step.parent ? context.step.parent->tells & ~ParentWord::first_start : 0) {}

// Nothing is done again: who spawned this comes to the session before it has the answer, and may be gone by now.
void ParentNews::take_messages(StepMessages &messages) {
    messages.on<wire::ChildEndsTaken>(StepMessages::Peer::session, [this](HostIndex, const auto &taken, const auto &) {
        if (taken.status != PMIX_SUCCESS)
            context_.log.debug("who spawned this job is not told of ends: {}", PMIx_Error_string(taken.status));
    });
}

void ParentNews::on_process_gone(Rank rank, std::optional<int> wait_status) {
    if (wanted_ == 0)
        return;
    ++gone_;
    if (auto bad = bad_end_of(context_, rank, wait_status)) {
        if (bad_.empty())
            first_bad_ = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                                        std::chrono::system_clock::now().time_since_epoch())
                                                        .count());
        bad_.push_back(*bad);
    } else if (wanted_ & (ParentWord::all_ends | ParentWord::log_all)) {
        normal_exits_.push_back(rank);
    }
    if (gone_ == context_.ranks_here().size())
        return tell(); // this daemon is about to leave
    if (due_ == TimePoint::max() && (!bad_.empty() || !normal_exits_.empty()))
        due_ = context_.now() + together;
}

void ParentNews::on_time(TimePoint now) {
    if (now >= due_)
        tell();
}

void ParentNews::tell() {
    due_ = TimePoint::max();
    auto bad = std::exchange(bad_, {});
    auto well = std::exchange(normal_exits_, {});
    tell_host(bad, well);
    for (const auto &ended : bad) {
        if (wanted_ & (ParentWord::all_ends | ParentWord::bad_ends))
            tell_event({ended.rank}, ended);
    }
    wire::EndedProcess in_order;
    in_order.exit_code = 0;
    for (std::size_t first = 0; first < well.size() && (wanted_ & ParentWord::all_ends); first += max_in_event) {
        auto begin = well.begin() + static_cast<std::ptrdiff_t>(first);
        auto end = well.begin() + static_cast<std::ptrdiff_t>(std::min(first + max_in_event, well.size()));
        tell_event({begin, end}, in_order);
    }
}

// Where lines are wanted, all of them; else the first one that failed here, once.
void ParentNews::tell_host(const std::vector<wire::EndedProcess> &bad, const std::vector<Rank> &well) {
    bool logs_all = wanted_ & ParentWord::log_all, logs = logs_all || (wanted_ & ParentWord::log_bad);
    auto failed = std::find_if(bad.begin(), bad.end(), [](const auto &one) { return one.exit_code != 0; });
    bool names = (wanted_ & ParentWord::first_bad) && !said_first_ && failed != bad.end();
    wire::ChildEnds message;
    message.id = next_id_;
    message.nspace = context_.step.parent->nspace;
    message.host = context_.step.parent->host;
    message.time = first_bad_;
    message.logs = logs;
    if (logs)
        message.bad = bad;
    else if (names)
        message.bad = {*failed};
    RankRanges ranges;
    for (Rank rank : logs_all ? well : std::vector<Rank>())
        ranges.add(rank, rank);
    for (const auto &[first, last] : ranges.ranges())
        message.well.push_back({first, last});
    if (message.bad.empty() && message.well.empty())
        return;
    ++next_id_;
    said_first_ = said_first_ || failed != bad.end();
    if (!context_.send_to_session(message))
        context_.log.debug("the session cannot be reached: who spawned this job is not told of ends");
}

void ParentNews::tell_event(const std::vector<Rank> &ranks, const wire::EndedProcess &how) {
    auto event = terminated_event(ranks, how, static_cast<std::uint64_t>(std::time(nullptr)), context_.step.map,
                                  context_.step.nspace);
    auto message = cross_job_event(event);
    if (!message)
        return context_.log.warning("the end of processes cannot be told: {}", message.failure().text);
    message->nspaces = {context_.step.parent->nspace};
    events_.tell_job(std::move(*message));
}

} // namespace pmixhost
