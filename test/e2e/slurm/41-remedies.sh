#!/bin/bash
# Remedies for faults of other libraries reach the tasks, on a real cluster.
. "$(dirname "$0")/../common/remedies.sh"
