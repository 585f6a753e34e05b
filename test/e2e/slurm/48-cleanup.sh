#!/bin/bash
# Files that are to be removed at the end, on a real cluster.
. "$(dirname "$0")/../common/cleanup.sh"
