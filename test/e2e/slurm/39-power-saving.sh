#!/bin/bash
# Hosts that Slurm switched off to save power, and boots for a job: srun waits for them, and pmixhost for srun.
. "$(dirname "$0")/../common/words.sh"

# What slurmctld runs to switch hosts says so here, and the test does it.
orders=$(mktemp -d "${PMIXHOST_BUILD}/power.XXXXXX")
for what in off on; do
    # shellcheck disable=SC2016 # for that script
    printf '#!/bin/bash\nscontrol show hostnames "$1" | sed "s/^/%s /" >>%q\n' "$what" "$orders/given" >"$orders/$what"
    chmod 755 "$orders/$what"
done
: >"$orders/given"
own_cluster power --conf SuspendTime=2 --conf SuspendTimeout=5 --conf ResumeTimeout=90 --conf SuspendRate=0 --conf ResumeRate=0 \
    --conf "SuspendProgram=$orders/off" --conf "ResumeProgram=$orders/on" ||
    { rm -rf "$orders"; echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR
trap 'end_switching; end_own_cluster' EXIT
end_switching() {
    local code=$?
    touch "$orders/over"
    wait "$switching"
    rm -rf "$orders"
    return "$code"
}

# Ends between two orders, and when this script is gone.
follow_orders() {
    local done=0 what host
    while [[ ! -e $orders/over ]] && kill -0 $$; do
        while read -r what host; do
            done=$((done + 1))
            case $what in
                off) "$PMIXHOST_CLUSTER" crash "$host" --dir "$PMIXHOST_CLUSTER_DIR" </dev/null ;;
                on) "$PMIXHOST_CLUSTER" boot "$host" --dir "$PMIXHOST_CLUSTER_DIR" </dev/null ;;
            esac
            echo "$done" >"$orders/carried-out"
        done < <(tail -n +$((done + 1)) "$orders/given")
        sleep 0.2
    done
}
follow_orders >"$orders/log" 2>&1 &
# What one has to know when hosts do not come.
tell_orders() {
    diag "orders: $(paste -sd, "$orders/given"); carried out: $(cat "$orders/carried-out")"
    diag "$(tail -n 5 "$orders/log")"
    diag "$(tail -n 30 "$PMIXHOST_CLUSTER_DIR/hosts/head/slurmctld.log")"
    diag "$(tail -n 5 "$PMIXHOST_CLUSTER_DIR"/hosts/n[12]/slurmd.log)"
}
switching=$!

# Slurm goes by SuspendTimeout: on a busy machine it believes that a host is off which is still to be switched off, and is
# confused when that happens while it is booted again.
powered_off() {
    local host
    (($(on_host head sinfo -h -N -t POWERED_DOWN -o %N | sort -u | wc -l) == 2)) || return
    for host in n1 n2; do
        [[ $(grep " $host\$" "$orders/given" | tail -n 1) == off* ]] || return
    done
    (($(wc -l <"$orders/given") == $(cat "$orders/carried-out")))
}
TEST_LIMIT=120
ok "Slurm switches hosts off that nobody needs" until_true 60 powered_off
for turn in 1 2; do
    run_srun -N2 -n4 "$clients/modex" all
    says_ok 4 || tell_orders
    ok "a job has them booted (time $turn)" says_ok 4
    ((turn == 2)) || ok "they are off again" until_true 60 powered_off
done
ok "they were booted twice" bash -c '(($(grep -c "^on" "$1") >= 4))' orders "$orders/given"
done_testing
