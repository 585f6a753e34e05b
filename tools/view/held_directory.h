// A directory of a command for rendezvous files that are not for everybody. It goes with its owner; where that was
// killed, the next command of the same user removes it, when nobody holds it any more: whoever uses such a directory
// has a lock on it (flock(2)), which ends with its processes, and not with a number that another process may get.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>

namespace pmixhost {

class HeldDirectory {
  public:
    // None.
    HeldDirectory() = default;
    // NAME.XXXXXX, of mode 0700, in XDG_RUNTIME_DIR if there is one, where tools do not search, else in /tmp. Removes
    // what others of that NAME have left there. Fails as mkdtemp(3).
    static Result<HeldDirectory> make(const std::string &name);
    HeldDirectory(HeldDirectory &&other) noexcept;
    HeldDirectory &operator=(HeldDirectory &&other) noexcept;
    ~HeldDirectory();

    const std::string &path() const { return path_; }
    // A program that is executed from now on holds it as well, also beyond our end.
    void share();
    // At once; may be called again, where somebody may have been writing there.
    void remove() const;

  private:
    HeldDirectory(std::string path, UniqueFd lock) : path_(std::move(path)), lock_(std::move(lock)) {}
    std::string path_; // empty: none
    UniqueFd lock_;
};

} // namespace pmixhost
