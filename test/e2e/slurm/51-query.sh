#!/bin/bash
# Queries, on a real cluster.
. "$(dirname "$0")/../common/query.sh"
