// Tells the job's daemon of this host which processes the debuggers here take hold of: where they are killed in the
// moment in which one attaches, with all that could let go, the daemon does (common/rendezvous/debugger_door.h). A
// daemon that has no such door is told nothing. Any thread.
#pragma once

#include "common/base/unique_fd.h"

#include <mutex>
#include <set>
#include <string>
#include <sys/types.h>

namespace pmixhost {

class HoldNotice {
  public:
    // `rendezvous`: a file in the daemon's own directory, as ListedServer has it. Before all else, until one has such a
    // door: whether this one has.
    bool open(const std::string &rendezvous);
    // Before a debugger may stop it. Not for one that shall stay stopped when the debugger has gone. Said once. Where
    // the daemon does not come to read many of them this waits for it, once, for a second at most.
    void holds(pid_t process);
    // One could not be let go: over() does not say that all have been.
    void keeps();
    // All have been let go. Without this the end of this process, or object, has the daemon let them run on. Waits for
    // it a second at most, as above.
    void over();

  private:
    void say(const std::string &word);
    std::mutex lock_; // of all below
    UniqueFd door_;
    bool waits_ = true; // the daemon was not found deaf
    bool keeps_ = false;
    std::set<pid_t> told_;
};

} // namespace pmixhost
