// See step_abort.h.
#include "server-glue/control/step_abort.h"

#include "common/text/printable.h"
#include "server-glue/events/host_events.h"
#include "server-glue/library/convert.h"
#include "server-glue/library/upcall_handlers.h"
#include "server-glue/step/step_messages.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fmt/ranges.h>
#include <pmix.h>

namespace pmixhost {

void StepAbort::take_asks(UpcallHandlers &handlers) {
    handlers.on<AbortAsk>(policy::Action::control, [this](AbortAsk ask) { abort(std::move(ask)); });
}

void StepAbort::take_messages(StepMessages &messages) {
    messages.on<wire::KillRanks>(StepMessages::Peer::host,
                                 [this](HostIndex, const auto &message, const auto &) { kill(message); });
}

void StepAbort::abort(AbortAsk request) {
    std::vector<Rank> ranks;
    bool whole = request.targets.empty();
    if (whole && request.caller.nspace != context_.step.nspace)
        return request.reply(PMIX_ERR_NOT_FOUND); // nobody named: all of the caller's job, and a tool has none
    auto targets = groups_.expand(std::move(request.targets));
    if (!targets)
        return request.reply(status_of(targets.failure()));
    request.targets = std::move(*targets);
    for (const auto &target : request.targets) {
        if (target.nspace != context_.step.nspace ||
            (!target.wildcard && target.rank >= context_.step.map.rank_count()))
            return request.reply(PMIX_ERR_NOT_FOUND);
        whole = whole || target.wildcard;
        ranks.push_back(target.rank);
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    if (!whole && ranks.size() < context_.step.map.rank_count())
        return abort_some(std::move(request), std::move(ranks));
    abort_all(std::move(request));
}

std::string StepAbort::name_of(const Process &caller) const {
    return caller.nspace == context_.step.nspace ? fmt::format("rank {}", caller.rank)
                                                 : fmt::format("the tool {}", printable(caller.nspace));
}

void StepAbort::abort_all(AbortAsk request) {
    std::string text =
        fmt::format("{} on {} called PMIx_Abort with status {}{}{}", name_of(request.caller), context_.host_name(),
                    request.status, request.message.empty() ? "" : ": ", request.message);
    context_.log.info("{}", text);
    auto reply = std::make_shared<StatusReply>(std::move(request.reply));
    if (!told_of_all_)
        tell(request, {});
    // An exit status has 8 bits; one that would look like success must not.
    int exit_status = request.status & 0xff;
    context_.end_step({exit_status == 0 ? 1 : exit_status, one_line(text)},
                      [reply](Result<void> ended) { (*reply)(ended ? PMIX_SUCCESS : PMIX_ERROR); });
}

// The user is told first: it may be the caller, by way of whom it is told, that is ended.
void StepAbort::abort_some(AbortAsk request, std::vector<Rank> ranks) {
    std::string text = fmt::format("{} on {} aborted rank{} {} with status {}{}{}", name_of(request.caller),
                                   context_.host_name(), ranks.size() == 1 ? "" : "s", fmt::join(ranks, ","),
                                   request.status, request.message.empty() ? "" : ": ", request.message);
    context_.log.info("{}", text);
    pid_t pid = request.caller.nspace == context_.step.nspace ? context_.tasks->watch().pid_of(request.caller.rank) : 0;
    auto held = std::make_shared<AbortAsk>(std::move(request));
    texts_.say(pid, text, [this, held, ranks = std::move(ranks)] { end(*held, ranks); });
}

void StepAbort::end(AbortAsk &request, const std::vector<Rank> &ranks) {
    tell(request, ranks);
    // The answer first: the caller may be among those it lists.
    request.reply(PMIX_SUCCESS);
    std::map<HostIndex, wire::KillRanks> by_host;
    for (Rank rank : ranks) {
        auto &message = by_host[context_.step.map.host_of(rank)];
        message.nspace = context_.step.nspace;
        message.signal = SIGKILL;
        message.ranks.push_back(rank);
    }
    for (const auto &[host, message] : by_host) {
        if (host == context_.self())
            kill(message);
        else if (context_.send(host, message))
            ordered_.insert(host);
    }
}

bool StepAbort::has_unsent() {
    return std::any_of(ordered_.begin(), ordered_.end(), [this](HostIndex host) {
        return !context_.mesh->gone(host) && context_.mesh->queued_bytes(host) > 0;
    });
}

void StepAbort::tell(const AbortAsk &request, const std::vector<Rank> &ranks) {
    bool ends_job = std::any_of(ranks.begin(), ranks.end(), [this](Rank rank) {
        return context_.is_end_of_job({rank, PMIX_ERR_PROC_ABORTED, PMIX_ERR_PROC_ABORTED_BY_SIG, 128 + SIGKILL, 0});
    });
    auto events = abort_events({request.caller, ranks, ends_job, request.status, request.message, context_.host_name(),
                                static_cast<std::uint64_t>(std::time(nullptr))},
                               context_.step.nspace);
    for (const auto &event : events) {
        if (auto message = cross_job_event(event))
            events_.tell_step(std::move(*message));
        else
            context_.log.warning("{}", message.failure().text);
    }
}

bool StepAbort::wants_event(pmix_status_t code, const Bytes &nspace) const {
    return code == PMIX_ERR_PROC_REQUESTED_ABORT && nspace == context_.step.nspace;
}

void StepAbort::on_event(pmix_status_t, const Process &, const InfoList &info) {
    const auto all = info.all();
    told_of_all_ |= std::any_of(all.begin(), all.end(), [](const pmix_info_t &each) {
        return PMIX_CHECK_KEY(&each, PMIX_EVENT_AFFECTED_PROC) && each.value.type == PMIX_PROC &&
               each.value.data.proc->rank == PMIX_RANK_WILDCARD;
    });
}

void StepAbort::kill(const wire::KillRanks &message) {
    if (message.nspace != context_.step.nspace || message.signal <= 0 || message.signal >= NSIG)
        return context_.log.warning("a request to signal processes of {} was dropped", one_line(message.nspace));
    for (Rank rank : message.ranks) {
        if (auto sent = context_.tasks->watch().signal(rank, message.signal); !sent)
            context_.log.debug("{}", sent.failure().text);
    }
}

} // namespace pmixhost
