// What every program knows of each plugin, one line for each: the sections of pmixhost.conf that are its own
// (common/config/config_options.h), and the command that starts jobs (common/start/starter_command.h). Linked into
// libcommon.
#include "plugins/slurm/options.h"

namespace pmixhost {

std::vector<Option> plugin_options() {
    std::vector<Option> all;
    for (auto table : {slurm::options()})
        all.insert(all.end(), table.begin(), table.end());
    return all;
}

const std::vector<StarterCommand> &starter_commands() {
    static const std::vector<StarterCommand> all{slurm::starter_command()};
    return all;
}

} // namespace pmixhost
