// What eu-stack of elfutils says ("eu-stack -m -s"), for hosts without gdb. Pure.
#pragma once

#include "tools/stacks/stack_frames.h"

#include <string_view>

namespace pmixhost {

// The threads in the order in which they are written; lines that are not understood are left out.
std::vector<ThreadStack> threads_of_eu_stack(std::string_view text);

} // namespace pmixhost
