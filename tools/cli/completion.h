// Scripts with which a shell completes the command lines of `pmixhost`, from the shapes of its commands. Pure.
#pragma once

#include "tools/cli/command_shape.h"

#include <optional>

namespace pmixhost {

// `shell`: bash, zsh or fish; others: nothing. The script asks `pmixhost completion --jobs` for the names of jobs.
std::optional<std::string> completion_script(const std::string &shell, const std::vector<CommandShape> &commands);

} // namespace pmixhost
