#!/bin/bash
# PMIx tools at a job's daemons, on a real cluster.
. "$(dirname "$0")/../common/tools.sh"
