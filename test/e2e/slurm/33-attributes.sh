#!/bin/bash
# The attributes of a namespace, on a real cluster.
. "$(dirname "$0")/../common/attributes.sh"
