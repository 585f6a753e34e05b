#!/bin/bash
# The same on a real cluster.
. "$(dirname "$0")/../common/mpi_family.sh"
