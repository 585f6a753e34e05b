// The start document's `local.` keys (contrib/doc/start-document.md) as values. The document comes
// from `pmixhost run`, but nothing in it is taken on trust.
#pragma once

#include "common/base/unique_fd.h"
#include "common/start/start_document.h"
#include "plugins/local/fault.h"
#include "server-glue/rm/rm_backend.h"

#include <optional>
#include <string>
#include <vector>

namespace pmixhost::local {

// One task of this host. The descriptors are this process's own, ready for the task.
struct TaskSpec {
    Rank rank = 0;
    std::vector<std::string> argv;
    UniqueFd in, out, err;
};

struct LocalStart {
    StepInfo step;
    UniqueFd control;
    std::vector<TaskSpec> tasks;
    std::vector<std::string> task_env; // NAME=VALUE
    std::string cwd;
    std::optional<std::uint64_t> open_files; // of who has called `pmixhost run`: its soft limit (RLIMIT_NOFILE)
    std::string directory;                   // the daemon's private one; may be empty
    std::vector<Fault> faults;               // of this host
};

// Takes over the descriptors that the document names, also when it fails; the control channel hears why.
Result<LocalStart> parse_local_start(const StartDocument &document);

// Variables by which a task knows its place without PMIx: PMIXHOST_RANK, PMIXHOST_SIZE,
// PMIXHOST_LOCAL_RANK, PMIXHOST_LOCAL_SIZE, PMIXHOST_HOST, PMIXHOST_HOST_INDEX.
std::vector<std::string> identity_variables(const StepInfo &step, Rank rank);

// Variables that MPI libraries want from a launcher, none of which knows this one. The tasks' own environment goes
// before these.
//
// Open MPI 4 connects to a PMIx server only when it knows the launcher; otherwise each task is a job of its own. Of
// the signs it knows, JSM's is the one that nothing else looks at. Open MPI names files in /dev/shm after the machine
// and the rank on the host, so tasks of two virtual hosts would share them; they get a directory of their virtual
// host instead.
std::vector<std::string> mpi_variables(const LocalStart &start);

} // namespace pmixhost::local
