// The section [slurm] of pmixhost.conf. No part of Slurm: every program that reads the configuration knows it
// (plugins/option_tables.cc).
#pragma once

#include "common/config/config_options.h"

namespace pmixhost::slurm {

std::span<const Option> options();

} // namespace pmixhost::slurm
