// See task_lives.h.
#include "server-glue/tasks/task_lives.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

const TaskLives::State &TaskLives::of(Rank rank) const {
    static constexpr State unknown;
    auto found = states_.find(rank);
    return found == states_.end() ? unknown : found->second;
}

void TaskLives::has_started(Rank rank) {
    State &state = states_[rank];
    if (state.process != Process::expected)
        return;
    state.process = Process::started;
    ++started_;
}

void TaskLives::runs_program(Rank rank) {
    if (!std::exchange(states_[rank].runs, true))
        ++running_;
}

void TaskLives::has_ended(Rank rank, bool cut_off) {
    has_started(rank);
    State &state = states_[rank];
    state.process = Process::gone;
    state.cut_off = state.cut_off || cut_off;
}

void TaskLives::set_client(Rank rank, Client client) {
    State &state = states_[rank];
    finalized_ -= state.client == Client::finalized ? 1 : 0;
    finalized_ += client == Client::finalized ? 1 : 0;
    state.client = client;
}

void TaskLives::has_connected(Rank rank) {
    set_client(rank, Client::connected);
}

void TaskLives::has_finalized(Rank rank) {
    set_client(rank, Client::finalized);
}

bool TaskLives::any_ended_badly() const {
    return std::any_of(states_.begin(), states_.end(), [](const auto &entry) {
        const State &state = entry.second;
        return state.process == Process::gone && state.client == Client::connected && !state.cut_off;
    });
}

std::vector<Rank> TaskLives::take_absent() {
    bool anyone_connected = std::any_of(states_.begin(), states_.end(), [](const auto &entry) {
        const State &state = entry.second;
        return state.client != Client::none && state.process != Process::gone && !state.has_proxy;
    });
    std::vector<Rank> absent;
    if (!anyone_connected)
        return absent;
    for (auto &[rank, state] : states_) {
        if (state.process == Process::gone && state.client == Client::none && !std::exchange(state.has_proxy, true))
            absent.push_back(rank);
    }
    return absent;
}

} // namespace pmixhost
