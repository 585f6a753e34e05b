#!/bin/bash
# Events, on a real cluster.
. "$(dirname "$0")/../common/events.sh"
