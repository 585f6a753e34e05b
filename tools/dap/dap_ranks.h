// The ranks of a session of the Debug Adapter Protocol: what each does, its threads, and who still owes an answer.
// Pure.
#pragma once

#include "tools/debug/debug_lines.h"

#include <array>
#include <functional>
#include <map>
#include <set>

namespace pmixhost {

class DapRanks {
  public:
    enum class State : std::uint8_t { starting, stopped, running, gone, refused };
    using Answers = std::map<Rank, GdbEvent>; // of each rank that was asked; of one that is gone an error
    using Then = std::function<void(const Answers &)>;
    using Each = std::function<void(Rank, const GdbEvent &)>;

    explicit DapRanks(std::function<void(const ToHost &)> say) : say_(std::move(say)) {}
    void expect(const std::vector<Rank> &ranks);

    // Says it to the gdbs of these ranks; `then` is called when all have answered, at once where there are none. Fails
    // (limit) where it is too long; nothing is said then.
    // `each` hears each answer as it comes: before anything that this rank does later.
    Result<void> ask(const std::vector<Rank> &ranks, const std::string &command, GdbLanguage language, Then then,
                     Each each = nullptr);
    void interrupt(const std::vector<Rank> &ranks) { say_(DebugInterrupt{ranks}); }
    // From a host. What a rank did by itself is returned: it has stopped, has ended or is refused; what it only says
    // has the kind `done`.
    std::optional<RankEvent> on(const FromHost &said);
    // Nobody of them is heard of any more, but for those who have ended.
    std::vector<Rank> lose(const std::string &why);

    // Of those in `focus` (nothing: all), in order.
    std::vector<Rank> in(State state, const std::optional<std::vector<Rank>> &focus = std::nullopt) const;
    std::vector<Rank> alive(const std::optional<std::vector<Rank>> &focus = std::nullopt) const;
    bool is(Rank rank, State state) const;
    std::size_t count(State state) const { return counts_[static_cast<std::size_t>(state)]; }
    bool any_alive() const { return count(State::stopped) + count(State::running) > 0; }

    struct Thread {
        std::string number; // gdb's
        std::string name;
    };
    void set_threads(Rank rank, std::vector<Thread> threads);
    // At least one.
    std::vector<Thread> threads(Rank rank) const;
    // That has stopped last.
    std::string stopped_thread(Rank rank) const;
    // How the protocol names a thread: a number that does not change. Nothing: there is none of that number.
    int thread_id(Rank rank, const std::string &number) const;
    std::optional<std::pair<Rank, std::string>> thread_of(int id) const;

  private:
    struct One {
        State state = State::starting;
        int index = 0; // among the ranks
        std::string stopped = "1";
        std::vector<Thread> threads;
    };
    struct Question {
        std::set<Rank> open;
        Answers answers;
        Then then;
        Each each;
    };
    void become(One &one, State state);
    void answer(std::uint64_t id, Rank rank, GdbEvent event);
    void owes_nothing(Rank rank);

    std::function<void(const ToHost &)> say_;
    std::map<Rank, One> ranks_;
    std::array<std::size_t, 5> counts_{}; // of ranks, by their state
    std::vector<Rank> by_index_;
    std::map<std::uint64_t, Question> questions_;
    std::uint64_t next_id_ = GdbDialogue::attach_id + 1;
};

} // namespace pmixhost
