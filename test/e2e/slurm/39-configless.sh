#!/bin/bash
# Only slurmctld's host has Slurm's configuration, the others got theirs from it (configless): what pmixhost starts there,
# srun for PMIx_Spawn among it, finds Slurm without it. And salloc's shell runs on the first host (LaunchParameters).
. "$(dirname "$0")/../common/words.sh"

own_cluster configless --configless --conf LaunchParameters=use_interactive_step,enable_nss_slurm ||
    { echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR

host=$(host_name 1)
ok "the hosts have no configuration of their own" on_host "$host" bash -c '[[ -z ${SLURM_CONF:-} && -e /run/slurm/conf/slurm.conf ]]'
each_way
until_true 30 none_clears_up
run salloc -Q -N2 --ntasks-per-node=4 srun "$mpi" -N1 -n1 "$clients/spawn" count=2 pmix.host="$(host_name 2)"
is "spawn on the other host" "$(grep -c "^child [01] of 2.* on $(host_name 2)" <<<"$output")" 2
# Without a command salloc starts a shell as a step on the first host, and srun is typed there.
cat >"$test_dir/typed" <<TXT
unset SLURM_CONF # which srun has from head
hostname
srun $mpi -N2 -n4 $clients/modex all </dev/null
srun $mpi -N1 -n1 $clients/spawn count=2 </dev/null
exit
TXT
chmod 644 "$test_dir/typed"
run bash -c 'exec salloc -Q -N2 --ntasks-per-node=4 <"$1"' salloc "$test_dir/typed"
ok "from salloc's shell on a host" eval 'passed && (($(grep -c "^ok [0-3]$" <<<"$output") >= 4))'
ok "which was there" grep -qx "$host" <<<"$output"
is "and a spawn" "$(grep -c '^child [01] of 2' <<<"$output")" 2
ok "nothing is left" no_litter 30
done_testing
