// See job_end.h.
#include "server-glue/debug/job_end.h"

#include "server-glue/events/host_events.h"
#include "server-glue/events/process_ends.h"
#include "server-glue/library/pmix_library.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <ctime>
#include <pmix_common.h>

namespace pmixhost {

static Bytes debugged_by(const StepInfo &step) {
    return step.parent ? step.parent->debugs : Bytes();
}

JobEnd::JobEnd(StepContext &context, StepEvents &events)
    : StepService(context.services), context_(context), events_(events),
      debugged_(context, *this, debugged_by(context.step)) {}

void JobEnd::take_messages(StepMessages &messages) {
    using enum StepMessages::Peer;
    messages.on<wire::JobEndRequest>(session, [this](HostIndex, const auto &message, const auto &) {
        wire::JobEndReply refusal;
        refusal.id = message.id;
        refusal.status = message.nspace != context_.step.nspace ? PMIX_ERR_NOT_FOUND : PMIX_ERR_OUT_OF_RESOURCE;
        if (message.nspace != context_.step.nspace || waiting_.size() >= max_waiting) {
            context_.send_to_session(refusal);
            return;
        }
        waiting_.push_back(message.id);
        tell_if_over();
    });
    messages.on<wire::JobEndReply>(
        session, [this](HostIndex, const auto &message, const auto &) { debugged_.on_reply(context_.now(), message); });
}

// --- the end of this job ------------------------------------------------------------------------------------

void JobEnd::on_process_gone(Rank rank, std::optional<int> wait_status) {
    auto bad = bad_end_of(context_, rank, wait_status);
    note(rank, rank, bad ? bad->exit_code : 0);
    tell_if_over();
    auto here = context_.ranks_here();
    if (!waiting_.empty() && std::all_of(here.begin(), here.end(), [this](Rank r) { return ended_.contains(r); }))
        tell(PMIX_ERR_LOST_CONNECTION); // this daemon leaves
}

void JobEnd::on_bad_ends(const wire::HostReport &report) {
    for (const auto &ended : report.processes)
        note(ended.rank, ended.rank, ended.exit_code);
    if (report.lost != 0) {
        for (Rank rank : context_.step.map.ranks_on(report.host))
            note(rank, rank, -1);
    }
    tell_if_over();
}

void JobEnd::on_normal_exits(const wire::NormalExits &ends) {
    for (const auto *ranges : {&ends.ranks, &ends.uncertain}) {
        for (const auto &range : *ranges)
            note(range.first, range.last);
    }
    tell_if_over();
}

void JobEnd::note(Rank first, Rank last, std::int32_t exit_code) {
    ended_.add(first, last);
    if (exit_code_ == 0)
        exit_code_ = exit_code;
}

void JobEnd::tell_if_over() {
    if (waiting_.empty())
        return;
    RankRanges left;
    left.add(0, context_.step.map.rank_count() - 1);
    left.subtract(ended_);
    if (!left.empty())
        return;
    tell(PMIX_SUCCESS);
}

void JobEnd::tell(std::int32_t status) {
    for (std::uint64_t id : std::exchange(waiting_, {}))
        context_.send_to_session(wire::JobEndReply{id, status, exit_code_});
}

// --- the job that these processes debug ---------------------------------------------------------------------

void JobEnd::on_session_gone() {
    waiting_.clear(); // the next session asks again
    debugged_.on_session_gone(context_.now());
}

bool JobEnd::wants_event(pmix_status_t code, const Bytes &source) const {
    return code == PMIX_EVENT_JOB_END && context_.step.parent && source == context_.step.parent->debugs &&
           !source.empty();
}

// A host tells of jobs in the name of the job, not of a process.
void JobEnd::on_event(pmix_status_t, const Process &source, const InfoList &) {
    if (source.rank == PMIX_RANK_UNDEF)
        debugged_.on_end_told(context_.now());
}

void JobEnd::has_ended(std::optional<int> exit_code) {
    context_.log.info("{}, which is debugged here, has ended", context_.step.parent->debugs);
    HostEvent event =
        job_end_event(context_.step.parent->debugs, exit_code, static_cast<std::uint64_t>(std::time(nullptr)));
    events_.to_library().give(sizeof(pmix_info_t) * event.info->size(), [this, event](LibraryEvents::Done done) {
        context_.library->notify(event.code, event.source, event.range, event.info, std::move(done));
    });
}

void JobEnd::end_daemons() {
    context_.end_step({1, fmt::format("the job that these debugger daemons debug, {}, has ended, and they have not; "
                                      "they are ended",
                                      context_.step.parent->debugs)});
}

} // namespace pmixhost
