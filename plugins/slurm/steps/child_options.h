// Options of srun that are meant for all that runs in a job, and so for the steps that its processes spawn (PMIx_Spawn
// becomes an srun, spawn_command.h): those of the parent's srun, whether its command line or its environment has said
// them. Others describe one step alone, or are said by PMIx_Spawn.
#pragma once

namespace pmixhost::slurm {

inline constexpr const char *options_for_children[] = {"export", "kill-on-bad-exit", "no-kill",     "unbuffered",
                                                       "wait",   "propagate",        "task-prolog", "task-epilog"};

} // namespace pmixhost::slurm
