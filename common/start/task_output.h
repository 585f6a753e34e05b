// Files for what a spawned process writes to its standard output and error (PMIX_IOF_OUTPUT_TO_FILE and kin): what was
// asked for, and which file that is for a process. The file is opened by the process itself, on its host and in its
// directory (server-glue/tasks/task_program.cc).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pmixhost {

struct TaskOutput {
    enum class Place {
        nowhere,   // where the resource manager takes it, as without a word
        file,      // PMIX_IOF_OUTPUT_TO_FILE: PATH.NAMESPACE.RANK.CHANNEL
        pattern,   // with PMIX_IOF_FILE_PATTERN: PATH.CHANNEL, where %n is the namespace and %r the rank
        directory, // PMIX_IOF_OUTPUT_TO_DIRECTORY: PATH/NAMESPACE/rank.RANK/CHANNEL
    };
    Place place = Place::nowhere;
    std::string path;
    bool only = false; // PMIX_IOF_FILE_ONLY: not also where it goes without a word
    bool operator==(const TaskOutput &) const = default;
};

// `channel`: "stdout" or "stderr". As the standard names them (chapter on tools, attributes of IO forwarding).
std::string output_file(const TaskOutput &output, std::string_view nspace, std::uint32_t rank,
                        std::string_view channel);

} // namespace pmixhost
