// See step_control.h.
#include "server-glue/control/step_control.h"

#include "common/config/config_options.h"
#include "common/text/printable.h"
#include "server-glue/debug/release.h"
#include "server-glue/events/host_events.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <csignal>
#include <fmt/ranges.h>
#include <pmix.h>

namespace pmixhost {

StepControl::StepControl(StepContext &context, const GroupRegistry &groups, const CrossJobs &jobs,
                         const SpawnedJobs &spawned, StepEvents &events, std::function<bool(const Process &)> is_tool)
    : StepService(context.services), context_(context), groups_(groups), jobs_(jobs), spawned_(spawned),
      events_(events), is_tool_(std::move(is_tool)),
      control_(context, *this, context.step.nspace, context.step.map, context.self(), context.settings.transport_radix),
      cross_job_(context, *this, control_, context.step.nspace) {}

void StepControl::take_asks(UpcallHandlers &handlers) {
    handlers.on<JobControlAsk>(policy::Action::control, [this](JobControlAsk ask) { control(std::move(ask)); });
}

void StepControl::take_messages(StepMessages &messages) {
    using Peer = StepMessages::Peer;
    messages.on<wire::SignalRanks>(Peer::host, [this](HostIndex from, auto &&message, const auto &) {
        control_.on_request(context_.now(), from, std::move(message));
    });
    messages.on<wire::SignalReply>(
        Peer::host, [this](HostIndex from, const auto &message, const auto &) { control_.on_reply(from, message); });
    messages.on<wire::ControlPart>(Peer::session, [this](HostIndex, auto &&message, const auto &) {
        cross_job_.on_part(context_.now(), std::move(message));
    });
    messages.on<wire::ControlReply>(Peer::session, [this](HostIndex, const auto &message, const auto &) {
        cross_job_.on_reply(context_.now(), message);
    });
}

void StepControl::on_time(TimePoint now) {
    control_.on_time(now);
    cross_job_.on_time(now);
}

void StepControl::control(JobControlAsk request) {
    if (!request.unsupported.empty())
        context_.log.info("rank {} asked for a control operation that is not offered: {}{}", request.caller.rank,
                          printable(fmt::format("{}", fmt::join(request.unsupported, ", "))),
                          request.refused == PMIX_SUCCESS ? "; the others of its request are done" : "");
    if (request.refused != PMIX_SUCCESS)
        return request.reply(request.refused);
    auto targets = groups_.expand(std::move(request.targets));
    if (!targets)
        return request.reply(status_of(targets.failure()));
    request.targets = std::move(*targets);
    if (request.only_declares())
        return note_declaration(request);
    note_pauses(request);
    cross_job_.request(context_.now(), std::move(request));
}

void StepControl::note_pauses(JobControlAsk &request) {
    // Who names nobody means all jobs, or that of the caller.
    std::vector<Process> whole;
    if (request.everyone)
        whole = whole_jobs();
    else if (request.targets.empty() && request.caller.nspace == context_.step.nspace)
        whole = {{context_.step.nspace, 0, true}};
    auto resume = pauses_->note(request.caller, is_tool_(request.caller), whole.empty() ? request.targets : whole,
                                request.order.signals);
    if (!resume)
        return;
    if (request.everyone) // also who is not known here any more
        resume->targets.clear();
    auto reply = std::make_shared<StatusReply>(std::move(request.reply));
    request.reply = {[reply, pauses = pauses_, resume = std::move(*resume)](pmix_status_t status) {
                         if (status == PMIX_SUCCESS || status == PMIX_ERR_PARTIAL_SUCCESS) // the others had ended
                             pauses->went_on(resume);
                         (*reply)(status);
                     },
                     PMIX_ERROR};
}

// As far as they are known here: of others no debugger has daemons by way of this host.
std::vector<Process> StepControl::whole_jobs() const {
    std::set<Bytes> names{context_.step.nspace};
    names.insert(spawned_.running().begin(), spawned_.running().end());
    for (const auto &name : jobs_.jobs().names())
        names.insert(name);
    std::vector<Process> all;
    for (const Bytes &name : names)
        all.push_back({name, 0, true});
    return all;
}

void StepControl::on_event(pmix_status_t, const Process &, const InfoList &info) {
    if (auto processes = let_go_by(info.data(), info.size()))
        pauses_->go_on(*processes);
}

void StepControl::debugger_gone(const Process &tool, const Bytes &nspace) {
    JobControlAsk ask;
    ask.targets = pauses_->take(tool, nspace);
    if (ask.targets.empty())
        return;
    context_.log.info("the debugger {} has gone: what it has paused of {} goes on", printable(tool.nspace),
                      printable(nspace));
    if (context_.ending)
        return resume_without_answer(ask.targets);
    ask.caller = tool;
    ask.order.signals = {end_of_pause};
    ask.reply = {[this, nspace](pmix_status_t status) {
                     if (status != PMIX_SUCCESS && status != PMIX_ERR_NOT_FOUND) // it has ended
                         context_.log.warning("what a debugger has paused of {} may still stand: {}", printable(nspace),
                                              PMIx_Error_string(status));
                 },
                 PMIX_ERROR};
    cross_job_.request(context_.now(), std::move(ask));
}

// The session gives up what a host has asked for that leaves, and keeps its events.
void StepControl::resume_without_answer(const std::vector<Process> &targets) {
    auto event = pause_over_for(targets, {context_.step.server_nspace(), context_.self(), false});
    if (!event)
        return context_.log.warning("what a debugger has paused of {} may still stand: {}",
                                    printable(targets.front().nspace), event.failure().text);
    if (targets.front().nspace == context_.step.nspace)
        events_.tell_step(std::move(*event));
    else
        events_.tell_job(std::move(*event));
}

// No host need hear of it: an RM is told by the job's own options (srun --requeue).
void StepControl::note_declaration(JobControlAsk &request) {
    auto others = jobs_.jobs().names();
    for (const Process &target : request.targets) {
        bool known = target.nspace == context_.step.nspace
                         ? target.wildcard || context_.step.map.host_of(target.rank) != no_host
                         : spawned_.is_running(target.nspace) ||
                               std::find(others.begin(), others.end(), target.nspace) != others.end();
        if (!known)
            return request.reply(PMIX_ERR_NOT_FOUND);
    }
    context_.log.info("rank {} declares {}", request.caller.rank, fmt::join(request.declared, ", "));
    request.reply(PMIX_SUCCESS);
}

bool StepControl::signal_local(Rank rank, int signal) {
    // Whether it goes on at the end of a pause those know who are told of it: here it is only looked for.
    context_.tell_services([&](StepService &each) { each.on_signalling(rank, signal); });
    auto sent = context_.tasks->watch().signal(rank, signal == end_of_pause ? 0 : signal);
    if (!sent)
        context_.log.debug("{}", sent.failure().text);
    else
        context_.tell_services([&](StepService &each) { each.on_signalled(rank, signal); });
    return sent.ok();
}

// Sends it as if another namespace had done so: to every host that has a target, this one among them.
void StepControl::notify_checkpoint(const wire::ControlOrder &order, const wire::ControlTarget &target) {
    if (!context_.library) // which packs
        return context_.when_library([this, order, target] { notify_checkpoint(order, target); });
    auto event = checkpoint_event(order, target, context_.step.nspace);
    if (!event)
        return context_.log.warning("{}", event.failure().text);
    events_.tell_step(std::move(*event));
    bool own = order.nspace == context_.step.nspace && context_.step.map.host_of(order.rank) == context_.self();
    if (!own ||
        (!target.whole && std::find(target.ranks.begin(), target.ranks.end(), order.rank) == target.ranks.end()))
        return;
    // The library withholds from a process what comes in that process' own name.
    wire::ControlTarget caller;
    caller.ranks = {order.rank};
    auto to_caller = checkpoint_event(order, caller, context_.step.nspace);
    if (!to_caller)
        return context_.log.warning("{}", to_caller.failure().text);
    wire::EventNotice notice;
    notice.status = to_caller->status;
    notice.nspace = context_.step.server_nspace();
    notice.rank = context_.self();
    notice.range = to_caller->range;
    notice.info_count = to_caller->info_count;
    notice.info = std::move(to_caller->info);
    events_.deliver(notice);
}

void StepControl::end_job(std::string why, StatusReply reply) {
    context_.log.info("{}", why);
    auto shared = std::make_shared<StatusReply>(std::move(reply));
    context_.end_step({128 + SIGKILL, std::move(why)},
                      [shared](Result<void> ended) { (*shared)(ended ? PMIX_SUCCESS : PMIX_ERROR); });
}

} // namespace pmixhost
