#!/bin/bash
# Users to whom the site's rules give everything on jobs of others come there by the gate, and nobody else.
. "$(dirname "$0")/../common/words.sh"
. "$(dirname "$0")/../open_gate.sh"

out=$test_dir/visited
visitor() { another "$@"; }
# with_rules RULE ...: a job of pmixuser1, and a gate, with these rules; $job and $nspace are set.
with_rules() {
    local IFS=,
    configure_logged '[tools]' "policy = [$*]" '[gate]' "door = \"$door\"" 'idle = "2s"'
    IFS=$' \t\n'
    open_gate
    : >"$out"
    ((++rounds))
    (cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user pmixuser1 -- \
        env PMIXHOST_IO_CAPTURE=on srun "$mpi" -J "visited$rounds" -N2 -n2 "$clients/visited") >"$out" 2>&1 </dev/null &
    job_pid=$!
    until_true 40 both_are_there
    job=$(as_user root squeue -h -n "visited$rounds" -o %i)
    nspace=slurm.$job.0
}
rounds=0
both_are_there() { (($(grep -c '^there' "$out") == 2)); }
end_round() {
    end_jobs
    wait "$job_pid" 2>/dev/null
    ! on_host head pgrep -x pmixhost-gate >/dev/null || close_gate
}

everything='"allow everything by pmixuser2 to jobs of pmixuser1 from 10.99.0.0/16"'
with_rules "$everything" '"allow everything by anyone to jobs of themselves from 10.99.0.0/16"'
ok "a job runs, and a gate" both_are_there
is "everybody may come to its door" "$(on_host head stat -c '%a %U' "$door/door")" "666 nobody"
listed=$(visitor "$pmixhost" ps "$job")
is "who may do everything sees another user's processes" \
    "$(awk -v job="$nspace" 'NR > 1 && $1 == job {print $2}' <<<"$listed" | tr '\n' ' ')" "0 1 "
like "as policy explain says" \
    "$(visitor "$pmixhost" policy explain --owner pmixuser1 --action observe; echo "code $?")" \
    '^allowed: pmixuser2 .* from this host, as 10\.99\..*the gate.*code 0'
like "with any tool" "$(visitor "$pmixhost" with "$job.0" -- "$clients/tool" who table "$nspace")" \
    "^tool $nspace\\.tool\\..*process 0 "
# The job's user could come to a gate with it.
said_by() { visitor env PMIX_MCA_psec=munge "$pmixhost" with "$job.0" -- env PMIX_DEBUG=9 "$@" "$clients/tool" who 2>&1; }
unlike "which gives no credential of munge away" "$(said_by)" 'munge create_cred'
like "as it would otherwise" "$(said_by PMIX_MCA_psec=munge)" 'munge create_cred'
like "which publishes for its processes" \
    "$(visitor "$pmixhost" with "$job.0" -- "$clients/tool" publish test.key session find test.key unpublish test.key)" \
    "^publish: PMIX_SUCCESS.*found a tool's of $nspace\\.tool\\..*unpublish: PMIX_SUCCESS"
like "the job's log has who looked, and by which rule" "$(cat "$log")" \
    "tools: allowed: uid 60002, from 10\\.99\\.[0-9.]+: observe of job [0-9.]+ of uid 60001, by .*allow everything by pmixuser2"
visitor "$pmixhost" output -l "$job" >"$test_dir/reads" &
reader=$!
ok "and reads its output" until_true 20 grep -q '^0: there 0' "$test_dir/reads"
owner "$pmixhost" output -l "$job" >"$test_dir/read" &
own_reader=$!
both_pull() { (($(grep -c 'output of job .* is pulled' "$log") == 2)); }
ok "its user comes, too" until_true 20 both_pull # who comes as the second gets nothing of before
is "a signal of the visitor's is passed on" "$(visitor "$pmixhost" signal -s USR1 "$job"; echo "code $?")" "code 0"
ok "and the processes hear it" until_true 20 grep -q '^[01]: signalled' "$test_dir/reads"
ok "while the job's user reads, too" until_true 20 grep -q '^[01]: signalled' "$test_dir/read"
for user in pmixuser1 pmixuser2; do on_host head pkill -INT -u "$user" -f "$pmixhost output"; done
wait "$reader" "$own_reader"

# Slurm lets nobody into another user's job, and the kernel nobody look at another user's process: no rule changes that.
for command in stacks "debug -e ranks --attach"; do
    # shellcheck disable=SC2086 # its words
    like "no rule lets a visitor in with a debugger: ${command%% *}" "$(visitor "$pmixhost" $command "$job"; echo "code $?")" \
        "^pmixhost: error: job $nspace: debuggers are a step of the job, .*code 1"
done
ok "and the job runs on" both_are_there

# A visitor that stays.
visitor "$pmixhost" with "$job" -- sh -c "echo >$test_dir/here; exec sleep 40" >/dev/null &
visit=$!
ok "a visit lasts" until_true 20 test -f "$test_dir/here"
port=$(on_host head ss -Hltnp | grep pmixhostd | grep -o '127.0.0.1:[0-9]*' | head -n 1)
silent() { as_user "$1" timeout -k 5 20 bash -c "exec 3<>/dev/tcp/${port/://} && read -r -t 3 <&3; echo \$?" 2>&1; }
is "its visitor may connect there" "$(silent pmixuser2)" 142
is "and nobody else, nor the job's user" "$(silent pmixuser1) $(silent root)" "1 1"
on_host head pkill -KILL -u pmixuser2 -x sleep
wait "$visit"
ok "it ends with its visitor" until_true 20 eval '[[ -z $(on_host head ss -Hltnp | grep pmixhostd) ]]'
is "and leaves no directory" "$(on_host head find /tmp -maxdepth 1 -name 'pmixhost-desk.*' -o -maxdepth 1 -name 'pmixhost-with.*')" ""

like "whom no rule lets is told how to find out why" \
    "$(as_user root timeout 40 "$pmixhost" ps "$job" 2>&1; echo "code $?")" \
    'do not give uid 0 observe, which ps takes, on jobs of uid 60001.*policy explain --user 0 --owner 60001 --action observe.*code 1'
ok "the gate's log has it" logged "tools: refused: uid 0.*observe of job $job of uid 60001"
like "the command says the same" \
    "$(visitor "$pmixhost" policy explain --user root --owner pmixuser1 --host 10.99.0.1 --action observe)" 'refused'
# What is no wish; silent ones, more than there is room for; somebody else's number does not help.
at_door() { # USER PYTHON
    as_user "$1" timeout 40 python3 -c "
import socket
def door():
    one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    one.connect('$door/door') # may have to wait in line
    one.settimeout(20)
    return one
$2" 2>&1
}
for wish in '' 'visit' 'visit 60001' 'visit 60001 ' 'visit -1 1' 'visit 99999999999 1' "visit 60001 $job x" "$(printf 'visit 60001 %0200d' 1)"; do
    like "no wish: '${wish:0:30}'" "$(at_door pmixuser2 "
one = door()
one.send(b'$wish' or b' ')
print(one.recv(4096))")" 'failed invalid .*no wish'
done
like "nobody's job" "$(at_door pmixuser2 "
one = door()
one.send(b'visit 60001 999999')
print(one.recv(4096))")" 'failed (not_found|unreachable) '
like "a user whom nobody knows" "$(at_door pmixuser2 "
one = door()
one.send(b'visit 4000000 $job')
print(one.recv(4096))")" 'failed system .*not known'
at_door pmixuser1 "
kept = [door() for _ in range(300)]
print('knocked', flush=True)
import time
time.sleep(30)" >"$test_dir/silent" &
silent=$!
ok "two hundred and more silent ones of another user" until_true 20 eval '(($(on_host head ss -Hxa src "$door/door" | wc -l) > 16))'
like "keep no visitor out" "$(visitor "$pmixhost" ps "$job")" "$nspace +1 "
on_host head pkill -KILL -u pmixuser1 -x python3
wait "$silent" 2>/dev/null
# Who leaves while the job is looked for.
several=$(for _ in {1..3}; do visitor "$pmixhost" ps "$job" & done; wait)
is "three commands of one visitor at once" "$(grep -c "^$nspace " <<<"$several")" 6
at_door pmixuser2 "
for _ in range(45): # more than enough for the twenty of a minute, whenever that has begun
    one = door()
    one.send(b'visit 60001 999999')
    one.close()"
like "one who comes again and again has to wait" "$(for _ in {1..25}; do visitor "$pmixhost" ps "$job" | grep -o 'come too often'; done | sort -u)" 'come too often'
is "their user's own tools come as ever" "$(owner "$pmixhost" ps "$job" | awk -v job="$nspace" '$1 == job' | grep -c .)" 2
close_gate
like "without a gate it is said whose job it is, and what is missing" "$(visitor "$pmixhost" ps "$job"; echo "code $?")" \
    "it is a job of uid 60001\\. .*pmixhost-gate.*$door/door.*code 1"
is "its door goes with it" "$(on_host head find "$door" -mindepth 1)" ""
end_round

with_rules '"deny debug by @pmixuser2 to jobs of anyone from anywhere"' '"allow everything by @pmixuser2 to jobs of @pmixuser1 from 10.99.0.1"'
ok "another job, with rules for groups" both_are_there
like "who may do all but one thing is not let in" "$(visitor "$pmixhost" with "$job" -- true; echo "code $?")" 'do not give uid 60002 everything.*code 1'
like "as policy explain says, too" \
    "$(visitor "$pmixhost" policy explain --owner pmixuser1 --action spawn; echo "code $?")" \
    '^refused: .*deny debug by @pmixuser2.*allows spawn, without effect: .*and debug is refused.*code 1'
end_round
with_rules '"allow everything by @pmixuser2 to jobs of @pmixuser1 from 10.99.0.1"' \
    '"allow observe by root to jobs of pmixuser1 from 10.99.0.1"' \
    '"allow everything by anyone to jobs of themselves from 10.99.0.1"'
ok "and one more" both_are_there
# As many as may be at a step for other users, of whom one is the fifth.
visits=()
for _ in 1 2 3 4; do
    visitor "$pmixhost" with "$job" -- sh -c "echo >>$test_dir/stays; exec sleep 40" >/dev/null &
    visits+=($!)
done
ok "four visits last" until_true 20 eval '(($(wc -l <"$test_dir/stays") == 4))' 2>/dev/null
root_looks() { as_user root timeout 40 "$pmixhost" ps "$job" 2>&1; }
like "one more of another user is told that there are too many" "$(root_looks; echo "code $?")" \
    'tools of 4 other users are at this job already; next: once more, when one has gone.*code 1'
like "while the job's own user comes" "$(owner "$pmixhost" ps "$job")" "$nspace +1 "
on_host head pkill -KILL -u pmixuser2 -o -x sleep
looks() { [[ $(root_looks) == *"$nspace "* ]]; }
ok "and comes in when one has gone" until_true 20 looks
on_host head pkill -KILL -u pmixuser2 -x sleep
wait "${visits[@]}"
visitor "$pmixhost" events --kind 7205 "$job" >"$test_dir/heard" &
listener=$!
ok "a visitor listens" until_true 20 grep -q 'listening to job' "$test_dir/heard"
owner "$pmixhost" with "$job" -- "$clients/tool" global 7205 >/dev/null
ok "a visitor hears what happens" until_true 20 grep -q ' 7205 ' "$test_dir/heard"
is "who may does" "$(visitor "$pmixhost" kill "$job"; echo "code $?")" "code 0"
ok "a kill ends the job" until_true 30 eval '! kill -0 "$job_pid" 2>/dev/null'
ok "and who listens has nothing more to hear" until_true 30 eval '! kill -0 "$listener" 2>/dev/null'
end_round

configure_logged '[tools]' "policy = [$everything]" '[gate]' "door = \"$test_dir/nowhere\""
open_gate
ok "a gate without room for a door serves all the same" logged 'who may do something with jobs of others is not served .gate.door.: .*nowhere'
close_gate
((test_failures == 0)) || diag "$(cat "$gate_log" "$log")"
configure
ok "nothing is left" no_litter 30
done_testing
