#!/bin/bash
# Ranks that end while others wait, on a real cluster.
. "$(dirname "$0")/../common/death.sh"
