// A file as a whole, of at most 1 MiB.
#pragma once

#include "common/base/result.h"

#include <string>

namespace pmixhost {

Result<std::string> read_small_file(const std::string &path);
// What is left to read from a descriptor, at most `max` bytes. `path`: for what is said of a failure.
Result<std::string> read_all(int fd, const std::string &path, std::size_t max);

} // namespace pmixhost
