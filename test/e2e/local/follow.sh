#!/bin/bash
# pmixhost output and pmixhost attach where the hosts of a job are virtual ones of this machine: with io.capture their
# daemons stand between the tasks and pmixhost run, and without it who asks is told what to do. All else is tried in
# slurm/66-io.sh and slurm/67-attach.sh.
. "$(dirname "$0")/../common/words.sh"

pmixhost=$PMIXHOST_RUN
export TMPDIR=$test_dir # servers of others on this machine are not looked at
unset PMIX_SYSTEM_TMPDIR
asks() { (cd "$test_dir" && exec timeout -k 5 60 "$pmixhost" "$@") 9>&-; }
said() { grep -q "$2" "$test_dir/$1"; } # FILE TEXT
waits_for() { echo "until [ -e $test_dir/$1 ]; do sleep 0.05; done"; } # FILE
is_there() {
    job=$(asks servers --json 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["job"])' 2>/dev/null)
    [[ -n $job ]]
}
# begin OPTION ... PROGRAM: sets $job; standard input is a pipe that stays open, descriptor 9 writes to it.
begin() {
    rm -f "$test_dir/typed" "$test_dir"/go*
    mkfifo "$test_dir/typed"
    exec 9<>"$test_dir/typed"
    (cd "$test_dir" && exec timeout -k 5 200 "$pmixhost" run --tmpdir "$test_dir" "$@") \
        >"$test_dir/out" 2>"$test_dir/err" <"$test_dir/typed" 9>&- &
    job_pid=$!
    until_true 40 is_there || diag "$(cat "$test_dir/out" "$test_dir/err")"
}
ends() { # sets $code
    exec 9>&-
    code=0
    wait "$job_pid" || code=$?
}

export PMIXHOST_IO_CAPTURE=on
begin --hosts 2 -n 4 sh -c "echo early \$PMIXHOST_RANK; $(waits_for go)
    echo more \$PMIXHOST_RANK; echo error \$PMIXHOST_RANK >&2; printf last"
asks output -l "$job" >"$test_dir/labelled" 2>"$test_dir/labelled.err" &
follows=$!
ok "captured: what was written before comes, of both hosts" until_true 20 eval '(($(grep -c early "$test_dir/labelled") == 4))'
touch "$test_dir/go"
wait "$follows"
is "captured: pmixhost output ends with the job" "$?" 0
ends
is "captured: it has each line" "$(sort "$test_dir/labelled" | tr '\n' ' ')" \
    "$(for rank in 0 1 2 3; do printf '%s ' "$rank: early $rank" "$rank: last" "$rank: more $rank"; done)"
is "captured: and standard error as such" "$(sort "$test_dir/labelled.err" | tr '\n' ' ')" \
    "0: error 0 1: error 1 2: error 2 3: error 3 "
is "captured: pmixhost run has all of it, too" "$code $(wc -c <"$test_dir/out") $(sort "$test_dir/err" | tr '\n' ' ')" \
    "0 $((4 * (8 + 7 + 4))) error 0 error 1 error 2 error 3 "

begin --hosts 2 -n 2 --input 1 sh -c 'sed -u "s/^/$PMIXHOST_RANK got /"; echo over'
mkfifo "$test_dir/keys"
asks attach -i 1 --eof "$job" >"$test_dir/attached" 2>&1 <"$test_dir/keys" &
attached=$!
exec 8>"$test_dir/keys"
echo typed at run >&9
ok "captured: what is typed at pmixhost run comes to the rank" until_true 20 said attached '^1 got typed at run'
echo hello >&8
ok "captured: what is typed at attach comes to it, and its answer back" until_true 20 said attached '^1 got hello'
exec 8>&-
ok "captured: the end of the input is the rank's" until_true 20 eval '(($(grep -c over "$test_dir/out") == 2))'
wait "$attached"
is "captured: pmixhost attach ends with the job" "$?" 0
ends
is "captured: the job ends well" "$code" 0
begin --hosts 2 -n 2 --input 1 sh -c "$(waits_for go)"
echo typed | asks attach -i 0 "$job" >"$test_dir/attached" 2>&1 &
attached=$!
ok "captured: a rank that has no input of pmixhost run's takes none" until_true 20 said attached 'input goes nowhere'
touch "$test_dir/go"
wait "$attached"
ends
is "captured: which is no end of the job" "$code" 0

log=$test_dir/daemons.log
configure_logged
begin "${job_options[@]}" --hosts 1 -n 1 sh -c "$(waits_for go); echo taken over"
asks output --take-over "$job" >"$test_dir/taken" 2>&1 &
follows=$!
until_true 20 grep -q 'and taken over' "$log"
touch "$test_dir/go"
wait "$follows"
ends
is "captured: what is taken over comes there alone" "$(cat "$test_dir/taken" "$test_dir/out")" "taken over"
configure

begun=$SECONDS
job 1 1 sh -c "setsid sh -c 'echo \$\$ >$test_dir/left; exec sleep 1000' & until [ -s $test_dir/left ]; do sleep 0.05; done
    echo done"
is "captured: what a task leaves behind holds up nobody" "$status $output $((SECONDS - begun < 20))" "0 done 1"
left=$(cat "$test_dir/left")
ok "captured: and is ended" until_true 10 eval '[[ $left -gt 0 ]] && ! kill -0 "$left" 2>/dev/null'
# All of this is in pipes and queues when the task has ended, and some of it, most likely, with the daemon.
mkfifo "$test_dir/slow"
(cd "$test_dir" && exec timeout -k 5 100 "$pmixhost" run --tmpdir "$test_dir" sh -c 'yes | head -c 1240000') \
    >"$test_dir/slow" 2>"$test_dir/err" &
job_pid=$!
exec 7<"$test_dir/slow"
begun=$SECONDS
until_true 60 eval '((SECONDS - begun > 17))' # longer than daemons are waited for
is "captured: who reads slowly from pmixhost run has all of it" "$(wc -c <&7) $(cat "$test_dir/err")" "1240000 "
exec 7<&-
wait "$job_pid"
is "captured: and the job has ended well" "$?" 0

unset PMIXHOST_IO_CAPTURE
begin --hosts 2 -n 2 sh -c "echo early; $(waits_for go)"
status=0
output=$(asks output "$job" 2>&1) || status=$?
like "not captured: pmixhost output says how the job is to be started" "$status $output" '^1 .*nothing to be had.*PMIXHOST_IO_CAPTURE=on'
status=0
output=$(echo typed | asks attach "$job" 2>&1) || status=$?
like "not captured: attach says that nothing is typed to it" "$status $output" '^1 .*input goes nowhere'
touch "$test_dir/go"
ends
is "not captured: the job goes on, and ends well" "$code $(grep -c early "$test_dir/out")" "0 2"

done_testing
