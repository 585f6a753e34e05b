#!/bin/bash
# Output of spawned processes in files, on a real cluster.
. "$(dirname "$0")/../common/output_files.sh"
