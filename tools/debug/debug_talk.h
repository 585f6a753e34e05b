// The conversation of `pmixhost debug`: what is typed goes to the gdbs of the ranks in the focus, and what they say is
// shown once for all who say it.
#pragma once

#include "tools/debug/debug_link.h"
#include "tools/debug/prompt_words.h"
#include "tools/debug/rank_board.h"
#include "tools/terminal/terminal.h"

#include <functional>

namespace pmixhost {

class DebugTalk {
  public:
    // Gives a line to the job, or ends its input.
    using GiveInput = std::function<Result<void>(const PromptInput &)>;
    // `interrupted`: takes what Ctrl-C has left; true once for each, and for ever when this is to end.
    DebugTalk(DebugLink &link, const std::vector<Rank> &ranks, std::function<bool()> interrupted, GiveInput give)
        : link_(link), board_(ranks), interrupted_(std::move(interrupted)), give_(std::move(give)), colours_(stdout) {}

    // Blocks until a debugger looks at each rank, or says why not; `patience` at most. How many are looked at.
    std::size_t begin(std::chrono::milliseconds patience);
    // What a line asks for, and what comes of it. False: it was `quit`. Blocks until the ranks have answered and, where
    // they run, until they have stopped or ended; Ctrl-C stops them.
    bool obey(const std::string &line);
    // Takes what has come, and shows it.
    void listen();
    // Tells the hosts that somebody is there, though nothing is typed; they let all go otherwise (longest_silence). To
    // be called every few seconds while a line is waited for.
    void stay() { hear(std::chrono::milliseconds(0)); }
    // What could stand in the place of the last word of the line; asks the lowest rank of the focus that has stopped.
    // Blocks for five seconds at most, and until Ctrl-C.
    std::vector<std::string> complete(const std::string &line);
    std::string prompt() const;
    int fd() const { return link_.fd(); }
    bool is_open() const { return link_.is_open(); }
    bool kills() const { return kills_; } // `quit kill`
    bool some_refused() const { return board_.in(RankBoard::State::refused) > 0; }

  private:
    void hear(std::chrono::milliseconds patience);
    void show_events();
    void say(const std::string &command, bool background);
    bool await_answers(const std::vector<Rank> &asked); // false: it was interrupted
    void await_stops(bool interrupted = false);
    void interrupt();
    std::string focus_text() const;

    DebugLink &link_;
    RankBoard board_;
    std::function<bool()> interrupted_;
    GiveInput give_;
    Colours colours_;
    std::optional<std::vector<Rank>> focus_;
    std::uint64_t next_id_ = GdbDialogue::attach_id + 1;
    bool kills_ = false;
};

} // namespace pmixhost
