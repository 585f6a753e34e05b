// See options.h.
#include "plugins/slurm/options.h"

namespace pmixhost::slurm {

// clang-format off
static constexpr Option table[] = {
    {.key = "slurm.srun", .member = OfPlugin{}, .path = Option::Path::program,
     .text = "The srun with which pmixhost starts steps of its own in a job's allocation: the "
             "session's daemon, and programs that a task spawns. Empty: the srun in "
             "/usr/local/bin, /usr/bin or /bin."},
    {.key = "slurm.spawn_prefix", .member = OfPlugin{}, .user = true, .path = Option::Path::command,
     .text = "What is put before the command line of each program that PMIx_Spawn or MPI_Comm_spawn starts, so that "
             "the children of a program in a container come into one, too: \"apptainer exec /images/a.sif\", or a "
             "script that gets the program and its arguments. It is found by the PATH of the step outside of the "
             "container, begins in the directory that the spawn asks for if there is such a directory outside, and "
             "finds its name in PMIXHOST_SPAWN_DIRECTORY. Spawned programs that spawn have the same one. A step that was "
             "started with srun --container passes that on and mostly needs none."},
};
// clang-format on

std::span<const Option> options() {
    return table;
}

StarterCommand starter_command() {
    return {"srun",
            {"--mpi=pmixhost"},
            {{":", "a heterogeneous job is not started for this; next: start it, and --attach JOB"},
             {"--pty", "--pty takes the terminal, which is the prompt's; next: without it"}},
            // It leaves its input to what is spawned, and takes nothing from that: so says each spawned step of itself,
            // and where there are other steps this one. Of its own allocation a user may say --exclusive, and srun
            // takes not both.
            {"--input=none", "--job-name=pmixhost-launcher"},
            "SLURM_JOB_ID",
            {"--overlap", "--nodes=1", "--ntasks=1"},
            {"sleep", "infinity"},
            {"SLURM_LABELIO", "1"},
            // Of Slurm 22.05 to 26.05 (slurm_opt.c).
            "EHI::K::OQVXZhk::lsuv",
            {"async",
             "bcast",
             "compress",
             "consolidate-segments",
             "contiguous",
             "debugger-test",
             "disable-status",
             "exact",
             "exclusive",
             "external-launcher",
             "help",
             "hold",
             "immediate",
             "interactive",
             "kill-on-bad-exit",
             "label",
             "multi-prog",
             "nice",
             "no-allocate",
             "no-kill",
             "oom-kill-step",
             "overcommit",
             "overlap",
             "oversubscribe",
             "parsable",
             "preserve-env",
             "propagate",
             "pty",
             "quiet",
             "quit-on-interrupt",
             "reboot",
             "resv-ports",
             "send-libs",
             "share",
             "spread-job",
             "spread-segments",
             "stepmgr",
             "test-only",
             "unbuffered",
             "usage",
             "use-min-nodes",
             "verbose",
             "version",
             "wait-for-children",
             "whole",
             "x11"}};
}

} // namespace pmixhost::slurm
