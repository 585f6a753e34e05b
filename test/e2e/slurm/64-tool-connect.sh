#!/bin/bash
# Where and how tools connect, on a real cluster.
. "$(dirname "$0")/../common/tool_connect.sh"
