// What is called between fork (common/process/bare_fork.h) and exec. Safe where a signal handler is.
#pragma once

namespace pmixhost::kit {

// Gives each signal its default action, and blocks none.
void reset_signals();

} // namespace pmixhost::kit
