#!/bin/bash
# Only slurmctld's host has Slurm's configuration, the others got theirs from it (configless): what pmixhost starts there,
# srun for PMIx_Spawn among it, finds Slurm without it. And salloc's shell runs on the first host (LaunchParameters).
. "$(dirname "$0")/../common/words.sh"

own_cluster configless --configless --hosts 3 --conf LaunchParameters=use_interactive_step,enable_nss_slurm,test_exec,slurmstepd_memlock \
    --conf MpiDefault=pmixhost ||
    { echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR

host=$(host_name 1)
ok "the hosts have no configuration of their own" on_host "$host" bash -c '[[ -z ${SLURM_CONF:-} && -e /run/slurm/conf/slurm.conf ]]'
each_way
until_true 30 none_clears_up
run salloc -Q -w "$(host_name 1),$(host_name 2)" -N2 --ntasks-per-node=4 srun "$mpi" -N1 -n1 "$clients/spawn" count=2 pmix.host="$(host_name 2)"
is "spawn on the other host" "$(grep -c "^child [01] of 2.* on $(host_name 2)" <<<"$output")" 2
# Without a command salloc starts a shell as a step on the first host, and srun is typed there.
cat >"$test_dir/typed" <<TXT
unset SLURM_CONF # which srun has from head
hostname
env | grep ^PMIXHOST_
srun $mpi -N2 -n4 $clients/modex all </dev/null
srun $mpi -N1 -n1 $clients/spawn count=2 </dev/null
exit
TXT
chmod 644 "$test_dir/typed"
run bash -c 'exec salloc -Q -w "$2" -N2 --ntasks-per-node=4 <"$1"' salloc "$test_dir/typed" "$host,$(host_name 2)"
ok "from salloc's shell on a host" eval 'passed && (($(grep -c "^ok [0-3]$" <<<"$output") >= 4))'
ok "which was there" grep -qx "$host" <<<"$output"
is "and a spawn" "$(grep -c '^child [01] of 2' <<<"$output")" 2
unlike "the shell itself is none of pmixhost's, whatever the site's default is" "$output" '^PMIXHOST_'

# A login host has neither a configuration nor slurmd: sackd gets it for srun.
login=$(host_name 3)
on_login() { # COMMAND ...: like run
    status=0 too_late=
    output=$(cd "$test_dir" && timeout -k 5 "$TEST_LIMIT" "${on_cluster[@]}" --host "$login" --user "$TEST_USER" -- \
        "$@" 2>&1 </dev/null) || status=$?
}
has_ended() { ! on_host "$login" pgrep -x slurmd >/dev/null; }
if on_host "$login" bash -c 'command -v sackd' >/dev/null; then
    on_host "$login" pkill -x slurmd
    until_true 20 has_ended
    on_host "$login" sh -c 'rm -r /run/slurm/*'
    on_login srun "$mpi" -w "$host" -n1 "$clients/hello"
    ok "a host with nothing of Slurm's configuration has no srun" failed
    said=$(on_host "$login" sackd --conf-server head:6817 2>&1)
    ok "sackd gets it" until_true 20 on_host "$login" test -e /run/slurm/conf/slurm.conf || diag "$said"
    on_login srun "$mpi" -w "$host,$(host_name 2)" -N2 -n4 "$clients/modex" all
    ok "then steps begin there" says_ok 4
    on_login salloc -Q -w "$host,$(host_name 2)" -N2 --ntasks-per-node=4 srun "$mpi" -N1 -n1 "$clients/spawn" count=2
    is "and spawn" "$(grep -c '^child [01] of 2' <<<"$output")" 2
else
    skip "a login host with sackd" "this Slurm has none"
fi
ok "nothing is left" no_litter 30
done_testing
