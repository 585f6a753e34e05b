// In the session: is there a step with that namespace? One that has not come to the session is called,
// and waited for a while. Pure: what it needs of its surroundings is given to it.
//
// Where the RM tells which steps there are, a name that is none of theirs is known at once to be nobody's. Where it
// does not (the local backend), those that could be asked for come by themselves, as soon as they start
// (RmRoles::calls_steps), and are waited for shortly.
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
        // Calls those that are not here (InvitationSource::call_steps). `done` may come at once.
        std::function<void(std::function<void(TimePoint now, CalledSteps)> done)> call_steps;
    };
    // Called once. `none`: the RM has told that there is no such step. `unknown`: it did not tell, or the step does not
    // come, or the time was up.
    enum class Where { here, none, unknown };
    using Found = std::function<void(Where where)>;

    explicit StepFinder(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

    // Looks for a step with that namespace. `found` is called at once where it is here.
    void find(TimePoint now, const Bytes &nspace, TimePoint deadline, Found found);
    // A step with that namespace has a connection now.
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
    void settle(std::map<Bytes, Search>::iterator search, Where where);

    Surroundings surroundings_;
    std::map<Bytes, Search> searches_;
    std::size_t waiting_ = 0;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace pmixhost
