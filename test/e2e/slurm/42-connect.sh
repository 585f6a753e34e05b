#!/bin/bash
# Connect and disconnect, on a real cluster and between the steps of an allocation.
. "$(dirname "$0")/../common/connect.sh"
