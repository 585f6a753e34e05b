// A file as a whole, of at most 1 MiB.
#pragma once

#include "common/result.h"

#include <string>

namespace pmixhost {

Result<std::string> read_small_file(const std::string &path);

} // namespace pmixhost
