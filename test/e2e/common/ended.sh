#!/bin/bash
# Processes hear of each other's ends, in order or not.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

# As in events.sh: an older kernel does not always tell how a process ended.
kernel=$(uname -r)
if [[ $backend == slurm && $(printf '%s\n' 6.15 "$kernel" | sort -V | head -n 1) != 6.15 ]]; then
    skip "all hear of all ends" "Linux $kernel may not tell exit codes"
    done_testing
    exit
fi
TEST_LIMIT=90
for shape in 1x4 4x1 2x2 3x2; do
    client "${shape%x*}" "${shape#*x}" ended
    ok "all hear of all ends, by both codes, $shape" \
        eval "ended_in_time && so_many_ok $((${shape%x*} * ${shape#*x} - 1))"
done
client 2 2 ended invited
ok "who has built a group by invitation hears by the newer code, and lives" \
    eval "ended_in_time && so_many_ok 3"
done_testing
