// The way from a part of `pmixhost debug` on a host to the command that has brought it there: lines of ToHost come, and
// lines of FromHost go (debug_lines.h). It says when the part has to let all go: at the end of its input, when it is
// told so, when nothing was heard for longest_silence, and when nobody takes what is said. One thread.
#pragma once

#include "tools/debug/debug_lines.h"

#include <chrono>
#include <optional>
#include <string>

namespace pmixhost {

inline constexpr std::chrono::seconds longest_silence{60}; // of the command; it says every ten seconds that it is there

class CommandPipe {
  public:
    // Descriptors of the caller's; `out` does not block from then on. SIGPIPE has to be ignored.
    CommandPipe(int in, int out);

    // For poll(2): when there is something to read, take() it.
    int input() const { return in_; }
    // Reads what there is, once; blocks where there is nothing. The end of the input is an end, too.
    void take();
    // The next message that has come in full; nothing: none has, or it is over. What is no message is left out.
    std::optional<ToHost> next();
    // Ranks must not stand because nobody reads what is said of them: blocks until `text` is taken, but looks at the
    // input meanwhile, and when it is over waits for one second at most. What is said behind a text that was not taken
    // is lost.
    void say(const std::string &text);

    void end() { over_ = true; }
    bool is_over() const { return over_; }
    // The silence begins anew: who was busy elsewhere could hear nothing.
    void count_silence_anew() { heard_ = Clock::now(); }
    // To be asked now and then: it is over when the silence has been too long.
    void look_at_silence();

  private:
    using Clock = std::chrono::steady_clock;
    bool await_room();
    int in_, out_;
    Clock::time_point heard_ = Clock::now();
    std::string commands_; // what has come, and was not asked for yet
    bool over_ = false;
    bool unheard_ = false; // what is said is not taken any more
};

} // namespace pmixhost
