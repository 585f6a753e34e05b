// Texts for the standard output and error of this host's tasks (user_terminal.h), written in threads: such a descriptor
// may be a file on a server that does not answer. Of each task one after the other, in the order in which they came; a
// task whose text hangs gets no more until it hangs no longer, and holds up no other task's.
//
// In the loop's thread.
#pragma once

#include "common/loop/slow_calls.h"

#include <deque>
#include <map>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace pmixhost {

struct TaskText {
    int fd = 2; // or 1
    std::string text;
};

class TaskTexts {
  public:
    using Write = std::function<bool(pid_t pid, int fd, std::string_view text, Duration patience)>;
    static constexpr Duration patience = std::chrono::seconds(5);        // for what is written together
    static constexpr Duration reader_patience = std::chrono::seconds(1); // in the middle of a text
    static constexpr std::size_t max_bytes = 4u << 20;                   // that wait; more is refused
    // `write` is write_for(), but for tests. It is called in threads, and owns all that it uses.
    explicit TaskTexts(EventLoop &loop, Write write, Duration the_patience = patience);
    explicit TaskTexts(EventLoop &loop);

    // Writes them together; with `until_one_goes` those behind the first that goes are not tried. `done` comes once,
    // perhaps at once, with whether each that was tried has gone: where they take too long, none is said to have.
    using Done = std::function<void(std::vector<bool>)>;
    void write(pid_t pid, std::vector<TaskText> texts, bool until_one_goes, Done done);
    // Writes "pmixhost: <text>\n" to fd 2. `done` comes once, perhaps at once, whether it has gone or not.
    void say(pid_t pid, std::string_view text, std::function<void()> done);
    // Is something still to be written?
    bool any() const { return bytes_ > 0; }

  private:
    struct Waiting {
        std::vector<TaskText> texts;
        bool until_one_goes = false;
        Done done;
        std::size_t bytes = 0;
    };
    struct Task {
        std::deque<Waiting> waiting;
        bool is_waited_for = false; // the first of them is being written
        std::weak_ptr<void> call;   // that writes, also when nobody waits for it any more
    };
    void begin_next(pid_t pid);
    void on_written(pid_t pid, Result<std::vector<bool>> went);
    void fail_all(Task &task);

    EventLoop &loop_;
    const Write write_;
    const Duration patience_;
    std::map<pid_t, Task> tasks_; // with something that waits, or hangs
    std::size_t bytes_ = 0;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    SlowCalls calls_;
};

} // namespace pmixhost
