// The PMIx servers of this host that one's own tools can reach, as their rendezvous files tell: those of pmixhost's
// jobs, and of other launchers.
#pragma once

#include "common/rendezvous/rendezvous_files.h"

namespace pmixhost {

struct ListedServer {
    RendezvousServer server;
    std::string job;  // the namespace that it serves: its own, for servers of others
    std::string file; // that tells of it
};

// Where tools of this host look: PMIX_SYSTEM_TMPDIR or TMPDIR or /tmp. A task's PMIX_SYSTEM_TMPDIR is not looked at: it
// is the directory of the task's own server alone.
std::string rendezvous_root();

// Reads one file. Fails as opening it and parse_rendezvous() do.
Result<ListedServer> server_of_file(const std::string &file);

// Looks below `root`, in the caller's own directories and files only and at most four levels down. Sorted by job. A
// server whose process has ended is left out.
std::vector<ListedServer> servers_below(const std::string &root);

// Those that `name` means: a job's namespace, the server's, or what the resource manager's users call it: "12.0" for
// the step, "12" for any of the job. Where one is named exactly, only that one.
std::vector<ListedServer> servers_of(const std::vector<ListedServer> &servers, const std::string &name);

} // namespace pmixhost
