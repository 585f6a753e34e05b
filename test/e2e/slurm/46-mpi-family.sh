#!/bin/bash
# Jobs that MPI_Comm_spawn made and their parents, on a real cluster.
. "$(dirname "$0")/../common/mpi_family.sh"
