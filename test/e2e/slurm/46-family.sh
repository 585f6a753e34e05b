#!/bin/bash
# The same on a real cluster.
. "$(dirname "$0")/../common/family.sh"
