#!/bin/bash
# Process groups, on a real cluster and between the steps of an allocation.
. "$(dirname "$0")/../common/groups.sh"
