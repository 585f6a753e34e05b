// See parent_news.h.
#include "server-glue/events/parent_news.h"

#include "common/job/rank_ranges.h"
#include "common/start/spawn_channel.h"
#include "common/wire/spawn_messages.h"
#include "server-glue/events/host_ends.h"
#include "server-glue/events/host_events.h"
#include "server-glue/rm/spawned_step.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <pmix.h>
#include <utility>

namespace pmixhost {

ParentNews::ParentNews(StepContext &context, StepEvents &events)
    : StepService(context.services), context_(context), events_(events),
      to_starter_(!context.step.parent && context.step.tells_ends != ToldEnds::none && context.backend.spawned_step()),
      // The start is the launch's (spawn/launch_outcome.h).
      wanted_(context.step.parent                        ? context.step.parent->tells & ~ParentWord::first_start
              : !to_starter_                             ? 0
              : context.step.tells_ends == ToldEnds::all ? ParentWord::all_ends
                                                         : ParentWord::bad_ends) {}

bool ParentNews::all_gone() const {
    return gone_ == context_.ranks_here().size();
}

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
    if (all_gone())
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
    if (to_starter_)
        return tell_starter(std::move(bad), well);
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

static std::vector<wire::RankRange> ranges_of(const std::vector<Rank> &ranks) {
    RankRanges ranges;
    for (Rank rank : ranks)
        ranges.add(rank, rank);
    return ranges.take_all();
}

void ParentNews::tell_starter(std::vector<wire::EndedProcess> bad, const std::vector<Rank> &well) {
    said_first_ = said_first_ || !bad.empty();
    if (!said_first_ && !(wanted_ & ParentWord::all_ends))
        return;
    auto [lines, left_out] =
        lines_of({context_.self(), context_.host_name(), first_bad_, 0, std::move(bad), ranges_of(well)});
    if (left_out > 0)
        context_.log.warning("too many processes have ended at once: of {} whoever started this job does not hear",
                             left_out);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool last = all_gone() && i + 1 == lines.size();
        context_.backend.spawned_step()->report_ends(std::move(lines[i]), last, [this](Result<void> told) {
            if (!told)
                context_.log.warning("whoever started this job does not hear of ends: {}", told.failure().text);
        });
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
    if (logs_all)
        message.well = ranges_of(well);
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
