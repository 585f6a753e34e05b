// Lines that a person types, with history and completion where this is a terminal and libedit was there when this was
// built; plain lines else.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace pmixhost {

class LineEditor {
  public:
    struct Callbacks {
        // Other words for the last one of the line.
        std::function<std::vector<std::string>(const std::string &line)> complete;
        // A descriptor to look at while a line is waited for (-1: none), and what to do when it can be read; what that
        // writes to standard output is above the prompt.
        std::function<int()> other;
        std::function<void()> on_other;
        // Called each time that this long has passed while a line is waited for, also while it is typed.
        std::function<void()> on_time;
        std::chrono::milliseconds time{5000};
        // Whether the line is to be thrown away: Ctrl-C has come. Asked each time that `wake` can be read, too.
        std::function<bool()> interrupted;
        int wake =
            -1; // a descriptor that can be read when that has changed; -1: waits are cut short by the signal alone
        // Whether no line is wanted any more; what has been typed of it is thrown away. Asked behind each call of
        // `on_other`.
        std::function<bool()> over = [] { return false; };
    };
    explicit LineEditor(Callbacks callbacks);
    ~LineEditor();
    LineEditor(const LineEditor &) = delete;
    // Blocks. Nothing: the input has ended. Empty: such a line, or one that was thrown away (cut).
    std::optional<std::string> read(const std::string &prompt);
    bool cut() const { return cut_; } // nobody has said the line that was read last

  private:
    struct Terminal;
    std::optional<std::string> read_plain(const std::string &prompt);
    bool await_input(const std::function<void()> &on_other);
    Callbacks callbacks_;
    std::chrono::steady_clock::time_point timed_ = std::chrono::steady_clock::now(); // on_time was called
    std::string begun_;                                                              // of a plain line
    bool ended_ = false, cut_ = false;
    std::unique_ptr<Terminal> terminal_; // none: plain lines
};

} // namespace pmixhost
