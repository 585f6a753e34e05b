#!/bin/bash
# Control of processes of other jobs, on a real cluster.
. "$(dirname "$0")/../common/cross_job_control.sh"
