// Will a program use PMIx? A guess from its file, by which the daemons of a step decide whether they start the PMIx
// library before the tasks (server-glue/daemon/library_holder.h). Only time depends on it, but with libpmix 4.2, whose
// clients do without a store that is made after they have begun.
#pragma once

#include "common/job/job_map.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pmixhost {

enum class PmixUse : std::uint8_t {
    cannot,     // it is linked with libc and a compiler's libraries alone, and neither loads one nor executes a program
    may_come,   // nothing is known of it, or it may load or execute what uses PMIx, as a script does
    is_expected // it names the PMIx library, or one that uses it
};
// A word for each, and the other way; what is no such word is nothing known.
std::string_view to_word(PmixUse use);
PmixUse pmix_use_of(std::string_view word);

// What execvp() would execute, with this PATH and working directory; empty: there is no such file.
std::string program_path(const std::string &name, std::string_view search_path, const std::string &directory);

// Of the programs' files, that for which most is expected. An empty path is not known. Reads at most the first MiB
// of each, where the names of libraries and functions stand, and at most 16 of them; may wait for a file system.
PmixUse look_at_programs(const std::vector<std::string> &paths);
// Likewise, of what these are, each of which is executed with this PATH and working directory.
PmixUse look_at_programs(const std::vector<App> &apps, std::string_view search_path, const std::string &directory);

} // namespace pmixhost
