#!/bin/bash
# Users to whom the site's rules give some actions on jobs of others, but not everything: the desk of the job's user runs
# the command, as that user.
. "$(dirname "$0")/../common/words.sh"
. "$(dirname "$0")/../open_gate.sh"

out=$test_dir/operated
operator() { another "$@"; }
own='"allow everything by anyone to jobs of themselves from 10.99.0.0/16"'
rules() { # RULE ...
    local IFS=,
    configure_logged '[tools]' "policy = [$*]" \
        "user_policy = \"$user_policy\"" '[gate]' "door = \"$door\"" 'idle = "2s"' "max_desks = $max_desks"
}
# begin HOSTS COMMAND ...: a job of pmixuser1; $job and $nspace are set.
begin() {
    local hosts=$1
    shift
    : >"$out"
    ((++rounds))
    (cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user pmixuser1 -- \
        env PMIXHOST_IO_CAPTURE=on srun "$mpi" -J "operated$rounds" -N"$hosts" -n"$hosts" "$@") >"$out" 2>&1 </dev/null &
    job_pid=$!
    until_true 40 eval '(($(grep -a -c "^there" "$out") == '"$hosts"'))'
    job=$(as_user root squeue -h -n "operated$rounds" -o %i)
    nspace=slurm.$job.0
}
rounds=0 user_policy=off max_desks=64
end_round() {
    end_jobs
    wait "$job_pid" 2>/dev/null
    ! on_host head pgrep -x pmixhost-gate >/dev/null || close_gate
}
goes_on() { kill -0 "$job_pid" 2>/dev/null && [[ -n $(as_user root squeue -h -n "operated$rounds" -o %i) ]]; }
run_of() { on_host head pgrep -o -u "$1" -f "pmixhost $2"; } # and not the process that it has to listen
nothing_runs() { ! on_host head pgrep -u pmixuser1 -f "^$pmixhost |pmixhostd --desk" >/dev/null; }

rules '"allow observe by pmixuser2 to jobs of pmixuser1 from 10.99.0.0/16"' "$own"
open_gate
ok "a job runs, and a gate" begin 2 "$clients/visited"
is "who may look sees another user's processes" \
    "$(operator "$pmixhost" ps "$job" | awk -v job="$nspace" 'NR > 1 && $1 == job {print $2}' | tr '\n' ' ')" "0 1 "
is "as JSON" "$(operator "$pmixhost" ps --json "$job.0" | python3 -c '
import json, sys
print([(one["job"], [p["rank"] for p in one["processes"]]) for one in json.load(sys.stdin)])' 2>&1)" "[('$nspace', [0, 1])]"
is "and what the job's host says of it" "$(operator "$pmixhost" get "$job" '*' PMIX_JOB_SIZE; echo "code $?")" $'2\ncode 0'
like "an error is that of the command, and so is its code" "$(operator "$pmixhost" get "$job" '*' no.such.key; echo "code $?")" \
    "^pmixhost: error: job $nspace: (there is no such key|PMIx_Get: ).*code 1"
ok "the gate's log has who, of whose job, for what, and by which line" logged \
    "tools: allowed: uid 60002, pid [0-9]+, from 10\\.99\\.[0-9.]+: observe of job $job of uid 60001, by .*allow observe by pmixuser2"
ok "and what is run" logged "for uid 60002, pid [0-9]+, the desk of uid 60001 is to run: pmixhost ps $job '--timeout=10'\$"
like "the job's log has for whom" "$(cat "$log")" \
    "tools: allowed: uid 60002, from 10\\.99\\.[0-9.]+: observe of job [0-9.]+ of uid 60001, by .*allow observe by pmixuser2"
for each in "output output" "kill control" "signal control" "pause control"; do
    read -r command action <<<"$each"
    like "$command takes more" "$(operator "$pmixhost" "$command" "$job"; echo "code $?")" \
        "do not give uid 60002 $action, which $command takes, on jobs of uid 60001 .*policy explain --user 60002 --owner 60001 --action $action.*code 1"
done
ok "the log has that, too" logged "tools: refused: uid 60002, pid [0-9]+, from .*: control of job $job of uid 60001, by "
like "any tool takes everything" "$(operator "$pmixhost" with "$job" -- true; echo "code $?")" 'do not give uid 60002 everything.*code 1'
ok "the job goes on unharmed" goes_on
like "policy explain says the same" "$(operator "$pmixhost" policy explain --owner pmixuser1 --action observe; echo "code $?")" \
    '^allowed: .*By a command of pmixhost that takes observe alone.*code 0'
like "and of the job, whose it finds out" "$(operator "$pmixhost" policy explain --job "$job" --action observe; echo "code $?")" \
    "^allowed: pmixuser2 \\(uid 60002\\) .*observe of job $job of pmixuser1 \\(uid 60001\\).*code 0"
like "of what is refused, too" "$(operator "$pmixhost" policy explain --owner pmixuser1 --action control; echo "code $?")" '^refused: .*code 1'

# As a desk runs it, where the job runs.
asked() { # ACTION COMMAND ...
    "${on_cluster[@]}" --host "$(host_name 1)" --user pmixuser1 -- \
        env PMIXHOST_ASKED_BY="60002 $1" timeout -k 5 60 "$pmixhost" "${@:2}" 2>&1
}
is "on a host of the job it comes by a desk as well" "$(asked observe ps "$job" | awk -v job="$nspace" '$1 == job' | grep -c .)" 2
like "so that the job hears for whom" "$(grep -a 'relays tools' "$log" | tail -n 1)" 'the desk on .*, for uid 60002, relays tools'
like "and refuses what the rules refuse" "$(asked control kill "$job"; echo "code $?")" 'rules for tools do not give uid 60002 control: .*code 1'
like "it asks no other gate" "$(operator env PMIXHOST_ASKED_BY='60001 observe' "$pmixhost" ps "$job"; echo "code $?")" \
    'a job of uid 60001, and not of the user whose desk runs this.*code 1'
ok "and the job goes on, still" goes_on

operator "$pmixhost" events --kind 7205 --json "$job" >"$test_dir/heard" &
listener=$!
ok "who may look listens" until_true 20 grep -q "listening to job $nspace" "$test_dir/heard"
owner "$pmixhost" with "$job" -- "$clients/tool" global 7205 >/dev/null
ok "who may look hears what happens" until_true 20 grep -q '"code":7205' "$test_dir/heard"
run_there=$(run_of pmixuser1 "events --kind=7205 --json -- $job")
is "by a command of the job's user" "$(wc -w <<<"$run_there")" 1
environment=$(on_host head cat "/proc/$run_there/environ" | tr '\0' '\n')
like "for whom it is, is said there" "$environment" 'PMIXHOST_ASKED_BY=60002 observe'
unlike "and nothing comes from who asks" "$environment" 'USER=pmixuser2|HOME=.*pmixuser2'
is "but two pipes" "$(on_host head find "/proc/$run_there/fd" -name '[0-2]' -printf '%f %l\n' | sort | sed 's/\[.*//')" \
    $'0 /dev/null\n1 pipe:\n2 pipe:'
on_host head pkill -INT -u pmixuser2 -f "^$pmixhost events"
wait "$listener"
ok "when it is interrupted, nothing of it is left" until_true 20 nothing_runs
operator "$pmixhost" events "$job" >"$test_dir/heard_too" &
listener=$!
ok "another one listens" until_true 20 grep -q 'listening to job' "$test_dir/heard_too"
on_host head pkill -KILL -u pmixuser1 -f '[p]mixhostd --gate-desk'
wait "$listener"
like "a desk that is killed" "$(cat "$test_dir/heard_too")" 'by the desk of the job.s user: .*gone'
ok "takes it along" until_true 20 nothing_runs

# What is no wish, or one for what no desk runs; and what is no pipe. Each as who may look.
close_gate
open_gate
at_door() { # PYTHON
    operator python3 -c "
import array, os, socket
def door(wish):
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.connect('$door/door')
    one.settimeout(20)
    one.send(wish)
    return one
def give(to, *fds):
    to.sendmsg([b'pipes'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', fds))] if fds else [])
$1"
}
while IFS='|' read -r wish wanted; do
    like "refused: $wish" "$(at_door "print(door(b'run 60001 $job\\n$wish').recv(4096))")" "^b.failed $wanted"
done <<'END'
|invalid .*no wish
ps\n--json\x1b[2J|invalid .*no wish
ps\n\n--json|invalid .*no wish
ps\n--config=/etc/passwd|unsupported .*without the option .*--config
ps\n-w|unsupported .*without the option .*-w
ps\n--json\n--\n1|unsupported .*without the option
ps\n1|invalid .*behind its job
output\n--take-over|unsupported .*without the option .*--take-over
with\n--\n/bin/sh|unsupported .*with.* is not run for other users
kill\n--ranks=/etc|invalid
END
like "a terminal is not taken" "$(at_door "
import pty
mine, theirs = pty.openpty()
one = door(b'run 60001 $job\\nps')
print(one.recv(4096))
give(one, theirs, theirs)
print(one.recv(4096))")" "b'ready'.*b.failed invalid .*two pipes"
like "nor three pipes" "$(at_door "
r, w = os.pipe()
one = door(b'run 60001 $job\\nps')
print(one.recv(4096))
give(one, w, w, w)
print(one.recv(4096))")" "b'ready'.*b.failed invalid .*two pipes"
like "nor is waited for them for long" "$(at_door "
one = door(b'run 60001 $job\\nps')
print(one.recv(4096), one.recv(4096))")" "b'ready' b.failed timeout"
is "two at a time of one who asks" "$(at_door "
r, w = os.pipe()
kept = [door(b'run 60001 $job\\nevents') for _ in range(3)]
for one in kept:
    if one.recv(4096) == b'ready':
        give(one, w, w)
    else:
        print('refused')")" refused
ok "which end with it" until_true 20 nothing_runs
ok "the job goes on" goes_on
rules "$own"
on_host head pkill -HUP -x pmixhost-gate
ok "a rule is taken away" until_true 20 logged 'rules for tools were read again'
like "who looks is refused from now on" "$(operator "$pmixhost" ps "$job"; echo "code $?")" 'do not give uid 60002 observe.*code 1'
end_round

# The bytes of the output are none that a terminal would have, and more than a pipe has room for.
head -c 300000 /dev/urandom >"$test_dir/bytes"
chmod 644 "$test_dir/bytes"
rules '"allow output by pmixuser2 to jobs of pmixuser1 from 10.99.0.0/16"' "$own"
open_gate
writes="echo there; until test -e $test_dir/go; do sleep 0.1; done; cat $test_dir/bytes; exec sleep 100"
ok "a job that writes" begin 1 sh -c "$writes"
as_user pmixuser2 timeout -k 5 60 "$pmixhost" output "$job" >"$test_dir/read" 2>"$test_dir/complaints" &
reader=$!
ok "who may read does" until_true 20 grep -a -q '^there' "$test_dir/read"
touch "$test_dir/go"
ok "every byte comes" until_true 20 eval '(($(stat -c %s "$test_dir/read") == 300006))'
ok "as it was written" cmp "$test_dir/read" <(echo there; cat "$test_dir/bytes")
on_host head pkill -INT -u pmixuser2 -f "^$pmixhost output"
wait "$reader"
is "an interrupt ends it in order" "$? $(cat "$test_dir/complaints")" "0 "
ok "there, too" until_true 20 nothing_runs
end_jobs
wait "$job_pid" 2>/dev/null
rm "$test_dir/go"
ok "another job that writes" begin 1 sh -c "$writes"
as_user pmixuser2 env TERM=xterm timeout -k 5 60 script -qec "$pmixhost output $job" /dev/null >"$test_dir/on_terminal" 2>&1 </dev/null &
reader=$!
ok "is read on a terminal" until_true 20 grep -a -q '^there' "$test_dir/on_terminal"
touch "$test_dir/go"
ok "where as much comes" until_true 20 eval '(($(stat -c %s "$test_dir/on_terminal") >= 300000))'
is "and none of it controls it" "$(LC_ALL=C tr -d '\r\n\t' <"$test_dir/on_terminal" | LC_ALL=C grep -a -o '[[:cntrl:]]' | wc -l)" 0
on_host head pkill -INT -u pmixuser2 -f "^$pmixhost output"
wait "$reader"
like "who may read may not look" "$(operator "$pmixhost" ps "$job"; echo "code $?")" 'do not give uid 60002 observe.*code 1'
end_round

max_desks=8
rules '"allow control by pmixuser2 to jobs of pmixuser1 from 10.99.0.0/16"' "$own"
open_gate
ok "a job to be controlled" begin 2 "$clients/visited"
is "who may control sends a signal" "$(operator "$pmixhost" signal -s USR1 --ranks 1 "$job"; echo "code $?")" "code 0"
ok "which the process hears" until_true 20 grep -q '^signalled 1' "$out"
ok "and no other" eval '! grep -q "^signalled 0" "$out"'
is "stops the processes" "$(operator "$pmixhost" pause "$job"; echo "code $?")" "code 0"
is "and lets them go on" "$(operator "$pmixhost" resume "$job"; echo "code $?")" "code 0"
like "but does not read" "$(operator "$pmixhost" output "$job"; echo "code $?")" 'do not give uid 60002 output.*code 1'
# Two are a quarter of the desks. What the rules would say of the third one nobody has asked.
mapfile -t answers < <(at_door "
kept = [door(b'run 60001 $job\npause') for _ in range(2)]
for one in kept:
    print(one.recv(4096))
print(door(b'run 60003 1\nps').recv(4096))
for one in kept:
    one.close()
print(door(b'run 60003 1\nps').recv(4096))")
is "two commands of who asks are let in" "${answers[*]:0:2}" "b'ready' b'ready'"
like "and none more, at any desk" "${answers[2]}" \
    "^b.failed limit .*2 commands and visits of yours .*at all desks of this host together .*next: end one of them"
like "until one has ended" "${answers[3]}" '^b.failed system user 60003 is not known'
ok "the gate's log has that" logged "tools: refused: uid 60002, pid [0-9]+, for a job of uid 60003: 2 commands and visits"
is "and kills them" "$(operator "$pmixhost" kill "$job"; echo "code $?")" "code 0"
ok "which ends the job" until_true 30 eval '! kill -0 "$job_pid" 2>/dev/null'
end_round

max_desks=64

# Whose job it is may refuse what the site gives.
user_policy=tighten
# shellcheck disable=SC2016 # for the user's shell
owner sh -c 'mkdir -p ~/.config/pmixhost && echo "deny observe by 60002 to jobs of anyone from anywhere" >~/.config/pmixhost/tools.policy'
rules '"allow observe by pmixuser2 to jobs of pmixuser1 from 10.99.0.0/16"' "$own"
open_gate
ok "a job of a user who has rules" begin 1 "$clients/visited"
like "by which others are refused" "$(operator "$pmixhost" ps "$job"; echo "code $?")" \
    'rules for tools do not give uid 60002 observe: .*tools.policy:1.*deny observe by 60002.*code 1'
is "and that one's own tools are not" "$(owner "$pmixhost" ps "$job" | awk -v job="$nspace" '$1 == job' | grep -c .)" 1
# shellcheck disable=SC2016
owner sh -c 'rm -r ~/.config/pmixhost'
end_round

((test_failures == 0)) || diag "$(cat "$gate_log" "$log")"
configure
ok "nothing is left" no_litter 30
done_testing
