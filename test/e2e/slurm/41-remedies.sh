#!/bin/bash
# What keeps faults of other libraries away from tasks, on a real cluster.
. "$(dirname "$0")/../common/remedies.sh"
