// The part of StepServer that answers PMIx_Query_info.
#include "server-glue/step_server.h"

#include "common/config_options.h"

#include <climits>
#include <pmix.h>
#include <unistd.h>

namespace pmixhost {

void StepServer::query(QueryAsk request) {
    queries_.query(loop_.now(), std::move(request));
    arm_timer();
}

static std::string executable_of(pid_t pid) {
    char path[PATH_MAX];
    ssize_t length = ::readlink(fmt::format("/proc/{}/exe", pid).c_str(), path, sizeof path);
    return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

std::vector<ProcessEntry> StepServer::local_processes() {
    std::vector<ProcessEntry> out;
    for (Rank rank : step_.map.ranks_on(step_.self)) {
        ProcessEntry &entry = out.emplace_back();
        entry.rank = rank;
        entry.pid = tasks_.watch().pid_of(rank);
        if (tasks_.gone(rank)) {
            entry.state = PMIX_PROC_STATE_TERMINATED;
        } else if (entry.pid == 0) {
            entry.state = PMIX_PROC_STATE_PREPPED;
        } else {
            entry.state = tasks_.connected(rank) && !tasks_.finalized(rank) ? PMIX_PROC_STATE_CONNECTED
                                                                            : PMIX_PROC_STATE_RUNNING;
            entry.executable = executable_of(entry.pid);
        }
    }
    return out;
}

void StepServer::gather_table(Duration timeout, ProcessTable::Done done) {
    table_.request(loop_.now(), timeout, std::move(done));
    arm_timer();
}

void StepServer::ask_rm(RmQuestion question, TimePoint deadline,
                        std::function<void(Result<RmAnswer>)> done) {
    backend_.ask(std::move(question), deadline, std::move(done));
}

void StepServer::unanswered(const std::string &key, pmix_status_t status, const std::string &why) {
    log_.info("a query for {} has no answer: {}{}{}", printable(key), PMIx_Error_string(status),
              why.empty() ? "" : ": ", why);
}

} // namespace pmixhost
