#!/bin/bash
# Ends of processes, on a real cluster.
. "$(dirname "$0")/../common/ended.sh"
