// What looks after the things of pmixhost-indirect's first process when that is killed (SIGKILL, a crash): a process
// that does nothing but wait for its end. It removes the directory, in which libpmix has its files, too; and ends the
// launcher, of whose job processes might stand for ever, since the debugger does not reach it any more.
//
// Who kills both at once leaves the directory.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>

namespace pmixhost::indirect {

// With all that is in it, and nobody else's that has come under that name since it was removed: what is a user's in a
// directory such as /tmp no other one can put another in the place of.
void remove_own_directory(const std::string &path);

class Keeper {
  public:
    // Of the launcher, when this process ends without more words.
    enum class Launcher : char { ends = 'e', goes_on = 'g' };

    // Before there are threads. The process ends when this object, or the process that has it, does; the user's signals
    // it has to ignore already. `launcher`: a pidfd; may be empty. Until told otherwise the launcher ends (SIGTERM).
    // Fails as pipe2(2) and fork(2) do.
    static Result<Keeper> start(const std::string &directory, const UniqueFd &launcher);
    void when_killed(Launcher what);
    // A process that is forked from this one has to say so first: it is none that has it.
    void forget() { channel_.reset(); }

  private:
    explicit Keeper(UniqueFd channel) : channel_(std::move(channel)) {}
    UniqueFd channel_;
};

} // namespace pmixhost::indirect
