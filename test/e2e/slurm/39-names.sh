#!/bin/bash
# Hosts whose names have nothing in common and do not sort as they are numbered, as after years of purchases.
. "$(dirname "$0")/../common/words.sh"

names=(zeta gpu-010 gpu-9 x1y2)
own_cluster names --hosts 4 --names "$(IFS=,; echo "${names[*]}")" || { echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR
all=$(on_host head sinfo -h -N -o %N | sort -u | paste -s -d ,) # as Slurm sorts them

for program in hello "modex all" fence_data; do
    # shellcheck disable=SC2086 # with an argument
    run_srun -N4 -n8 "$clients/"$program
    ok "${program% *}, 4 hosts" says_ok 8
done
run_srun -N4 -n8 --ntasks-per-node=2 -m block "$clients/jobinfo" --hosts "$all" --map "0,1;2,3;4,5;6,7" --alloc "$all"
ok "the job's maps name them" says_ok 8
run_srun -w zeta,gpu-9,x1y2 -N3 -n6 -m cyclic "$clients/modex" all
ok "some of them" says_ok 6
run_srun -Q -w x1y2,gpu-010 -N2 -n2 hostname
is "tasks are where Slurm says" "$(sort <<<"$output" | paste -sd ' ')" "gpu-010 x1y2"
# A list in which hosts stand in no order of Slurm's, with another number of tasks for each.
printf '%s\n' x1y2 zeta x1y2 gpu-9 x1y2 zeta >"$test_dir/hostfile"
chmod 644 "$test_dir/hostfile"
run env SLURM_HOSTFILE="$test_dir/hostfile" srun "$mpi" -n6 -m arbitrary "$clients/modex" all
ok "as a host file says" says_ok 6
run salloc -Q -N4 --ntasks-per-node=4 srun "$mpi" -N1 -n1 "$clients/spawn" count=6
is "spawn" "$(grep -c '^child [0-5] of 6' <<<"$output")" 6
run salloc -Q -N4 --ntasks-per-node=4 srun "$mpi" -N1 -n1 "$clients/spawn" count=2 pmix.host=gpu-9
is "spawn on a host by name" "$(grep -c '^child [01] of 2.*gpu-9' <<<"$output")" 2
ok "nothing is left" no_litter 30
done_testing
