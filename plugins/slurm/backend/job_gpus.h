// The GPUs of a job that has asked for so many in all (--gpus). A step that names none inherits that number, which a
// part of the job's hosts does not have: it could not be made.
#pragma once

#include "common/base/result.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace pmixhost::slurm {

using GpusByHost = std::map<std::string, std::uint32_t>;

// Empty where the job has not asked so: steps have what each of their hosts has. Fails (unreachable). Blocks.
Result<GpusByHost> gpus_of_job(std::uint32_t job);

// How many are in "gpu:a100:2(IDX:0-1),gpu:1(IDX:2),shard:4(...)", as Slurm says what a job has of a host.
std::uint32_t gpus_in(std::string_view generic_resources);

} // namespace pmixhost::slurm
