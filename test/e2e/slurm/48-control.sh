#!/bin/bash
# Credentials and control, on a real cluster.
. "$(dirname "$0")/../common/control.sh"
