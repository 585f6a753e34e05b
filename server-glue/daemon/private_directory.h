// The daemon's directory: sockets and shared segments of one step on one host, for the user alone.
// Removed with its content at the end; where the daemon is killed, whoever started it removes it
// (an RM's plugin, `pmixhost run`), which is why the starter may choose the name.
#pragma once

#include "common/base/result.h"

#include <string>

namespace pmixhost {

class PrivateDirectory {
  public:
    // Makes `path`, mode 0700; fails if anything of that name exists.
    static Result<PrivateDirectory> create(const std::string &path);
    // Makes a directory of a fresh name in `base`.
    static Result<PrivateDirectory> create_in(const std::string &base);
    PrivateDirectory(PrivateDirectory &&other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    PrivateDirectory &operator=(PrivateDirectory &&) = delete;
    ~PrivateDirectory();
    // Removes it now rather than in the destructor. False: something of it is left.
    bool remove();
    const std::string &path() const { return path_; }

  private:
    explicit PrivateDirectory(std::string path) : path_(std::move(path)) {}
    std::string path_;
};

} // namespace pmixhost
