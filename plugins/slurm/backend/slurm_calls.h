// What this backend asks libslurm for, one function each. All of them block, for up to Slurm's message timeout and its
// repetitions, and so are called in threads that may wait, or by programs that have nothing else to do.
#pragma once

#include "common/base/result.h"
#include "plugins/slurm/backend/own_steps.h"

#include <cstdint>
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace pmixhost::slurm {

// slurm_init(): libslurm reads slurm.conf once per process. The others below call it themselves.
void initialise_slurm();

// Where no Slurm is configured, libslurm ends the process that asks it for anything: another process asks first.
// Fails (unreachable).
Result<void> find_slurm();

// Has slurmd on that node write the message to the socket of that path, as this process' user. Fails (not_found) where
// nobody listens there, and (unreachable).
Result<void> forward_to_node(const std::string &node, std::string address, const std::string &message);

// SIGKILL to the step of that number of each job. Slurm knows a step whose tasks have ended no longer: that is no
// error. Fails (unreachable) where one of them may still run: slurmctld has not answered, or its job is suspended; and
// (denied).
Result<void> kill_steps(const std::vector<std::uint32_t> &jobs, std::uint32_t step);
// `kill_one` gives Slurm's error number, or 0.
Result<void> kill_steps(const std::vector<std::uint32_t> &jobs, std::uint32_t step,
                        const std::function<int(std::uint32_t job)> &kill_one);

// The steps that are programs of srun (not batch, extern, interactive): of a job (of an array the one task that has its
// number), or of all jobs of all users. Fails (not_found) where there is no such job, and (unreachable).
Result<std::vector<RunningStep>> running_steps(std::uint32_t job);
Result<std::vector<StepOfJob>> all_running_steps();
// Those of a job whose hosts cannot be given back: with the interactive one. Fails likewise.
Result<std::vector<RunningStep>> steps_that_hold_hosts(std::uint32_t job);

// The running jobs of this process' user, and the suspended ones, whose processes are there too. Fails (unreachable).
Result<std::vector<OwnJob>> running_jobs();

// Whose the job is. Fails (not_found, unreachable).
Result<uid_t> owner_of(std::uint32_t job);

} // namespace pmixhost::slurm
