// PMIx_Spawn under Slurm: a plan becomes an srun that makes a step of its own in the allocation, next
// to what runs there already. Pure, but for the names of Slurm's errors.
#pragma once

#include "server-glue/rm/job_starter.h"

#include <map>
#include <string>
#include <vector>

namespace pmixhost::slurm {

struct SpawnContext {
    std::uint32_t job_id = 0;
    std::string srun;                 // absolute path
    std::string task_program;         // of pmixhost-task, the same on all hosts
    std::string output, error;        // --output and --error of the launcher's srun
    std::string container;            // its --container
    bool label = false;               // its --label
    std::vector<std::string> options; // those of child_options.h, each as srun's command line has it
    std::string secret;               // of its step, and so of its family; may be empty
    // Of each host, where the job has asked for so many in all (--gpus); else empty.
    std::map<std::string, std::uint32_t> gpus;
    std::vector<std::string> prefix;      // slurm.spawn_prefix, in words
    std::vector<std::string> environment; // the launcher's
};

// Fails (limit) where the description of the programs or the list of the hosts is too long.
Result<JobCommand> spawn_command(const SpawnPlan &plan, const SpawnContext &context);

// Does a variable of srun's environment suit another srun in the same allocation? One that describes or shapes a step
// does not.
bool belongs_to_the_job(std::string_view variable);

// What srun's words mean for the caller, when it made no step.
Error explain_srun(const std::string &said);

} // namespace pmixhost::slurm
