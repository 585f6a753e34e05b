// The directory in which the contact sockets of daemons are on sites where jobs do not see the hosts' /tmp
// (job_container/tmpfs; jobs_have_namespaces of slurm_abi.h).
#pragma once

#include "common/base/result.h"

#include <string>

namespace pmixhost::slurm {

inline constexpr auto contacts_directory = "/run/pmixhost";

// Makes it. It is root's and, like /tmp, open for everybody to write in, since the session's daemon makes its socket
// there without our help. Once made it stays. Fails (denied) where `path` is something else, and (system).
Result<void> make_contacts_directory(const std::string &path);

} // namespace pmixhost::slurm
