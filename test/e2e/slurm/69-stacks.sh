#!/bin/bash
# pmixhost stacks, on a real cluster.
. "$(dirname "$0")/../common/stacks.sh"
