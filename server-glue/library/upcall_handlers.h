// Who takes which request of libpmix, and what a tool must be allowed to do for it: filled by the services
// (StepService::take_asks) before the library starts, asked in the loop's thread for each request that comes. A request
// is a type of its capability's folder, all named ...Ask; nothing here knows one of them.
#pragma once

#include "common/policy/rule.h"
#include "server-glue/core/one_shot.h"
#include "server-glue/core/signature.h"

#include <pmix_common.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <typeindex>

namespace pmixhost {

// A request that says whose it is; this may be a tool, for which there are rules.
template <typename Ask>
concept NamesCaller = requires(Ask ask) {
    ask.caller;
};
template <typename Ask>
concept NamesNoCaller = !NamesCaller<Ask>;

class UpcallHandlers {
  public:
    // Whoever takes a type says which of these two it is. `take(ask)` has the duty to answer. One for each type; the
    // last counts.
    //
    // `needs`: without this a tool is answered NO_PERMISSIONS, and `take` does not hear of it. The least is observe,
    // without which no tool is let in (StepTools::may_come).
    template <NamesCaller Ask, typename Take> void on(policy::Action needs, Take take) {
        put<Ask>([this, needs, take](Ask ask) {
            if (gate_ && !gate_(ask.caller, needs))
                return refuse(ask.reply, PMIX_ERR_NO_PERMISSIONS);
            take(std::move(ask));
        });
    }
    // No rule is asked for here, since the request names no caller: it needs nothing (a query, a fence), has been
    // judged before (a pull), or `take` judges it by what it says (an event). One that names its caller cannot be taken
    // so.
    template <NamesNoCaller Ask, typename Take> void on_unjudged(Take take) { put<Ask>(std::move(take)); }

    // May this caller do that? Where there is no gate everybody may.
    using Gate = std::function<bool(const Process &caller, policy::Action needs)>;
    void set_gate(Gate gate) { gate_ = std::move(gate); }
    // What nobody takes is answered NOT_SUPPORTED, whoever asks.
    template <typename Ask> void hand_on(Ask ask) {
        if (auto taker = takers_.find(typeid(Ask)); taker != takers_.end())
            return taker->second(&ask);
        if constexpr (requires { ask.reply; })
            refuse(ask.reply, PMIX_ERR_NOT_SUPPORTED);
    }

    // What the upcalls of a capability remember, or share with who takes them: one of each type, made by whoever asks
    // first. Any thread; the type says who may touch it.
    template <typename State> std::shared_ptr<State> shared() {
        std::lock_guard lock(mutex_);
        auto &state = states_[typeid(State)];
        if (!state)
            state = std::make_shared<State>();
        return std::static_pointer_cast<State>(state);
    }

  private:
    template <typename Ask, typename Take> void put(Take take) {
        takers_[typeid(Ask)] = [take = std::move(take)](void *ask) { take(std::move(*static_cast<Ask *>(ask))); };
    }
    template <typename... Rest> static void refuse(OneShot<pmix_status_t, Rest...> &reply, pmix_status_t status) {
        reply(status, Rest()...);
    }

    Gate gate_;
    std::map<std::type_index, std::function<void(void *ask)>> takers_;
    std::mutex mutex_;
    std::map<std::type_index, std::shared_ptr<void>> states_;
};

} // namespace pmixhost
