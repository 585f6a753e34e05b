// Which process of a spawned job failed first: PMIX_EVENT_JOB_END names it (standard, "Tracking the job lifecycle").
// The launcher tells of the job's end, and hosts of the job of their own processes; neither waits for the other, so
// the end of a job that has failed waits a moment here.
//
// Pure: what hosts say and time in, answers out.
#pragma once

#include "common/job/job_map.h"
#include "common/loop/event_loop.h"

#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace pmixhost {

struct FirstFailure {
    Rank rank = 0;
    std::int32_t exit_code = -1; // as a shell reports it; -1: nobody knows it
};

class FirstFailures {
  public:
    static constexpr Duration patience = std::chrono::seconds(1);
    // Once a host has spoken: others may have one that failed earlier, and be slower.
    static constexpr Duration others = std::chrono::milliseconds(300);
    static constexpr std::size_t most = 10'000; // jobs of which something is kept

    using Then = std::function<void(std::optional<FirstFailure>)>;

    // `time`: when, in microseconds of the epoch. The earliest counts, of whichever host that speaks in time.
    void note(TimePoint now, const std::string &nspace, std::uint64_t time, FirstFailure failure);
    // `then` is called once: `others` after something is known, after `patience` in any case. What was known of the
    // job is forgotten.
    void take(TimePoint now, const std::string &nspace, Then then);
    bool waits(const std::string &nspace) const;
    // The job has ended, and nobody asks.
    void forget(const std::string &nspace) { known_.erase(nspace); }
    TimePoint next_time() const;
    void on_time(TimePoint now);
    // Whoever waits gets what is known now.
    void finish();

  private:
    struct Known {
        std::uint64_t time;
        FirstFailure failure;
    };
    struct Waiting {
        std::string nspace;
        TimePoint until;
        Then then;
    };
    std::map<std::string, Known> known_;
    void tell(Waiting waiting);
    std::vector<Waiting> waiting_;
};

} // namespace pmixhost
