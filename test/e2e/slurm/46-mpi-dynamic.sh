#!/bin/bash
# MPI's dynamic processes, on a real cluster.
. "$(dirname "$0")/../common/mpi_dynamic.sh"
