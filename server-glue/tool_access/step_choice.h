// Which of a user's steps a tool that names none is for, at a desk of the gate (desk/gate_desk.h): the only one that
// a pmixhost serves and that lets tools of this host in. Of several none is taken, since the wrong one would answer as
// readily as the right one.
//
// Steps are called to find out, a few at a time, until two serve: then none is taken, however many others do. Who has
// answered is not called again while it runs; who was not reached, or has refused, is when the steps are listed next.
// One that no pmixhost serves may only be starting, and is called again after a while (unserved_step.h). Nobody waits
// for one that did not answer before, where another one serves.
//
// Pure: the caller has the clock.
#pragma once

#include "common/base/result.h"
#include "common/loop/event_loop.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace pmixhost {

class StepChoice {
  public:
    static constexpr std::size_t most = 64;   // steps
    static constexpr std::size_t at_once = 8; // are called
    // Those that run now, and those of which tools are connected, which stay meanwhile. Returns those that have gone,
    // of which nothing more may come.
    std::vector<std::string> on_list(const std::vector<std::string> &running, const std::set<std::string> &busy,
                                     TimePoint now);
    // Whom to call now: each is to be answered by one of the next two, once.
    std::vector<std::string> to_call();
    // Those that serve beyond the two that show that there are several, and of which no tool is connected: nothing more
    // may come of them until they are called again.
    std::vector<std::string> surplus(const std::set<std::string> &busy);
    // Tools have waited for those that were called for as long as tools do.
    void on_late();
    void on_serving(const std::string &step);
    // Also of one that has served, and does no longer.
    void on_failure(const std::string &step, const Error &why, TimePoint now);

    // The step, or why there is none, for the user. Nothing: not all have answered.
    std::optional<Result<std::string>> choice() const;

  private:
    enum class State { listed, called, serving, failed };
    struct Step {
        State state = State::listed;
        Error why{};
        bool in_vain = false;  // it was called, and did not answer, or not as one that serves
        unsigned unserved = 0; // times, one after the other, that no pmixhost served it
        TimePoint next{};      // when that is asked again
    };
    std::vector<std::string> serving() const;

    std::map<std::string, Step> steps_;
    bool too_many_ = false;
};

} // namespace pmixhost
