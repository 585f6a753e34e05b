#!/bin/bash
# The commands with which a user looks at a running job, on a real cluster.
. "$(dirname "$0")/../common/commands.sh"
