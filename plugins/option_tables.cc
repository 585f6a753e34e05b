// The sections of pmixhost.conf that are plugins' own, one line for each (common/config/config_options.h). Linked into
// libcommon: whatever reads the configuration knows them.
#include "plugins/slurm/options.h"

namespace pmixhost {

std::vector<Option> plugin_options() {
    std::vector<Option> all;
    for (auto table : {slurm::options()})
        all.insert(all.end(), table.begin(), table.end());
    return all;
}

} // namespace pmixhost
