#!/bin/bash
# Slurm may do without the munge that pmixhost knows of (AuthType=auth/slurm, or another socket): then the hosts of a
# step prove with a secret that srun makes and Slurm carries, and so do the jobs that are spawned.
. "$(dirname "$0")/../step_secret.sh"

socket=/run/munge/slurm.socket
own_cluster munge --conf AuthInfo=socket=$socket --conf SlurmdDebug=debug2 || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR
by_secret

version=$(as_user root srun --version)
if [[ $(printf '%s\n' "${version#* }" 23.02 | sort -V | head -n 1) != 23.02 ]]; then
    run_srun --container="$test_dir" -n1 true
    ok "a container in whose file the secret would stand: the step is refused" failed
    like "and told why" "$output" 'without munge, --container needs Slurm 23.02'
else
    skip "a container in whose file the secret would stand: the step is refused" "Slurm ${version#* } writes none down"
    skip "and told why" "the same"
fi
on_host n1 ln -s $socket /run/munge/munge.socket.2
until_true 30 none_clears_up
run_srun -N2 --ntasks-per-node=2 "$clients/modex"
ok "a host with munge, srun without" says_ok 4
on_host head ln -s $socket /run/munge/munge.socket.2
until_true 30 none_clears_up
run_srun -N2 -n2 "$clients/hello"
ok "srun with munge, one host without" failed
like "names the host" "$output" 'pmixhost: n2: .*munge encode: .*start munged on all'
ok "soon" ended_in_time
run env PMIXHOST_SECRET="$(printf %064d 7)" srun "$mpi" -N1 -n2 "$clients/hello"
ok "a variable of the user's is no secret" says_ok 2
run_srun --export=ALL,PMIXHOST_SECRET="$(printf %064d 7)" -N1 -n2 "$clients/abort" all 44 words
is "nor is one of --export: what the hosts say comes to srun" "$status" 44
on_host n2 ln -s $socket /run/munge/munge.socket.2
run_srun -N2 -n2 "$clients/hello"
ok "with munge on all hosts it runs" says_ok 2
ok "nothing is left" no_litter 30
done_testing
