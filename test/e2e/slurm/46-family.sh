#!/bin/bash
# What processes know of other jobs of their session, on a real cluster.
. "$(dirname "$0")/../common/family.sh"
