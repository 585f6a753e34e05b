// In the session: is there a step with that namespace? One that has not come to the session is called,
// and waited for a while. Pure: what it needs of its surroundings is given to it.
//
// Where the RM tells which steps there are, a name that is none of theirs is known to be nobody's at once.
// Where it does not (the local backend), those that could be asked for come by themselves, as soon as
// they start (RmRoles::calls_steps), and are waited for shortly.
#pragma once

#include "common/base/bytes.h"
#include "common/loop/event_loop.h"
#include "server-glue/rm/invitation_stream.h"

#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace pmixhost {

class StepFinder {
  public:
    static constexpr std::size_t max_waiting = 100'000;
    static constexpr Duration grace = std::chrono::seconds(5);       // for who was called
    static constexpr Duration short_grace = std::chrono::seconds(2); // for who comes by itself

    struct Surroundings {
        std::function<bool(const Bytes &nspace)> here; // has a connection
        // InvitationSource::call_steps for those that are not here. `done` may come at once.
        std::function<void(std::function<void(TimePoint now, CalledSteps)> done)> call_steps;
    };
    // Once: now it is here, or there is none (or its time was up).
    using Found = std::function<void(bool here)>;

    explicit StepFinder(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

    // At once where it is here.
    void find(TimePoint now, const Bytes &nspace, TimePoint deadline, Found found);
    // That namespace has a connection.
    void heard(const Bytes &nspace);
    TimePoint next_time() const;
    void on_time(TimePoint now);

  private:
    struct Waiting {
        TimePoint deadline;
        Found found;
    };
    struct Search {
        bool calling = true;
        TimePoint patience;
        std::vector<Waiting> waiting;
    };
    void on_called(TimePoint now, const Bytes &nspace, const CalledSteps &called);
    void settle(std::map<Bytes, Search>::iterator search, bool here);

    Surroundings surroundings_;
    std::map<Bytes, Search> searches_;
    std::size_t waiting_ = 0;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace pmixhost
