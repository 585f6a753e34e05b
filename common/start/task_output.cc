// See task_output.h.
#include "common/start/task_output.h"

#include <fmt/format.h>

namespace pmixhost {

static std::string fill_in(std::string_view pattern, std::string_view nspace, std::uint32_t rank) {
    std::string out;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        std::string_view two = pattern.substr(i, 2);
        if (two != "%n" && two != "%r") {
            out += pattern[i];
            continue;
        }
        out += two == "%n" ? std::string(nspace) : std::to_string(rank);
        ++i;
    }
    return out;
}

std::string output_file(const TaskOutput &output, std::string_view nspace, std::uint32_t rank,
                        std::string_view channel) {
    switch (output.place) {
    case TaskOutput::Place::nowhere:
        break;
    case TaskOutput::Place::file:
        return fmt::format("{}.{}.{}.{}", output.path, nspace, rank, channel);
    case TaskOutput::Place::pattern:
        return fmt::format("{}.{}", fill_in(output.path, nspace, rank), channel);
    case TaskOutput::Place::directory:
        return fmt::format("{}/{}/rank.{}/{}", output.path, nspace, rank, channel);
    }
    return {};
}

} // namespace pmixhost
