// Shows a text by the user's pager (PAGER, else less), which searches and turns pages as its users expect.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string_view>
#include <sys/types.h>

namespace pmixhost {

class Pager {
  public:
    // The terminal is the pager's until it has ended: the caller neither reads nor writes there, and leaves interrupts,
    // which come to both, to it. Fails where it cannot be started.
    static Result<Pager> start(std::string_view text);
    Pager(Pager &&) = default;
    // One that has not ended is told to, and waited for, a second: it puts the terminal back as it found it.
    ~Pager();
    // Readable when it has ended; then end() takes it away.
    int fd() const { return process_.get(); }
    void end();

  private:
    Pager(pid_t pid, UniqueFd process) : pid_(pid), process_(std::move(process)) {}
    pid_t pid_;
    UniqueFd process_;
};

} // namespace pmixhost
