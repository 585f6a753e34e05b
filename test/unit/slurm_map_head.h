// What a task map of this pmixhost begins with (plugins/slurm/base/task_map.h), for tests that write one by hand.
#pragma once

#include "common/wire/wire_version.h"
#include "config.h"

#include <fmt/format.h>
#include <string>

namespace pmixhost::slurm {

inline std::string map_head() {
    return fmt::format("pmixhost2 version={} wire={:x}", PACKAGE_VERSION, wire::wire_version());
}

} // namespace pmixhost::slurm
