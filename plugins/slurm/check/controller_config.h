// What Slurm's controller says of its configuration (`scontrol show config`), and what that means for pmixhost. Asked
// through the command and not the library, so that it also works beside a Slurm that pmixhost was not built for. Pure.
#pragma once

#include "common/check/finding.h"
#include "common/config/config.h"

#include <ctime>
#include <map>

namespace pmixhost::slurm {

struct ControllerConfig {
    std::map<std::string, std::string, std::less<>> values; // by Slurm's name, such as "PluginDir"
    std::time_t as_of = 0;                                  // the controller's time of the answer; 0: not told

    std::string operator[](std::string_view name) const; // empty: not told, or "(null)"
};

// `text`: what the command wrote, with TZ=UTC.
ControllerConfig parse_controller_config(std::string_view text);

std::vector<std::string> plugin_directories(const ControllerConfig &config);

// How tasks are tracked and bound, which plugin is the default, and what other settings mean for pmixhost.conf.
Findings findings_of_settings(const ControllerConfig &config, const Settings &settings);
// The difference between the controller's clock and this host's at the time of the answer.
Finding finding_of_clock(std::time_t controller, std::time_t here);

} // namespace pmixhost::slurm
