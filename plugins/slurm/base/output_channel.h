// What slurmstepd's shim and pmixhostd say to each other about the tasks' output (shim/output_offer.h).
#pragma once

#include <string_view>

namespace pmixhost::slurm {

// One message each: the daemon wants the stream; the answer with its descriptor, or another one, which is the
// reason why there is none; the daemon has it.
inline constexpr std::string_view output_wanted = "o", output_granted = "o", output_taken = "t";

} // namespace pmixhost::slurm
