// Reads a file as a whole, of at most 1 MiB. Fails (limit) when the file is larger, and as system_error() says of
// open(2) and read(2). Any thread; does not wait for the writer of a FIFO.
#pragma once

#include "common/base/result.h"

#include <string>

namespace pmixhost {

Result<std::string> read_small_file(const std::string &path);
// Reads what is left in a descriptor, at most `max` bytes; fails as above. `path` is for the text of a failure.
Result<std::string> read_all(int fd, const std::string &path, std::size_t max);

} // namespace pmixhost
