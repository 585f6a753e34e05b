// Faults of other people's libraries that a variable in the environment keeps away from: each has a name, by which an
// administrator or user takes it out of mpi.remedies. Where a remedy is needed, on this host and with this PMIx
// library, server-glue/tasks/remedies.h tells. A variable that a task has already is left as it is.
#pragma once

#include <string_view>

namespace pmixhost {

struct Remedy {
    std::string_view name;
    std::string_view variable; // NAME=VALUE
};

// Open MPI 5: reachable/netlink compares the addresses of IPv6 addresses in memory, so that a host's own address looks
// unreachable, and MPI_Comm_spawn and MPI_Comm_connect fail with "Unable to find reachable pairing".
inline constexpr Remedy remedy_openmpi_reachable{"openmpi-reachable", "OMPI_MCA_reachable=weighted"};
// PMIx library 5 and newer: its store in shared memory has the data of the first application for processes of all, and
// its memory is a file that a task with a /tmp of its own (job_container/tmpfs) does not see.
inline constexpr Remedy remedy_pmix_store{"pmix-store", "PMIX_MCA_gds=hash"};

// Open MPI 5: coll/han, which it prefers on several hosts, hangs or computes wrong results in communicators that were
// merged of jobs (MPI_Intercomm_merge), under mpirun too. Where a job may be connected with another one both need it.
inline constexpr Remedy remedy_openmpi_han{"openmpi-han", "OMPI_MCA_coll=^han"};

inline constexpr std::string_view remedy_names[] = {remedy_openmpi_han.name, remedy_openmpi_reachable.name,
                                                    remedy_pmix_store.name};

} // namespace pmixhost
