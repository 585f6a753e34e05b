// See options.h.
#include "plugins/slurm/options.h"

namespace pmixhost::slurm {

// clang-format off
static constexpr Option table[] = {
    {.key = "slurm.srun", .member = OfPlugin{}, .path = Option::Path::program,
     .text = "The srun with which pmixhost starts steps of its own in a job's allocation: the "
             "session's daemon, and programs that a task spawns. Empty: the srun in "
             "/usr/local/bin, /usr/bin or /bin."},
};
// clang-format on

std::span<const Option> options() {
    return table;
}

} // namespace pmixhost::slurm
