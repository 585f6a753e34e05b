// What a debugger is told of the life of the job that its launcher has started, and the lines for the user that it has
// asked for (launch_wishes.h): its allocation where the launcher has made it, the start, the launch, ends of processes
// and the end. The lines are those of a spawned job (spawn/children_ends.h, daemon/launcher_server.h).
//
// Of a launcher without a program nothing is told: begin() is not called. Pure but for the time of day.
#pragma once

#include "common/job/rank_ranges.h"
#include "common/start/indirect_words.h"
#include "server-glue/events/host_ends.h"
#include "server-glue/events/host_events.h"
#include "server-glue/indirect/launch_wishes.h"

#include <functional>
#include <optional>
#include <utility>

namespace pmixhost::indirect {

class JobLife {
  public:
    struct Port {
        std::function<void(const HostEvent &event)> tell; // to the debugger
        std::function<void(std::string line)> say;        // to the user; without a newline
    };
    explicit JobLife(Port port) : port_(std::move(port)) {}

    void ask(const LifeWishes &wishes) { wishes_ = wishes; }
    // The launcher has its allocation, which it has asked for itself. Its end is told once.
    void allocated(const Allocated &allocation);
    void allocation_over();
    // The job has a name, and so many processes: of others nothing is taken.
    void begin(std::string nspace, std::uint32_t processes) {
        nspace_ = std::move(nspace);
        processes_ = processes;
    }
    void started(); // once
    void running(); // likewise
    // As the job's hosts tell it by way of the launcher, where told_ends() of the wishes is not none. Each process ends
    // once: what is told again is dropped.
    void note_ends(HostEnds ends);
    // A bad end was heard of over the job's server; the first one counts where hosts have told of none.
    void note_failure(FirstFailure failure);
    // `exit_code`: the launcher's. Nothing where nobody knows it: then it is that of who failed first.
    void ended(std::optional<int> exit_code);
    // Is an event from the job's server to be told? Not of an end of which the hosts tell (note_ends).
    bool passes(pmix_status_t code, const Bytes &source) const;

  private:
    void tell_job(std::uint8_t what);
    void keep_new(HostEnds &ends);
    void log(const std::string &what); // behind the job's name

    Port port_;
    LifeWishes wishes_;
    std::string nspace_;
    std::uint32_t processes_ = 0;
    RankRanges ended_; // as hosts have told
    std::optional<Allocated> allocation_;
    std::optional<FirstFailure> heard_, first_;          // over the server; of the hosts
    std::pair<std::uint64_t, std::uint32_t> first_time_; // of first_, with the index of its line
    bool told_start_ = false, told_launch_ = false;
    unsigned lines_left_ = 10'000;
};

} // namespace pmixhost::indirect
