// Makes of the start document what pmixhostd knows of a step under Slurm. No RPC is sent: what srun knew has to do,
// because thousands of hosts may start at once.
#pragma once

#include "common/config/settings.h"
#include "plugins/kit/starter_sender.h"
#include "plugins/slurm/base/step_name.h"
#include "server-glue/rm/rm_backend.h"

#include <optional>
#include <string>
#include <vector>

namespace pmixhost::slurm {

struct SlurmStep {
    StepInfo info;
    StepName name;                             // this host's own: trusted, from slurmstepd
    std::uint32_t leader_job = 0;              // by which the step's users know it
    std::vector<std::uint32_t> jobs;           // all jobs whose step of that number is ours, own first
    std::vector<std::string> node_of;          // Slurm's node name of each host of info.map
    std::optional<kit::StarterAddress> report; // absent: srun hears nothing
    Settings settings;
    std::string contacts;     // the directory in which contact sockets are made, on all hosts of the site
    std::string session_node; // where the allocation's session runs
    int lifeline_fd = -1;     // ends with slurmstepd; -1: none
    int output_fd = -1;       // plugins/slurm/shim/output_offer.h; -1: none
};

// Makes the descriptors close-on-exec. Fails (invalid, not_found) with a text that names the key, and (system) where a
// descriptor is not there.
Result<SlurmStep> read_start_document(const StartDocument &document, const Settings &settings);

// Expands Slurm's host list, in order. Fails (invalid, limit).
Result<std::vector<std::string>> expand_host_list(const std::string &text, std::size_t max);
// The hosts, each once, in the order that a step has which asks for --distribution=arbitrary with them as its host
// list.
Result<std::vector<std::string>> sorted_hosts(const std::vector<std::string> &host_of_rank);
// "4(x2),8" is 16; a text that cannot be read is 0.
std::uint32_t sum_of_cpus(std::string_view text);
// A host of several het components has a daemon, and thus an entry, for each: the first keeps its
// name, the others are "n1+1", "n1+2".
std::vector<std::string> distinct_names(const std::vector<std::string> &nodes);

} // namespace pmixhost::slurm
