// StepServer as the daemon of a step that PMIx_Spawn made: whether its programs run, and why not.
#include "server-glue/step_server.h"

#include "server-glue/user_terminal.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fmt/ranges.h>
#include <pmix.h>

namespace pmixhost {

void StepServer::on_launched() {
    backend_.report_launch({}, [this](Result<void> told) {
        if (!told)
            log_.warning("whoever spawned this job does not hear that it runs: {}", told.failure().text);
    });
}

static int launch_status(const TaskStartFailure &failure) {
    if (failure.error_number == EACCES || failure.error_number == EPERM)
        return failure.stage == 'p' ? PMIX_ERR_JOB_APP_NOT_EXECUTABLE : PMIX_ERR_NO_PERMISSIONS;
    bool absent = failure.error_number == ENOENT || failure.error_number == ENOTDIR;
    if (failure.stage == 'd')
        return absent ? PMIX_ERR_JOB_WDIR_NOT_FOUND : PMIX_ERR_JOB_FAILED_TO_LAUNCH;
    if (failure.stage == 'p')
        return absent ? PMIX_ERR_JOB_EXE_NOT_FOUND : PMIX_ERR_JOB_APP_NOT_EXECUTABLE;
    return PMIX_ERR_JOB_FAILED_TO_LAUNCH;
}

void StepServer::on_launch_failed(const TaskStartFailure &failure, UniqueFd task) {
    unstarted_.push_back(std::move(task)); // until the RM has ended it, so that the report goes out first
    if (unstarted_.size() > 1)
        return;
    std::string text = fmt::format("{}: {}", step_.map.hosts()[step_.self], printable(failure.text));
    log_.info("{}", text);
    int code = failure.error_number > 0 && failure.error_number < 128 ? failure.error_number : 1;
    backend_.report_launch({launch_status(failure), text}, [this, code, text](Result<void>) {
        backend_.end_step({code, text}, [this](Result<void>) { unstarted_.clear(); });
    });
}

void StepServer::abort(AbortRequest request) {
    std::vector<Rank> ranks;
    bool whole = request.targets.empty();
    auto targets = groups_.expand(std::move(request.targets));
    if (!targets)
        return request.reply(targets.failure().kind == ErrorKind::limit ? PMIX_ERR_OUT_OF_RESOURCE
                                                                        : PMIX_ERR_NOT_FOUND);
    request.targets = std::move(*targets);
    for (const auto &target : request.targets) {
        if (target.nspace != step_.nspace ||
            (!target.wildcard && target.rank >= step_.map.rank_count()))
            return request.reply(PMIX_ERR_NOT_FOUND);
        whole = whole || target.wildcard;
        ranks.push_back(target.rank);
    }
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    if (!whole && ranks.size() < step_.map.rank_count())
        return abort_some(request, ranks);

    std::string text = fmt::format("rank {} on {} called PMIx_Abort with status {}{}{}",
                                   request.caller.rank, step_.map.hosts()[step_.self], request.status,
                                   request.message.empty() ? "" : ": ", request.message);
    log_.info("{}", text);
    auto reply = std::make_shared<StatusReply>(std::move(request.reply));
    // An exit status has 8 bits; one that would look like success must not.
    int exit_status = request.status & 0xff;
    backend_.end_step({exit_status == 0 ? 1 : exit_status, printable(text)},
                      [this, reply](Result<void> ended) {
                          if (!ended)
                              log_.error("the step could not be ended: {}", ended.failure().text);
                          (*reply)(ended ? PMIX_SUCCESS : PMIX_ERROR);
                      });
}

void StepServer::abort_some(AbortRequest &request, const std::vector<Rank> &ranks) {
    std::string text =
        fmt::format("rank {} on {} aborted rank{} {} with status {}{}{}", request.caller.rank,
                    step_.map.hosts()[step_.self], ranks.size() == 1 ? "" : "s", fmt::join(ranks, ","),
                    request.status, request.message.empty() ? "" : ": ", request.message);
    log_.info("{}", text);
    if (pid_t pid = tasks_.watch().pid_of(request.caller.rank))
        say_on_terminal(pid, text);
    // The answer first: the caller may be among those it lists.
    request.reply(PMIX_SUCCESS);
    std::map<HostIndex, wire::KillRanks> by_host;
    for (Rank rank : ranks) {
        auto &message = by_host[step_.map.host_of(rank)];
        message.nspace = step_.nspace;
        message.signal = SIGKILL;
        message.ranks.push_back(rank);
    }
    for (const auto &[host, message] : by_host) {
        if (host == step_.self)
            kill_ranks(message);
        else
            send(host, wire::KillRanks::type, share(wire::encode(message)));
    }
}

void StepServer::kill_ranks(const wire::KillRanks &message) {
    if (message.nspace != step_.nspace || message.signal <= 0 || message.signal >= NSIG)
        return log_.warning("a request to signal processes of {} was dropped", printable(message.nspace));
    for (Rank rank : message.ranks) {
        if (auto sent = tasks_.watch().signal(rank, message.signal); !sent)
            log_.debug("{}", sent.failure().text);
    }
}

} // namespace pmixhost
