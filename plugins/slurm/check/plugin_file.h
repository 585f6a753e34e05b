// For which Slurm a plugin file was built, without loading it: only Slurm's own programs have what it needs.
#pragma once

#include "common/base/result.h"

#include <cstdint>

namespace pmixhost::slurm {

// The plugin_version of a shared object of this machine's kind: SLURM_VERSION_NUMBER of its build. Fails as
// open_regular_file() and read_all() do (limit: more than 64 MiB), and (invalid) where it is no such file.
Result<std::uint32_t> version_of_plugin(const std::string &path);

// "22.5.8" of 0x160508 and of "slurm-wlm 22.05.8-1": numbers without leading zeros, so that they can be compared.
// Empty where there is none.
std::string plain_version(std::uint32_t number);
std::string plain_version(std::string_view text);

} // namespace pmixhost::slurm
