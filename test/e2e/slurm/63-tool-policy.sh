#!/bin/bash
# The site's rules for tools, on a real cluster.
. "$(dirname "$0")/../common/tool_policy.sh"
