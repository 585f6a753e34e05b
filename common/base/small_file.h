// Reads a file as a whole, of at most 1 MiB. Fails (limit) when the file is larger, and as system_error() says of
// open(2) and read(2). Any thread; does not wait for the writer of a FIFO.
#pragma once

#include "common/base/result.h"
#include "common/base/unique_fd.h"

#include <string>
#include <sys/stat.h>

namespace pmixhost {

Result<std::string> read_small_file(const std::string &path);
// Opens a regular file, for reading; `status` becomes what fstat(2) says. Fails (invalid) where it is none, and as
// system_error() says of open(2) and fstat(2), whose errno stays.
Result<UniqueFd> open_regular_file(const std::string &path, struct stat &status);
// Reads what is left in a descriptor, at most `max` bytes; fails as above. `path` is for the text of a failure.
Result<std::string> read_all(int fd, const std::string &path, std::size_t max);

} // namespace pmixhost
