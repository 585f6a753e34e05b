#!/bin/bash
# PMIx_Abort, on a real cluster.
. "$(dirname "$0")/../common/abort.sh"
