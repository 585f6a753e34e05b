// Sees that libpmix is stuck, in the event loop: puts the questions that library_watchdog.h wants.
#pragma once

#include "server-glue/library/library_thread.h"
#include "server-glue/library/library_watchdog.h"

namespace pmixhost {

class LibraryWatch {
  public:
    // Puts a question; `answered` is to be called in any thread when it has come back.
    using Ask = std::function<void(LibraryThread &, std::function<void()> answered)>;
    // `timeout` of 0: does nothing. `on_stuck` is called once, in the loop's thread, with a line that says
    // for how long and what does not return.
    LibraryWatch(EventLoop &loop, LibraryThread &thread, Duration timeout, Ask ask,
                 std::function<void(std::string why)> on_stuck);
    LibraryWatch(const LibraryWatch &) = delete;

  private:
    void look();
    EventLoop &loop_;
    LibraryThread &thread_;
    const Duration timeout_;
    std::shared_ptr<LibraryWatchdog> dog_; // an answer may come later than the watch is there
    Ask ask_;
    std::function<void(std::string)> on_stuck_;
    EventLoop::Handle timer_;
};

// The line that on_stuck gets. `running` is the call that does not return; null: none.
std::string stuck_line(std::chrono::duration<double> timeout, const char *running);

} // namespace pmixhost
