// See cpu_binding.h.
#include "plugins/slurm/shim/cpu_binding.h"

#include "common/text/take_until.h"

#include <utility>

namespace pmixhost::slurm {

std::string binding_policy(std::string_view task_plugins, std::string_view cpu_bind) {
    bool binds = false;
    while (!task_plugins.empty()) {
        std::string_view plugin = take_until(task_plugins, ',');
        if (plugin.starts_with("task/"))
            plugin.remove_prefix(5);
        if (plugin == "affinity")
            binds = true;
        else if (plugin != "none" && plugin != "cgroup" && !plugin.empty())
            return {}; // a site's own may do anything
    }
    if (!binds)
        return "none";
    constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"none", "none"}, {"threads", "hwthread"}, {"cores", "core"}, {"sockets", "package"}, {"ldoms", "numa"}};
    while (!cpu_bind.empty()) {
        std::string_view word = take_until(cpu_bind, ',');
        for (auto [slurms, ours] : words) {
            if (word == slurms)
                return std::string(ours);
        }
    }
    return {};
}

} // namespace pmixhost::slurm
