// The file that a report is written to: for the user alone, bounded, and one of a few that are kept.
// Named pmixhost-evidence-UID-HOST-STEP-TIME-PID.txt; in a directory that may be everybody's (/tmp).
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace pmixhost {

class EvidenceFile {
  public:
    static constexpr std::size_t max_bytes = 256u << 10;
    static constexpr std::size_t kept = 8; // of a user and host in a directory

    // Makes the file in the first of `directories` that takes it. Never follows a symbolic link, and never writes
    // over a file that is there.
    static Result<EvidenceFile> create(const std::vector<std::string> &directories, const std::string &host,
                                       const std::string &step, pid_t pid);
    const std::string &path() const { return path_; }
    // Text beyond max_bytes is dropped, and the file says so.
    void write(std::string_view text);
    // Removes the oldest files of this user and host beyond those that are kept.
    void remove_older() const;

  private:
    EvidenceFile(UniqueFd fd, std::string path, std::string prefix)
        : fd_(std::move(fd)), path_(std::move(path)), prefix_(std::move(prefix)) {}
    UniqueFd fd_;
    std::string path_, prefix_;
    std::size_t written_ = 0;
    bool full_ = false;
};

} // namespace pmixhost
