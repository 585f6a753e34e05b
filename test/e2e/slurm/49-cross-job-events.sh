#!/bin/bash
# Events between the steps of an allocation, on a real cluster.
. "$(dirname "$0")/../common/cross_job_events.sh"
