#!/bin/bash
# pmixhost debug, on a real cluster.
. "$(dirname "$0")/../common/debug.sh"
