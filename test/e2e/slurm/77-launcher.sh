#!/bin/bash
# A debugger on the login host that starts a launcher without a program (`pmixhost launcher`), and then spawns by it: one
# job and several, in an allocation and without, what it hears of them, their input and output, what is refused, and that
# nothing is left when it is killed or the launcher has nobody to serve.
. "$(dirname "$0")/../common/words.sh"

pmixhost=$PMIXHOST_BUILD/tools/pmixhost
launcher=("$pmixhost" launcher)
chmod 1777 "$test_dir"
rule='policy = ["allow everything by anyone to jobs of themselves from 10.99.0.0/16"]'
within=() # the environment of the allocation
# starts WORD ... -- LAUNCHER-WORD ...: on the login host; sets $output and $status
starts() {
    status=0
    rm -f "$CLIENT_DIR"/*
    output=$(cd "$test_dir" && timeout -k 5 90 "${on_cluster[@]}" --user pmixuser1 -- "${within[@]}" \
        "$clients/initiator" "$@" 2>&1 </dev/null) || status=$?
}
well() { passed && [[ $(tail -n 1 <<<"$output") == "ok 0" ]] && ! grep -q '^FAIL' <<<"$output"; }
story() { grep -E '^(launcher|run|stops|table|pull |stale|end|FAIL)' <<<"$output" | paste -sd' '; }
nothing_runs() { [[ -z $(as_user root squeue -h -o %i) ]] && ! on_host head pgrep -f 'libexec/pmixhost/pmixhost|^srun' >/dev/null; }
# Of an allocation that goes on: but for its session.
nothing_runs_within() {
    ! on_host head pgrep -f 'libexec/pmixhost/pmixhost|^srun' >/dev/null &&
        ! as_user root squeue -h -s -o '%i %j' | grep -vE 'extern|batch|pmixhost-session' >/dev/null
}
is_clean() {
    if ((${#within[@]} > 0)); then
        ok "$1: nothing is left" until_true 40 nothing_runs_within
    else
        ok "$1: nothing is left" until_true 40 nothing_runs
    fi
    is "$1: no file of the launcher" "$(on_host head sh -c 'ls -d /tmp/pmixhost-indirect.* 2>/dev/null' | head -n 3)" ""
}

configure
starts run true -- "${launcher[@]}" -N2 -n2
like "a site whose rules let no tools of the login host in" "$output" 'the debugger does not reach what it has started to spawn by, so it is ended'
is_clean "refused"

configure '[tools]' "$rule"
starts np=4 mapby=node stop=init exec "$clients/hello" stopped table release ended -- "${launcher[@]}" -N2 -n4 --exclusive
ok "a job that stops in PMIx_Init" well
is "what the debugger sees" "$(story)" \
    "launcher ready run PMIX_SUCCESS stops at pmix-init table 4 processes on 2 hosts end 0"
is "it prints for the debugger" "$(grep -c '^rank [0-3] of 4 on' <<<"$output")" 4
is_clean "stopped"

(cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user pmixuser1 -- salloc -Q -N2 --ntasks-per-node=2 \
    sh -c 'env | grep ^SLURM_ >job.new; mv job.new job; until [ -e over ]; do sleep 0.1; done') >/dev/null 2>&1 </dev/null &
allocation=$!
ok "there is an allocation" until_true 40 test -s "$test_dir/job"
mapfile -t variables <"$test_dir/job"
within=(env "${variables[@]}")
starts np=2 mapby=node stop=exec run 'echo on $SLURMD_NODENAME; exit $((PMIX_RANK * 3))' stopped release ended \
    np=1 run true runs ended np=1 in run 'while read -r word; do echo "has $word"; done' push=words ended stale \
    -- "${launcher[@]}"
ok "three jobs in an allocation, one after the other" well
is "each is told of" "$(story)" "launcher ready run PMIX_SUCCESS stops at exec end 3 of 1 run PMIX_SUCCESS runs end 0 \
run PMIX_SUCCESS end 0 stale PMIX_ERR_NOT_FOUND"
is "on two hosts" "$(grep '^on ' <<<"$output" | sort -u | wc -l)" 2
is "the input is the debugger's" "$(grep '^has' <<<"$output")" "has words"
is_clean "three"

starts np=2 mapby=node stop=init exec "$clients/hello" stopped \
    daemons run "exec $clients/debugger daemon" ended -- "${launcher[@]}"
ok "daemons beside a job, which let it go" well
is "one on each host" "$(cut -d' ' -f 1 "$CLIENT_DIR/daemons" | sort -n | paste -sd' ')" "0 1"
starts in run 'read -r word; echo "$word"; read -r word' pull push=pulled ended -- "${launcher[@]}"
ok "what is pulled" well
like "comes to who pulls it" "$output" $'\npulled 0: pulled'
is_clean "streams"

# What is refused does not end the launcher.
starts exec /no/such/program agent run true nohup run true np=400 run true run true ended -- "${launcher[@]}"
ok "a launcher lives on" well
is "what was refused" "$(story)" "launcher ready run PMIX_ERR_JOB_EXE_NOT_FOUND run PMIX_ERR_NOT_SUPPORTED \
run PMIX_ERR_NOT_SUPPORTED run PMIX_ERR_OUT_OF_RESOURCE run PMIX_SUCCESS end 0"
for why in 'PMIX_LAUNCHER_DAEMON' 'not with PMIX_NOHUP' '/no/such/program'; do
    like "it is named: $why" "$output" "$why"
done
is_clean "refusals"

ends() { # OPTION ...
    starts np=2 mapby=node stop=init exec "$clients/hello" stopped die -- "${launcher[@]}" "$@"
    is_clean "$place, the debugger is killed, and its job stands"
    starts np=2 mapby=node run 'exec sleep 80' runs die -- "${launcher[@]}" "$@"
    is_clean "$place, the debugger is killed, and its job runs"
    starts run 'exec sleep 80' runs leave -- "${launcher[@]}" "$@"
    ok "$place, the debugger leaves" well
    is_clean "$place, leaves"
    starts run 'exec sleep 80' runs told gone -- "${launcher[@]}" "$@"
    ok "$place, it says that it ends" well
    is_clean "$place, says so"
}
place=within
ends
: >"$test_dir/over"
wait "$allocation"
place=without within=()
ends -N2 -n2
starts die -- "${launcher[@]}" -N2 -n2
is_clean "the debugger is killed at once"

# While the launcher waits in the queue.
(cd "$test_dir" && exec timeout -k 5 120 "${on_cluster[@]}" --user pmixuser1 -- salloc -Q -N"$host_limit" --exclusive \
    sh -c ': >full; until [ -e empty ]; do sleep 0.1; done') >/dev/null 2>&1 </dev/null &
full=$!
ok "somebody else has all hosts" until_true 40 test -e "$test_dir/full"
rm -f "$test_dir/go"
(until_true 40 eval '[[ -n $(as_user root squeue -h -t PD -o %i) ]]' && : >"$test_dir/queued"; : >"$test_dir/go") &
queue=$!
starts held die -- "${launcher[@]}" -N2 -n2
wait "$queue"
ok "the launcher was in the queue when the debugger was killed" test -e "$test_dir/queued"
none_waits() { [[ -z $(as_user root squeue -h -t PD -o %i) ]] && ! on_host head pgrep -f 'libexec/pmixhost/pmixhost-indirect|^srun' >/dev/null; }
ok "and is gone from it" until_true 30 none_waits
touch "$test_dir/empty"
wait "$full"
rm -f "$test_dir/go" "$test_dir/held"
(until_true 40 test -e "$test_dir/held" && as_user root scancel -u pmixuser1; : >"$test_dir/go") &
queue=$!
starts run 'exec sleep 80' runs held gone -- "${launcher[@]}" -N2 -n2
wait "$queue"
ok "the job is cancelled: the debugger hears of it" well
is_clean "cancelled"
# What speaks with the debugger is killed: the job that holds the place would stay.
rm -f "$test_dir/go" "$test_dir/held"
(until_true 40 test -e "$test_dir/held"
    for process in $(on_host head pgrep -f 'libexec/pmixhost/pmixhost-indirect'); do on_host head kill -KILL "$process"; done
    : >"$test_dir/go") &
queue=$!
starts run 'exec sleep 80' runs held leave -- "${launcher[@]}" -N2 -n2
wait "$queue"
like "what speaks with the debugger is killed: srun says so" "$output" 'what speaks with the debugger has gone'
ok "and nothing runs any more" until_true 40 nothing_runs
# libpmix' own files go with an end that is none, too.
on_host head sh -c 'rm -rf /tmp/pmixhost-indirect.* /tmp/pmix_dstor_ds*'

run "$pmixhost" launcher -N1
ok "nobody has started it" failed
like "nobody: it says so" "$output" 'no debugger has started this: PMIX_LAUNCHER_RNDZ_URI is not set'
run env PMIX_LAUNCHER_RNDZ_URI='nobody.0;tcp4://127.0.0.1:1' "$pmixhost" launcher -N1
ok "a debugger that is not there" failed
like "is named" "$output" 'the debugger that has started this job is not to be reached'
run env PMIX_LAUNCHER_RNDZ_URI='nobody.0;tcp4://127.0.0.1:1' "$pmixhost" launcher -N1 hostname
ok "a program" failed
like "a program: it is named" "$output" "'hostname' is none: its debugger says which programs run"
run "$pmixhost" launcher --mpi=none
ok "what it has to be" failed
like "is not for the user to say" "$output" '--mpi=none is not for the user to say'
is_clean "in vain"
configure
ok "nothing is left on any host" no_litter 40
done_testing
