#!/bin/bash
# Fences and direct modex, on a real cluster.
. "$(dirname "$0")/../common/clients.sh"
