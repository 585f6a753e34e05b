#!/bin/bash
# Slurm may do without the munge that pmixhost knows of (AuthType=auth/slurm, or another socket as here): a step of
# several hosts is told so at its start.
. "$(dirname "$0")/../common/words.sh"

socket=/run/munge/slurm.socket
own_cluster munge --conf AuthInfo=socket=$socket || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR

run_srun -N1 -n2 "$clients/hello"
ok "a step of one host needs no munge" says_ok 2
run_srun -N2 -n2 "$clients/hello"
ok "one of two hosts" failed
like "is told what is missing where srun runs" "$output" 'munge encode: .*AuthType=auth/slurm.*start munged on all'
on_host head ln -s $socket /run/munge/munge.socket.2
on_host n1 ln -s $socket /run/munge/munge.socket.2
run_srun -N2 -n2 "$clients/hello"
ok "and one in which only another host has none" failed
like "names the host" "$output" 'pmixhost: n2: .*munge encode: .*start munged on all'
ok "soon" ended_in_time
on_host n2 ln -s $socket /run/munge/munge.socket.2
run_srun -N2 -n2 "$clients/hello"
ok "with munge on all hosts it runs" says_ok 2
ok "nothing is left" no_litter 30
done_testing
