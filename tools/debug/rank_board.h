// What `pmixhost debug` knows of each rank, and what they have said that nobody has shown yet. Pure.
#pragma once

#include "tools/debug/debug_lines.h"
#include "tools/debug/rank_answers.h"

#include <map>
#include <optional>
#include <set>

namespace pmixhost {

class RankBoard {
  public:
    enum class State : std::uint8_t { starting, stopped, running, gone, refused };

    explicit RankBoard(const std::vector<Rank> &expected) {
        for (Rank rank : expected)
            ranks_[rank];
    }
    // From a host; of ranks that nobody expects nothing is kept.
    void on(const FromHost &said);
    // What was said to these ranks with this id: answered() tells when all have answered, or cannot any more.
    void ask(std::uint64_t id, const std::vector<Rank> &ranks);
    bool answered() const;
    // Do ranks run that this has let run?
    bool some_run_by_it() const { return !let_run_.empty(); }
    std::vector<Rank> unanswered() const;
    // The answers, each once.
    std::vector<RankText> take_answers();
    // What ranks have said by themselves, in lines: that they have stopped or ended, or are refused; each once.
    std::vector<RankText> take_events();

    bool all_known() const; // none is starting
    // Those of `focus` (nothing: all) that a debugger looks at and that have not ended.
    std::vector<Rank> alive(const std::optional<std::vector<Rank>> &focus) const;
    std::vector<Rank> running(const std::optional<std::vector<Rank>> &focus) const;
    std::size_t in(State state) const;
    // A line for each state that there is.
    std::vector<RankText> states() const;
    // Whoever is still starting is refused with this text.
    void give_up_starting(const std::string &why);
    // The hosts' part has ended: so has all.
    void lost(const std::string &why);

  private:
    struct One {
        State state = State::starting;
        std::string events;
    };
    std::map<Rank, One> ranks_;
    std::uint64_t asked_ = 0;
    std::set<Rank> let_run_;                             // by what was asked, and have not stopped since
    std::map<Rank, std::optional<std::string>> answers_; // nothing: still to come
};

} // namespace pmixhost
