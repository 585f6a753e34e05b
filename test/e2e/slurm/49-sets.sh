#!/bin/bash
# Process sets, on a real cluster.
. "$(dirname "$0")/../common/sets.sh"
