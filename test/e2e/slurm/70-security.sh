#!/bin/bash
# A stranger on the same hosts gets nothing from a job's daemons, and cannot make them do anything;
# a user gets no more from them than he has.
. "$(dirname "$0")/../common/words.sh"

out=$test_dir/linger
: >"$out"
(cd "$test_dir" && exec timeout -k 5 170 "${on_cluster[@]}" --user pmixuser1 -- \
    srun "$mpi" -N2 -n4 "$clients/linger") >"$out" 2>&1 </dev/null &
job_pid=$!
there() { (($(grep -c '^there' "$out") == 4)); }
ok "a job of pmixuser1 runs" until_true 60 there
host=$(host_name 1)
stranger() { "${on_cluster[@]}" --user pmixuser2 --host "$host" -- timeout 60 "$@" 2>&1; }
owner() { "${on_cluster[@]}" --user pmixuser1 --host "$host" -- timeout 60 "$@" 2>&1; }

# ----------------------------------------------------------------------- what the daemon is

daemon=$(on_host "$host" pgrep -x pmixhostd | head -n 1)
is "the daemon is the user's" "$(on_host "$host" awk '/^Uid/ {print $2, $3, $4, $5}' "/proc/$daemon/status")" \
    "60001 60001 60001 60001"
is "and its group" "$(on_host "$host" awk '/^Gid/ {print $2, $3, $4, $5}' "/proc/$daemon/status")" \
    "60001 60001 60001 60001"
is "it has the user's supplementary groups and no others" \
    "$(on_host "$host" awk '/^Groups/ {$1 = ""; print}' "/proc/$daemon/status" | tr ' ' '\n' | grep . | sort -n | tr '\n' ' ')" \
    "$(owner id -G | tr ' ' '\n' | sort -n | tr '\n' ' ')"
is "it has no capabilities" \
    "$(on_host "$host" grep -E '^Cap(Eff|Prm|Inh)' "/proc/$daemon/status" | awk '{print $2}' | sort -u)" \
    "0000000000000000"
is "nothing of it in /tmp is open to others" \
    "$(on_host "$host" find /tmp -user pmixuser1 -maxdepth 1 -perm /077)" ""
like "a stranger cannot look into it" \
    "$(stranger sh -c 'ls -d /tmp/.pmixhost*; ls /tmp/.pmixhost*/')" 'Permission denied'

# -------------------------------------------------------------------- its network and its door

ports=$(on_host "$host" ss -Hltnp | grep pmixhostd | awk '{print $4}' | sed 's/.*://' | sort -u)
ok "it listens somewhere" test -n "$ports"
for port in $ports; do
    for bytes in 0 7 100 1000000; do
        like "a stranger sends $bytes bytes to one of its ports and gets nothing" \
            "$(stranger "$clients/knock" tcp localhost "$port" $bytes)" '^(got 0 bytes|no connection)'
    done
    like "so does one from another host" \
        "$("${on_cluster[@]}" --user pmixuser2 --host head -- "$clients/knock" tcp "$host" "$port" 100)" \
        '^(got 0 bytes|no connection)'
done

# The doors are abstract sockets that the daemon listens on.
doors=$(on_host "$host" ss -Hlxp | grep pmixhostd | grep -o '@[^ ]*' | tr -d @)
ok "there is a task door" test -n "$doors"
for door in $doors; do
    for rank in 0 1 4294967295; do
        like "a stranger asks at the door for rank $rank and gets nothing" \
            "$(stranger "$clients/knock" door "$door" $rank)" 'got 0 bytes|no connection'
        unlike "the user himself cannot be rank $rank a second time" \
            "$(owner "$clients/knock" door "$door" $rank)" 'PMIX_'
    done
done

# The stranger has the very environment of a task, as one who has read it from a careless user's output.
task=$(on_host "$host" pgrep -x linger | head -n 1)
on_host "$host" cat "/proc/$task/environ" | tr '\0' '\n' | grep -E '^PMIX|^SLURM' >"$test_dir/stolen"
chmod 644 "$test_dir/stolen"
# shellcheck disable=SC2016 # for the inner shell
unlike "a stranger with a task's environment is not let in" \
    "$(stranger sh -c 'while IFS= read -r l; do export "$l"; done <"$1"; CLIENT_LIMIT=15 exec "$2"' \
        sh "$test_dir/stolen" "$clients/hello")" '^ok|rank [0-9]+ of'

ok "after all that the job still runs" eval '! grep -q "^told" "$out" && kill -0 $job_pid'
as_user root scancel --user=pmixuser1
wait "$job_pid"
until_true 30 no_jobs
ok "and nothing is left of it" no_litter 20

# ----------------------------------------------------------- names that others made beforehand

own=/tmp/.pmixhost-60001
bait() { on_host "$host" rm -rf "$own" /tmp/bait; stranger sh -c "$1"; }
for trap_kind in "mkdir -m 777 $own" "mkdir -m 777 /tmp/bait; ln -s /tmp/bait $own" "touch $own; chmod 666 $own"; do
    bait "$trap_kind"
    run_srun -w "$host" -N1 -n2 "$clients/hello"
    verdicts=$output
    ok "a stranger's '${trap_kind%% *}' of our name: the job runs or says why not" \
        eval 'all_ok 2 || grep -q "pmixhost" <<<"$output"'
    is "and nothing was put there" "$(on_host "$host" find "$own" /tmp/bait -mindepth 1 2>/dev/null)" ""
    ok "and it can run there again afterwards" eval "on_host $host rm -rf $own /tmp/bait; \
        run_srun -w $host -N1 -n2 $clients/hello; verdicts=\$output; all_ok 2"
done

# -------------------------------------------------------------- what the user's environment says

run env PMIXHOST_STEP=rubbish PMIX_RANK=7 PMIX_NAMESPACE=other PMIX_SERVER_URI41=x.0\;tcp4://127.0.0.1:1 \
    PMIX_SECURITY_MODE=none SLURM_JOB_UID=0 SLURM_JOB_GID=0 SLURM_JOB_USER=root SLURM_PROCID=3 \
    srun "$mpi" -N2 -n4 "$clients/hello"
verdicts=$output
ok "variables that look like ours or Slurm's change nothing" all_ok 4
run env PMIXHOST_STEP="$(head -c 100000 /dev/zero | tr '\0' x)" srun "$mpi" -N2 -n4 "$clients/hello"
verdicts=$output
ok "nor does a very long one" all_ok 4
run env SLURM_JOB_UID=0 SLURM_JOB_GID=0 srun "$mpi" -N1 -n1 sh -c 'ps -o user= -C pmixhostd | sort -u'
is "the daemon is the user's whatever SLURM_JOB_UID says" "$(tr -d ' ' <<<"$output")" "pmixuser1"
run env LD_PRELOAD=/nonexistent.so LD_LIBRARY_PATH=/tmp srun "$mpi" -N2 -n2 "$clients/hello"
verdicts=$output
ok "LD_PRELOAD of the user does not disturb the daemon" eval "so_many_ok 2"
ok "nothing is left" no_litter 20

done_testing
