// The section [slurm] of pmixhost.conf, and the command that starts jobs. No part of Slurm: every program knows them
// (plugins/option_tables.cc).
#pragma once

#include "common/config/config_options.h"
#include "common/start/starter_command.h"

namespace pmixhost::slurm {

std::span<const Option> options();
StarterCommand starter_command();

} // namespace pmixhost::slurm
