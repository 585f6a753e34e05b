#!/bin/bash
# Slurm without any munge: AuthType=auth/slurm, with a key of its own and no munged on any host.
. "$(dirname "$0")/../step_secret.sh"

if ! ls "$(sed -n 's/^PluginDir=.*://p' "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf")"/auth_slurm.so >/dev/null 2>&1; then
    skip "AuthType=auth/slurm" "this Slurm has none"
    done_testing
    exit
fi
own_cluster auth --conf AuthType=auth/slurm --conf CredType=cred/slurm --conf SlurmdDebug=debug2 ||
    { echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR
ok "no munged runs" eval '! on_host head pgrep -x munged && ! on_host n1 pgrep -x munged'
by_secret
run_srun -N2 -n2 "$clients/credential" none
ok "credentials of processes are munge's, and not supported" says_ok 2
ok "nothing is left" no_litter 30
done_testing
