// See slow_readers.h.
#include "server-glue/iof/slow_readers.h"

#include "server-glue/iof/tool_pace.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

SlowReaders::Look SlowReaders::look(TimePoint now, const std::vector<Reader> &readers) {
    Look look;
    std::map<LibraryConnection, State> states;
    bool any_takes = false;
    for (const auto &reader : readers) {
        auto &state = states[reader.connection];
        if (auto known = states_.find(reader.connection); known != states_.end())
            state = known->second;
        const bool is_slow = reader.unsent > ToolPace::much_unsent;
        if (!is_slow) {
            if (std::exchange(state.slow_since, TimePoint::max()) != TimePoint::max())
                state.taken_since = now;
            any_takes = any_takes || !reader.is_left;
        } else if (state.slow_since == TimePoint::max()) {
            state.slow_since = now;
            state.was_before = state.was_before && now - state.taken_since < forgotten;
        }
        if (state.passed_over && (!is_slow || !reader.may_be_passed_over)) {
            state.passed_over = false;
            look.back.push_back(reader.connection);
        }
    }
    states_ = std::move(states);
    for (const auto &reader : readers) {
        auto &state = states_[reader.connection];
        const auto limit = state.was_before ? patience_again : patience;
        if (any_takes && !state.passed_over && reader.may_be_passed_over && state.slow_since != TimePoint::max() &&
            now - state.slow_since >= limit) {
            state.passed_over = state.was_before = true;
            look.passed_over.push_back(reader.connection);
        }
    }
    auto takes_part = [this](const Reader &reader) {
        return !reader.is_left && !states_[reader.connection].passed_over;
    };
    if (std::none_of(readers.begin(), readers.end(), takes_part)) { // the others have gone
        for (const auto &reader : readers) {
            if (!reader.is_left && std::exchange(states_[reader.connection].passed_over, false))
                look.back.push_back(reader.connection);
        }
    }
    for (const auto &reader : readers) {
        if (!states_[reader.connection].passed_over)
            look.most_unsent = std::max(look.most_unsent, reader.unsent);
    }
    const bool begins = !look.passed_over.empty();
    if (begins || now >= next_) {
        pause_ = begins ? first_look : std::min(2 * pause_, last_look);
        next_ = now + pause_;
    }
    if (std::none_of(states_.begin(), states_.end(), [](const auto &entry) { return entry.second.passed_over; }))
        next_ = TimePoint::max();
    return look;
}

bool SlowReaders::passes_over(const LibraryConnection &connection) const {
    auto found = states_.find(connection);
    return found != states_.end() && found->second.passed_over;
}

} // namespace pmixhost
