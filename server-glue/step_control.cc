// StepServer's share in PMIx_Job_control: what it means for the processes of this host and for the job.
#include "server-glue/step_server.h"

#include "common/config_options.h"
#include "server-glue/host_events.h"

#include <algorithm>
#include <csignal>
#include <fmt/ranges.h>

namespace pmixhost {

void StepServer::job_control(JobControlAsk request) {
    if (!request.unsupported.empty())
        log_.info("rank {} asked for a control operation that is not offered: {}{}", request.caller.rank,
                  printable(fmt::format("{}", fmt::join(request.unsupported, ", "))),
                  request.refused == PMIX_SUCCESS ? "; the others of its request are done" : "");
    if (request.refused != PMIX_SUCCESS)
        return request.reply(request.refused);
    auto targets = groups_.expand(std::move(request.targets));
    if (!targets)
        return request.reply(targets.failure().kind == ErrorKind::limit ? PMIX_ERR_OUT_OF_RESOURCE
                                                                        : PMIX_ERR_NOT_FOUND);
    request.targets = std::move(*targets);
    if (request.only_declares())
        return note_declaration(request);
    control_abroad_.request(loop_.now(), std::move(request));
    arm_timer();
}

// No host need hear of it: Slurm is told by the job's own options (--requeue, a partition's PreemptMode).
void StepServer::note_declaration(JobControlAsk &request) {
    auto others = foreign_.names();
    for (const Process &target : request.targets) {
        bool known = target.nspace == step_.nspace
                         ? target.wildcard || step_.map.host_of(target.rank) != no_host
                         : children_.contains(target.nspace) ||
                               std::find(others.begin(), others.end(), target.nspace) != others.end();
        if (!known)
            return request.reply(PMIX_ERR_NOT_FOUND);
    }
    log_.info("rank {} declares {}", request.caller.rank, fmt::join(request.declared, ", "));
    request.reply(PMIX_SUCCESS);
}

bool StepServer::signal_local(Rank rank, int signal) {
    auto sent = tasks_.watch().signal(rank, signal);
    if (!sent)
        log_.debug("{}", sent.failure().text);
    return sent.ok();
}

// As if another namespace had sent it: to every host that has a target, this one among them.
void StepServer::notify_checkpoint(const wire::ControlOrder &order, const wire::ControlTarget &target) {
    auto event = checkpoint_event(order, target, step_.nspace);
    if (!event)
        return log_.warning("{}", event.failure().text);
    events_.on_abroad(std::move(*event));
    watch_events();
    bool own = order.nspace == step_.nspace && step_.map.host_of(order.rank) == step_.self;
    if (!own || (!target.whole && std::find(target.ranks.begin(), target.ranks.end(), order.rank) == target.ranks.end()))
        return;
    // The library keeps from a process what comes in its own name.
    wire::ControlTarget caller;
    caller.ranks = {order.rank};
    auto to_caller = checkpoint_event(order, caller, step_.nspace);
    if (!to_caller)
        return log_.warning("{}", to_caller.failure().text);
    wire::EventNotice notice;
    notice.status = to_caller->status;
    notice.nspace = step_.nspace + ".server";
    notice.rank = step_.self;
    notice.range = to_caller->range;
    notice.info_count = to_caller->info_count;
    notice.info = std::move(to_caller->info);
    deliver(notice);
}

void StepServer::end_job(std::string why, StatusReply reply) {
    log_.info("{}", why);
    auto shared = std::make_shared<StatusReply>(std::move(reply));
    backend_.end_step({128 + SIGKILL, why}, [this, shared](Result<void> ended) {
        if (!ended)
            log_.error("the step could not be ended: {}", ended.failure().text);
        (*shared)(ended ? PMIX_SUCCESS : PMIX_ERROR);
    });
}

} // namespace pmixhost
