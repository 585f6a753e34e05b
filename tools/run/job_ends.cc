// See job_ends.h.
#include "tools/run/job_ends.h"

#include "common/process/exit_code.h"
#include "tools/run/layout.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <sys/wait.h>

namespace pmixhost {

static std::string named(std::vector<Rank> ranks) {
    std::sort(ranks.begin(), ranks.end());
    return fmt::format("{} {}", ranks.size() == 1 ? "task" : "tasks", rank_list(ranks));
}

std::string describe_end(int wait_status) {
    if (WIFEXITED(wait_status))
        return fmt::format("Exited with exit code {}", WEXITSTATUS(wait_status));
    const char *name = ::strsignal(WTERMSIG(wait_status));
    return fmt::format("{}{}", name ? name : "Signal", WCOREDUMP(wait_status) ? " (core dumped)" : "");
}

JobEnds::JobEnds(std::vector<std::string> hosts, const std::vector<std::vector<Rank>> &ranks_by_host) {
    for (const auto &ranks : ranks_by_host)
        left_ += ranks.size();
    tasks_.resize(left_);
    for (HostIndex host = 0; host < ranks_by_host.size(); ++host) {
        const auto &ranks = ranks_by_host[host];
        hosts_.push_back({std::move(hosts[host]), ranks.size(), 0, ranks.size()});
        for (Rank rank : ranks)
            tasks_[rank].host = host;
    }
}

void JobEnds::started(Rank rank) {
    if (!std::exchange(tasks_[rank].started, true))
        ++hosts_[tasks_[rank].host].started;
}

void JobEnds::not_started(Rank rank, std::string why) {
    not_started_[{tasks_[rank].host, std::move(why)}].push_back(rank);
}

bool JobEnds::ended(Rank rank, int wait_status, bool is_ordered) {
    Task &task = tasks_[rank];
    if (std::exchange(task.ended, true))
        return false;
    --hosts_[task.host].left;
    --left_;
    highest_status_ = std::max(highest_status_, wait_status);
    if (wait_status != 0 && !(is_ordered && WIFSIGNALED(wait_status)))
        ends_[{task.host, wait_status}].push_back(rank);
    return true;
}

std::vector<std::string> JobEnds::take_report() {
    std::vector<std::string> lines;
    for (auto &[what, ranks] : std::exchange(not_started_, {}))
        lines.push_back(fmt::format("error: {}: {}: {}", hosts_[what.first].name, named(ranks), what.second));
    for (auto &[what, ranks] : std::exchange(ends_, {}))
        lines.push_back(
            fmt::format("error: {}: {}: {}", hosts_[what.first].name, named(ranks), describe_end(what.second)));
    return lines;
}

std::vector<std::string> JobEnds::states() const {
    std::vector<Rank> starting, running, ended;
    for (Rank rank = 0; rank < tasks_.size(); ++rank) {
        const Task &task = tasks_[rank];
        (task.ended ? ended : task.started ? running : starting).push_back(rank);
    }
    std::vector<std::string> lines;
    for (const auto &[ranks, state] :
         {std::pair(&starting, "starting"), std::pair(&running, "running"), std::pair(&ended, "exited")}) {
        if (!ranks->empty())
            lines.push_back(fmt::format("{}: {}", named(*ranks), state));
    }
    return lines;
}

bool JobEnds::decide(int code) {
    if (decided_)
        return false;
    decided_ = code;
    return true;
}

int JobEnds::exit_code() const {
    return decided_.value_or(exit_code_of(highest_status_));
}

} // namespace pmixhost
