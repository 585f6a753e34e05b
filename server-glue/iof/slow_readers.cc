// See slow_readers.h.
#include "server-glue/iof/slow_readers.h"

#include "server-glue/iof/tool_pace.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace pmixhost {

bool SlowReaders::is_slow(const Reader &reader) {
    return reader.unsent > ToolPace::much_unsent;
}

// It has just been given some of what is kept, so it may be slow again for as long as that takes.
bool SlowReaders::is_waited_for(TimePoint now, State &state, const Reader &reader, bool each_alone) {
    if (!state.passed_over || !reader.is_far_behind) {
        state.waits_end = TimePoint::max();
        return false;
    }
    if (state.waits_end == TimePoint::max()) {
        if (is_slow(reader))
            return false;
        state.waits_end = now + (now < state.waits_known ? patience_again : patience);
        state.waits_known = now + forgotten;
    }
    if (each_alone)
        state.waits_end = std::min(state.waits_end, now + patience_again);
    return now < state.waits_end && (!is_slow(reader) || now - state.slow_since < patience_again);
}

SlowReaders::Look SlowReaders::look(TimePoint now, const std::vector<Reader> &readers, bool each_alone) {
    Look look;
    std::map<LibraryConnection, State> states;
    bool any_takes = false;
    for (const auto &reader : readers) {
        auto &state = states[reader.connection];
        if (auto known = states_.find(reader.connection); known != states_.end())
            state = known->second;
        const bool slow = is_slow(reader);
        if (!slow) {
            if (std::exchange(state.slow_since, TimePoint::max()) != TimePoint::max())
                state.taken_since = now;
        } else if (state.slow_since == TimePoint::max()) {
            state.slow_since = now;
            state.was_before = state.was_before && now - state.taken_since < forgotten;
        }
        if (state.passed_over && !slow && !reader.is_behind) {
            state.passed_over = false;
            look.back.push_back(reader.connection);
        } else if (state.passed_over && !slow) {
            look.takes.push_back(reader.connection);
        }
        any_takes = any_takes || (!slow && !reader.is_left && !state.passed_over);
    }
    states_ = std::move(states);
    for (const auto &reader : readers) {
        auto &state = states_[reader.connection];
        const auto limit = each_alone || state.was_before ? patience_again : patience;
        if ((any_takes || each_alone) && !state.passed_over && reader.may_be_passed_over &&
            state.slow_since != TimePoint::max() && now - state.slow_since >= limit) {
            state.passed_over = state.was_before = true;
            look.passed_over.push_back(reader.connection);
        }
    }
    auto takes_part = [this](const Reader &reader) {
        return !reader.is_left && !states_[reader.connection].passed_over;
    };
    const bool others_have_gone = !each_alone && std::none_of(readers.begin(), readers.end(), takes_part);
    for (const auto &reader : readers) {
        auto &state = states_[reader.connection];
        const bool is_last = others_have_gone && !reader.is_left;
        if (!state.passed_over || is_last)
            look.most_unsent = std::max(look.most_unsent, reader.unsent);
        const bool is_to_catch_up =
            state.passed_over && (is_last ? reader.is_behind && !is_slow(reader) : !reader.may_be_passed_over);
        if (is_waited_for(now, state, reader, each_alone) || is_to_catch_up)
            look.most_unsent = SIZE_MAX;
    }
    const bool begins = !look.passed_over.empty(), any_catches_up = !look.takes.empty();
    if (begins || any_catches_up || now >= next_) {
        pause_ = any_catches_up ? next_piece : begins ? first_look : std::min(2 * pause_, last_look);
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
