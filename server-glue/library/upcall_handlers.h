// Who takes which request of libpmix: filled by the services (StepService::take_asks) before the library starts, asked
// in the loop's thread for each request that comes. A request is a type of its capability's folder, all named ...Ask;
// nothing here knows one of them.
#pragma once

#include "server-glue/core/one_shot.h"
#include "server-glue/core/signature.h"

#include <pmix_common.h>

#include <map>
#include <mutex>
#include <typeindex>

namespace pmixhost {

class UpcallHandlers {
  public:
    // `take(ask)` has the duty to answer. One for each type; the last counts.
    template <typename Ask, typename Take> void on(Take take) {
        takers_[typeid(Ask)] = [take](void *ask) { take(std::move(*static_cast<Ask *>(ask))); };
    }
    // Is asked before who takes it, of each request that names its caller: may this one ask it? Another status than
    // PMIX_SUCCESS is the answer.
    using Gate = std::function<pmix_status_t(std::type_index ask, const Process &caller)>;
    void set_gate(Gate gate) { gate_ = std::move(gate); }
    // What nobody takes is answered NOT_SUPPORTED.
    template <typename Ask> void hand_on(Ask ask) {
        if constexpr (requires { ask.caller; }) {
            if (pmix_status_t verdict = gate_ ? gate_(typeid(Ask), ask.caller) : PMIX_SUCCESS; verdict != PMIX_SUCCESS)
                return refuse(ask.reply, verdict);
        }
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
    template <typename... Rest> static void refuse(OneShot<pmix_status_t, Rest...> &reply, pmix_status_t status) {
        reply(status, Rest()...);
    }

    Gate gate_;
    std::map<std::type_index, std::function<void(void *ask)>> takers_;
    std::mutex mutex_;
    std::map<std::type_index, std::shared_ptr<void>> states_;
};

} // namespace pmixhost
