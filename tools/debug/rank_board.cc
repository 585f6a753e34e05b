// See rank_board.h.
#include "tools/debug/rank_board.h"

#include <algorithm>
#include <utility>

namespace pmixhost {

namespace {

const char *name_of_state(RankBoard::State state) {
    switch (state) {
    case RankBoard::State::starting:
        return "its debugger starts";
    case RankBoard::State::stopped:
        return "stopped";
    case RankBoard::State::running:
        return "running";
    case RankBoard::State::gone:
        return "ended, or let go";
    case RankBoard::State::refused:
        return "not debugged";
    }
    return "";
}

} // namespace

void RankBoard::on(const FromHost &said) {
    const auto *event = std::get_if<RankEvent>(&said);
    auto found = event ? ranks_.find(event->rank) : ranks_.end();
    if (!event || found == ranks_.end())
        return;
    One &one = found->second;
    const GdbEvent &what = event->event;
    if (event->refused) {
        one.state = State::refused;
        one.events += what.text;
    } else if (what.kind == GdbEvent::Kind::stopped) {
        one.state = State::stopped;
        one.events += what.text;
    } else if (what.kind == GdbEvent::Kind::gone) {
        one.state = State::gone;
        one.events += what.text;
    } else {
        if (what.kind == GdbEvent::Kind::runs) // also one that was late to say so
            one.state = State::running;
        if (what.kind == GdbEvent::Kind::runs && what.id == asked_ && asked_ != 0)
            let_run_.insert(event->rank);
        if (what.id == 0) {
            one.events += what.text;
            return;
        }
        auto answer = what.id == asked_ ? answers_.find(event->rank) : answers_.end();
        if (answer != answers_.end() && !answer->second)
            answer->second = what.text;
    }
    if (one.state != State::running)
        let_run_.erase(event->rank);
    if (one.state == State::refused || one.state == State::gone) {
        if (auto answer = answers_.find(event->rank); answer != answers_.end() && !answer->second)
            answer->second.emplace();
    }
}

void RankBoard::ask(std::uint64_t id, const std::vector<Rank> &ranks) {
    asked_ = id;
    answers_.clear();
    let_run_.clear();
    for (Rank rank : ranks)
        answers_[rank];
}

bool RankBoard::answered() const {
    return std::all_of(answers_.begin(), answers_.end(), [](const auto &one) { return one.second.has_value(); });
}

std::vector<Rank> RankBoard::unanswered() const {
    std::vector<Rank> out;
    for (const auto &[rank, text] : answers_) {
        if (!text)
            out.push_back(rank);
    }
    return out;
}

std::vector<RankText> RankBoard::take_answers() {
    std::vector<RankText> out;
    for (auto &[rank, text] : answers_) {
        if (text)
            out.push_back({rank, std::move(*text)});
    }
    answers_.clear();
    return out;
}

std::vector<RankText> RankBoard::take_events() {
    std::vector<RankText> out;
    for (auto &[rank, one] : ranks_) {
        if (!one.events.empty())
            out.push_back({rank, std::exchange(one.events, {})});
    }
    return out;
}

bool RankBoard::all_known() const {
    return in(State::starting) == 0;
}

std::vector<Rank> RankBoard::alive(const std::optional<std::vector<Rank>> &focus) const {
    std::vector<Rank> out;
    for (const auto &[rank, one] : ranks_) {
        if ((one.state == State::stopped || one.state == State::running) && is_among(focus, rank))
            out.push_back(rank);
    }
    return out;
}

std::vector<Rank> RankBoard::running(const std::optional<std::vector<Rank>> &focus) const {
    std::vector<Rank> out;
    for (const auto &[rank, one] : ranks_) {
        if (one.state == State::running && is_among(focus, rank))
            out.push_back(rank);
    }
    return out;
}

std::size_t RankBoard::in(State state) const {
    return static_cast<std::size_t>(
        std::count_if(ranks_.begin(), ranks_.end(), [state](const auto &one) { return one.second.state == state; }));
}

std::vector<RankText> RankBoard::states() const {
    std::vector<RankText> out;
    for (const auto &[rank, one] : ranks_)
        out.push_back({rank, name_of_state(one.state)});
    return out;
}

void RankBoard::give_up_starting(const std::string &why) {
    for (auto &[rank, one] : ranks_) {
        if (one.state == State::starting) {
            one.state = State::refused;
            one.events += why + "\n";
        }
    }
}

void RankBoard::lost(const std::string &why) {
    for (auto &[rank, one] : ranks_) {
        if (one.state != State::gone && one.state != State::refused) {
            one.state = State::gone;
            one.events += why + "\n";
        }
    }
    let_run_.clear();
    for (auto &[rank, text] : answers_) {
        if (!text)
            text.emplace();
    }
}

} // namespace pmixhost
