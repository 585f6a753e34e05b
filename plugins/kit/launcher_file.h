// The file that a tool asks for which starts a launcher (PMIX_LAUNCHER_RNDZ_FILE in its environment; PMIx standard,
// "Tool initialization environmental variables"): it tells where the server of the launcher's job is. One of that name
// that is there already is no place to write to: it names a server that the launcher shall connect to. So nothing is
// ever replaced, by nobody: whoever reads the file connects to what it says.
#pragma once

#include "common/base/result.h"

#include <string>
#include <sys/types.h>

namespace pmixhost::kit {

// NAME of the variable. Tasks do not get it (the standard), since some are launchers themselves.
inline constexpr auto launcher_file_variable = "PMIX_LAUNCHER_RNDZ_FILE";

// A file that goes with this object, if it is still the one that was written.
class LauncherFile {
  public:
    // Readable for its user alone, and whole when it appears. Fails: invalid (no absolute path), exists, denied
    // (somebody else could replace it: its directory is neither the user's nor root's, or others may write there and
    // it is not sticky), and as open(2), write(2) and link(2) do.
    static Result<LauncherFile> write(const std::string &path, const std::string &text);
    LauncherFile() = default;
    LauncherFile(LauncherFile &&other) noexcept;
    LauncherFile &operator=(LauncherFile &&other) noexcept;
    ~LauncherFile() { remove(); }
    void remove();

  private:
    std::string path_; // empty: none
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

} // namespace pmixhost::kit
