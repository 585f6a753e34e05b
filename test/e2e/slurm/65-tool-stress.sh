#!/bin/bash
# Tools that come in floods and are killed in their calls, on a real cluster.
. "$(dirname "$0")/../common/tool_stress.sh"
