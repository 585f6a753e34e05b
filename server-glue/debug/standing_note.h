// The line for the user whose job stands for a debugger that nobody has seen: whoever has left PMIXHOST_DEBUG_STOP in
// his environment, or debug.stop in a file, would look at an srun that does nothing. Pure.
#pragma once

#include "common/job/debug_stops.h"

namespace pmixhost {

// `ranks`: who stands there; `job`: as the RM's users call it. Names only what lets them go: `pmixhost resume` does so
// at the first instruction (SIGCONT), and nowhere else; `pmixhost debug --attach` leaves them as it has found them.
std::string standing_note(StopPlace place, const RankRanges &ranks, const std::string &job);

} // namespace pmixhost
