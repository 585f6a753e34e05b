#!/bin/bash
# Published data, on a real cluster and across the steps of an allocation.
. "$(dirname "$0")/../common/publish.sh"
