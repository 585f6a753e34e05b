#!/bin/bash
# Open MPI programs, on a real cluster.
. "$(dirname "$0")/../common/mpi.sh"
