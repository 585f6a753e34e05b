// All jobs of the user in the cluster: those that have a server on this host, and by desks, which live as long as this
// object, those of other hosts.
#pragma once

#include "tools/view/desk.h"
#include "tools/view/reach_plan.h"
#include "tools/view/stop_asking.h"

namespace pmixhost {

class AllJobs {
  public:
    // Desks that are opened at once.
    static constexpr std::size_t most_at_once = 8;

    struct Seen {
        std::vector<ListedServer> servers; // at least one of each job that is reached
        std::vector<std::string> complaints;
        std::string unserved; // see ReachPlan
    };
    // Asks the resource manager which steps run, and opens desks for those that are new and have no server among
    // `here`. Blocks: `patience` for the resource manager, and as much for each `most_at_once` new ones. The jobs of
    // this host are there in any case.
    Seen look(const std::vector<ListedServer> &here, std::chrono::seconds patience, const StopAsking &stop = {});
    // Has the way to that job ended since? Not for those of this host.
    bool has_ended(const ListedServer &server) const;

  private:
    void open(const std::vector<std::string> &steps, std::chrono::seconds patience, const StopAsking &stop);

    std::map<std::string, Desk> desks_; // by the step's name
    ReachPlan plan_;
};

} // namespace pmixhost
