// Remedies: environment variables that keep tasks away from faults of other people's libraries. Each has a name, by
// which an administrator or user takes it out of mpi.remedies. server-glue/tasks/remedies.h says which of them this
// host and its PMIx library need. A variable that a task already has is left as it is.
#pragma once

#include <string_view>

namespace pmixhost {

struct Remedy {
    std::string_view name;
    std::string_view variable; // NAME=VALUE
};

// Open MPI 5: reachable/netlink compares the places in memory of two IPv6 addresses, not the addresses. A host's own
// address then looks unreachable, and MPI_Comm_spawn and MPI_Comm_connect fail with "Unable to find reachable
// pairing".
inline constexpr Remedy remedy_openmpi_reachable{"openmpi-reachable", "OMPI_MCA_reachable=weighted"};
// PMIx library 5 and newer: its store in shared memory gives processes of every application the data of the first
// one, and its memory is a file that a task with a /tmp of its own (job_container/tmpfs) does not see.
inline constexpr Remedy remedy_pmix_store{"pmix-store", "PMIX_MCA_gds=hash"};

// PMIx library 6.1 and newer: a client or server that gets a message of more than 32 MiB closes the connection, and the
// client dies by SIGPIPE. What one process posts for all (PMIX_GLOBAL) is in its message twice, so that 16 MiB are too
// much. Here fence.max_bytes is the limit, and an error. The value is in MiB: 4 GiB is more than a message's
// header can say; 0, which means no limit to others, is a limit of no bytes to 6.1.
inline constexpr Remedy remedy_pmix_messages{"pmix-messages", "PMIX_MCA_ptl_base_max_msg_size=4096"};

// Open MPI 5: coll/han, which it prefers on several hosts, hangs or computes wrong results in communicators that were
// merged from several jobs (MPI_Intercomm_merge), under mpirun too. Two jobs that may be connected both need the
// remedy. By its priority, and not by OMPI_MCA_coll=^han: that would also take the place of a list of components that a
// site has in its openmpi-mca-params.conf, which has lower rank than the environment.
inline constexpr Remedy remedy_openmpi_han{"openmpi-han", "OMPI_MCA_coll_han_priority=-1"};

inline constexpr std::string_view remedy_names[] = {remedy_openmpi_han.name, remedy_openmpi_reachable.name,
                                                    remedy_pmix_messages.name, remedy_pmix_store.name};

} // namespace pmixhost
