// The section OPTIONS of pmixhost(1), from the shapes of the commands, so that the page has each option as the parser
// and `--help` do. The rest of the page is written by hand. Pure.
#pragma once

#include "tools/cli/command_shape.h"

namespace pmixhost {

std::string man_options_section(const std::vector<CommandShape> &commands);

} // namespace pmixhost
