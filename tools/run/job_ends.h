// How the tasks of a run begin and end: what there is to tell of it, in srun's words, and the exit code for the shell,
// which is srun's, too. Pure: what happens comes in, lines for the user and a code come out.
#pragma once

#include "common/job/job_map.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pmixhost {

// What a wait status means: "Exited with exit code 3", "Killed".
std::string describe_end(int wait_status);

class JobEnds {
  public:
    // Ranks are below the number of all that are placed; each is of one host.
    JobEnds(std::vector<std::string> hosts, const std::vector<std::vector<Rank>> &ranks_by_host);

    // Whatever a daemon says of a rank counts only where it is one of its host.
    bool is_of(HostIndex host, Rank rank) const { return rank < tasks_.size() && tasks_[rank].host == host; }
    void started(Rank rank);
    // Why a task does not begin, for the next report. Its end is told, too.
    void not_started(Rank rank, std::string why);
    // False: it has ended before, and nothing changes. `is_ordered`: the job is being ended, so that an end by a signal
    // is no news.
    bool ended(Rank rank, int wait_status, bool is_ordered);

    std::size_t left() const { return left_; } // that have not ended, whether they began or not
    bool any_left(HostIndex host) const { return hosts_[host].left > 0; }
    bool all_started(HostIndex host) const { return hosts_[host].started == hosts_[host].tasks; }
    bool none_started(HostIndex host) const { return hosts_[host].started == 0 && hosts_[host].tasks > 0; }

    // What has happened since the last report, a line for each way in which tasks of a host have ended, or why they
    // have not begun.
    std::vector<std::string> take_report();
    // How the tasks are now: "tasks 0-3: running".
    std::vector<std::string> states() const;

    // The code that counts, whatever the tasks' are: of an abort, say. The first one does; false: there is one already.
    bool decide(int code);
    // Without one it is that of the highest wait status, as in srun: 128 and the number for a signal.
    int exit_code() const;

  private:
    struct Task {
        HostIndex host = 0;
        bool started = false, ended = false;
    };
    struct Host {
        std::string name;
        std::size_t tasks = 0, started = 0, left = 0;
    };
    std::vector<Host> hosts_;
    std::vector<Task> tasks_;
    std::size_t left_ = 0;
    // Of the next report: tasks of a host that end together share a line.
    std::map<std::pair<HostIndex, int>, std::vector<Rank>> ends_; // by wait status
    std::map<std::pair<HostIndex, std::string>, std::vector<Rank>> not_started_;
    int highest_status_ = 0;
    std::optional<int> decided_;
};

} // namespace pmixhost
