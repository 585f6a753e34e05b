#!/bin/bash
# The gate: on a login host, tools that ask for the system's server find their user's job, each its own.
. "$(dirname "$0")/../common/words.sh"

gate=$PMIXHOST_BUILD/server-glue/pmixhost-gate gate_log=$test_dir/gate.log opened=0 log=$test_dir/daemons.log
file=/tmp/pmix.sys.$(on_host head hostname) place=/tmp
allow='"allow everything by anyone to jobs of themselves from 10.99.0.0/16, here"'
tool() { as_user "$1" timeout -k 5 90 env PMIX_SYSTEM_TMPDIR="$place" "$clients/tool" system yes "${@:2}" 2>&1; }
logged() { until_true 10 grep -qE "$1" "$gate_log"; } # which a thread of its own writes
gate_pid() { on_host head pgrep -o -x pmixhost-gate; }
desk() { on_host head pgrep -u "$1" -f '[p]mixhostd --gate-desk'; }
gate_line=
rules() { # RULE ...
    local IFS=,
    configure_logged '[tools]' "policy = [$*]" '[gate]' 'idle = "6s"' 'spawn = "off"' "$gate_line"
}
gate_command=("$gate")
open_gate() { # OPTION ...
    [[ ! -f $gate_log ]] || cp "$gate_log" "$gate_log.$((++opened))"
    : >"$gate_log"
    on_host head "${gate_command[@]}" "$@" >"$gate_log" 2>&1 </dev/null &
    gate_job=$!
}
is_open() { until_true 20 logged 'served at tcp4://127'; }
# start USER NAME [PROGRAM ...]: a job in the background; sets $started to its namespace.
job_pids=()
start() {
    local program=("${@:3}")
    ((${#program[@]})) || program=("$clients/visited")
    (cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user "$1" -- \
        srun "$mpi" -O -J "$2" -N1 -n1 "${program[@]}") >"$test_dir/of-$2" 2>&1 </dev/null &
    job_pids+=($!)
    until_true 60 grep -q '^there 0' "$test_dir/of-$2"
    started=slurm.$(as_user root squeue -h -n "$2" -o %A).0
}

rules "$allow"
open_gate
wait "$gate_job"
like "as root it does not run" "$(cat "$gate_log")" 'does not run as root; next: --user NAME'
open_gate --user nobody
ok "as somebody it does" is_open
is "everybody may read its file, which is its own" "$(on_host head stat -c '%a %U' "$file")" "644 nobody"
# What a process may, on a line; and what it should be. No other program gets more by any of them: the bounding set.
privileges() { # PID
    on_host head awk '/^(Uid|Gid|Groups|NoNewPrivs|Cap[A-Z][a-z]+):/ { $1 = $1; printf "%s; ", $0 }' "/proc/$1/status"
}
expected() { # USER CAPABILITIES
    local user group groups
    user=$(on_host head id -u "$1") group=$(on_host head id -g "$1") groups=$(on_host head id -G "$1")
    printf 'Uid: %s %s %s %s; Gid: %s %s %s %s; Groups: %s; ' "$user" "$user" "$user" "$user" \
        "$group" "$group" "$group" "$group" "$groups"
    printf 'CapInh: %016x; CapPrm: %016x; CapEff: %016x; CapBnd: %016x; CapAmb: %016x; NoNewPrivs: 1; ' \
        0 "0x$2" "0x$2" 0xc0 0
}
descriptors() { on_host head find "/proc/$1/fd" -mindepth 1 -printf '%f %l\n' | sort -n; }
libraries() { on_host head cat "/proc/$1/maps" | grep -o '/[^ ]*\.so[^ ]*' | sort -u; }
starter=$(on_host head pgrep -x pmixhost-start)
is "it has no capability" "$(privileges "$(gate_pid)")" "$(expected nobody 0)"
is "and its starter those to become users" "$(privileges "$starter")" "$(expected nobody c0)"
like "which has one socket, to the gate" "$(descriptors "$starter" | sed '1,3d')" '^3 socket:\[[0-9]+\]$'
for each in "$(gate_pid)" "$starter"; do
    like "what it contains can be read" "$(libraries "$each")" '/libc\.so'
    unlike "and is no libpmix" "$(libraries "$each")" libpmix
done

began=$SECONDS
like "who has no job gets a clear error" "$(tool pmixuser1 who)" '^init: PMIX_ERR'
ok "soon" test $((SECONDS - began)) -le 30
ok "and the log says why" until_true 10 logged 'refused: uid 60001, by the .*desk: no step of the user runs that pmixhost serves'
like "root gets none" "$(tool root who)" '^init: PMIX_ERR'
ok "nor a desk" logged "root's tools have no desk"

# It writes a line ten times a second.
start pmixuser1 mine sh -c "(until [ -e $test_dir/quiet ]; do echo tick; sleep 0.1; done) & exec $clients/visited"
mine=$started
like "a tool finds its user's job" "$(tool pmixuser1 who namespaces)" "^tool $mine\\.tool\\..*namespace $mine"
like "and its processes" "$(tool pmixuser1 table "$mine")" "process 0 "
like "another user's does not" "$(tool pmixuser2 who)" '^init: PMIX_ERR'
start pmixuser2 other
other=$started
theirs=$(tool pmixuser2 namespaces)
like "it finds its own" "$theirs" "^namespace $other"
unlike "and nothing else" "$theirs" "$mine"
like "whose user comes again" "$(tool pmixuser1 namespaces)" "^namespace $mine"
tool pmixuser2 namespaces >/dev/null # or its desk may have been idle for too long
is "each user has a desk of the own" "$(desk pmixuser1 | grep -c .) $(desk pmixuser2 | grep -c .)" "1 1"
of_desk=$(desk pmixuser1) # which stays for six seconds
of_desk=$(privileges "$of_desk")$'\n'$(descriptors "$of_desk")
is "its desk has no capability" "$(sed -n 1p <<<"$of_desk")" "$(expected pmixuser1 0)"
like "nor the gate's log" "$(sed -n 2,5p <<<"$of_desk" | paste -sd ' ')" \
    '^0 /dev/null 1 /dev/null 2 /dev/null 3 socket:\[[0-9]+\]$'
own='^(/dev/null|socket:.*|pipe:.*|anon_inode:\[event(poll|fd)\])$'
kinds=$(sed '1d; s/^[0-9]* //' <<<"$of_desk" | grep -vE "$own" | sort -u)
is "nor anything that was open, but its own log" "$kinds" "$log"
others=$(descriptors "$(gate_pid)")$'\n'$(descriptors "$starter")
like "of the gate's and the starter's sockets" "$others" 'socket:'
is "it has none" "$(grep -o 'socket:.*' <<<"$others" | grep -Fxf - <(grep -o 'socket:.*' <<<"$of_desk"))" ""

# A tool that is here when the rules change, and others come in thousands.
tool pmixuser1 who hold "$test_dir/go" namespaces >"$test_dir/held" &
held=$!
ok "a tool stays" until_true 20 grep -q '^held' "$test_dir/held"
# One that is here and reads what its job writes. It finds the gate by a file that has the name of the job.
install -d -m 1777 "$test_dir/files" "$test_dir/read" "$test_dir/reads"
on_host head cat "$file" >"$test_dir/files/pmix.$(on_host head hostname).tool.$mine"
reader() { # DIRECTORY WHAT ...
    as_user pmixuser1 timeout -k 5 90 env PMIX_SYSTEM_TMPDIR="$test_dir/files" "$clients/io_tool" "$mine" \
        pull "$test_dir/$1" all out "${@:2}" 2>&1
}
ticks() { cat "$test_dir/read/0.out" 2>/dev/null | grep -c '^tick'; }
reader read hold "$test_dir/go_reader" >"$test_dir/reader" &
reading=$!
ok "one reads what its job writes" until_true 20 eval '(($(ticks) > 5))'
address=$(on_host head sed -n '1s/.*tcp4:..//p' "$file")
as_user pmixuser2 timeout 60 python3 -c '
import socket, sys, time
host, port = sys.argv[1].split(":")
several = []
for i in range(2000):
    one = socket.socket()
    one.connect((host, int(port)))
    several.append(one)
print("flooded", flush=True)
until = time.monotonic() + 50
while time.monotonic() < until:
    one = socket.socket()
    try:
        one.connect((host, int(port)))
    except OSError:
        pass
    several.pop(0).close()
    several.append(one)
    time.sleep(0.004)' "$address" >"$test_dir/flood" 2>&1 &
flood=$!
ok "two thousand connections of another user come" until_true 40 grep -q flooded "$test_dir/flood"
before=$(ticks)
like "they keep no tool out" "$(tool pmixuser1 namespaces)" "^namespace $mine"
like "nor one that comes for output" "$(reader reads bytes 50)" 'pull: PMIX_SUCCESS.*finalize: PMIX_SUCCESS'
ok "and who reads output goes on" until_true 10 eval '(($(ticks) >= before + 10))'
# by the first limit that they come to: on a busy machine they may come slower than so many a second
ok "they are refused" logged 'refused: uid 60002, from this host: (more than [0-9]+ connections in a second|[0-9]+ connections wait|the desk has more connections)'
ok "while more of them come" kill -0 "$flood"
on_host head pkill -KILL -u pmixuser2 -x python3
wait "$flood" 2>/dev/null
touch "$test_dir/go_reader" "$test_dir/quiet"
wait "$reading"
like "which ends in order" "$(cat "$test_dir/reader")" 'finalize: PMIX_SUCCESS'

rules '"deny everything by pmixuser1 to jobs of anyone from anywhere"' "$allow"
on_host head rm "$file"
on_host head pkill -HUP -x pmixhost-gate
ok "a file that was removed is there again" until_true 20 on_host head test -s "$file"
ok "the rules are read again" until_true 20 logged 'rules for tools were read again'
like "who may not come does not" "$(tool pmixuser1 who)" '^init: PMIX_ERR'
ok "the log has the rule" logged 'tools: refused: uid 60001, from this host: observe of jobs of uid 60001, by .*deny everything by pmixuser1'
others_do() { [[ $(tool pmixuser2 namespaces) == *"namespace $other"* ]]; }
ok "others do" until_true 10 others_do # the flood's second has to be over
touch "$test_dir/go"
wait "$held"
like "and who was here goes on" "$(cat "$test_dir/held")" "namespace $mine.*finalize: PMIX_SUCCESS"
again() { # TIMES
    on_host head pkill -HUP -x pmixhost-gate
    until_true 20 eval '(($(grep -c "read again" "$gate_log") == '"$1"'))'
}
rules "$allow" '"allow whatever"'
ok "with a rule that is wrong" again 2
like "nobody is let in" "$(tool pmixuser2 who)" '^init: PMIX_ERR'
rules "$allow"
ok "until it is right" again 3
ok "a desk without tools leaves" until_true 20 eval '! desk pmixuser1 >/dev/null'

told() { grep -c "desk of uid 60001 $1" "$gate_log"; }
leavings=$(told 'is told to leave') quiet=$(told 'has no tools')
like "the next tool has one" "$(tool pmixuser1 namespaces)" "^namespace $mine"
ok "which is without tools again" until_true 10 eval '(($(told "has no tools") > quiet))'
stopped=$(desk pmixuser1)
on_host head kill -STOP "$stopped"
ok "one that does not leave" until_true 20 eval '(($(told "is told to leave") > leavings))'
like "has a successor" "$(tool pmixuser1 namespaces)" "^namespace $mine"
ok "and is killed" until_true 10 eval '! desk pmixuser1 | grep -qx "$stopped"'
# One that has a tool, or it might be told to leave for having none, before the next one comes to it.
tool pmixuser1 who hold "$test_dir/go_stopped" >"$test_dir/holds" &
holds=$!
ok "one has a tool" until_true 20 grep -q '^held' "$test_dir/holds"
stopped=$(desk pmixuser1)
on_host head kill -STOP "$stopped"
leavings=$(told 'is told to leave')
tool pmixuser1 who >"$test_dir/vain" &
vain=$!
ok "one that stands still is told to leave" until_true 20 eval '(($(told "is told to leave") > leavings))'
like "and is replaced, too" "$(tool pmixuser1 namespaces)" "^namespace $mine"
wait "$vain"
like "its tool gets an error" "$(cat "$test_dir/vain")" '^init: PMIX_ERR'
touch "$test_dir/go_stopped"
wait "$holds" # which has lost its desk

tool pmixuser1 who hear lost >"$test_dir/lost" &
lost=$!
ok "one comes again" until_true 20 grep -q '^listens' "$test_dir/lost"
tool pmixuser2 who hold "$test_dir/later" namespaces >"$test_dir/stays" &
stays=$!
ok "beside another user's" until_true 20 grep -q '^held' "$test_dir/stays"
on_host head pkill -KILL -u pmixuser1 -f '[p]mixhostd --gate-desk'
wait "$lost"
like "a desk that is killed costs its tools" "$(cat "$test_dir/lost")" 'heard PMIX_ERR_LOST_CONNECTION'
touch "$test_dir/later"
wait "$stays"
like "and no others" "$(cat "$test_dir/stays")" "namespace $other"
finds_mine() { [[ $(tool pmixuser1 namespaces) == *"namespace $mine"* ]]; }
ok "the next one has a desk" until_true 10 finds_mine # not at once, if that one had just begun

start pmixuser1 second
refused() { [[ $(tool pmixuser1 who) == "init: PMIX_ERR"* ]]; }
ok "of several jobs none is taken" until_true 10 refused # what a desk knows may be a second old
ok "and the log says how to name one" until_true 5 logged 'several steps that pmixhost serves .*pmixhost with JOB'

stopped=$(desk pmixuser1)
on_host head kill -STOP "$stopped"
on_host head pkill -KILL -x pmixhost-gate
wait "$gate_job" 2>/dev/null
ok "when it is killed its starter goes" until_true 10 eval '! on_host head pgrep -x pmixhost-start >/dev/null'
ok "a desk that stands still does not" on_host head kill -CONT "$stopped"
ok "and so do its desks" until_true 10 eval '! on_host head pgrep "^pmixhost" >/dev/null'
ok "the file stays" on_host head test -e "$file"
# As a service manager starts it: with a socket, as the user, with two capabilities.
# shellcheck disable=SC2016
gate_command=(python3 -c '
import os, socket, sys
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", 294))
if listener.fileno() != 3:
    os.dup2(listener.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execvp(sys.argv[1], sys.argv[1:])' setpriv --reuid nobody --regid nogroup --clear-groups --no-new-privs
    --inh-caps=-all,+setuid,+setgid --bounding-set=-all,+setuid,+setgid --ambient-caps=-all,+setuid,+setgid "$gate")
open_gate
ok "the next one takes its place" is_open
ok "with the socket that it is given" logged 'tcp4://127.0.0.1:294$'
is "it has no capability, as its user started it" "$(privileges "$(gate_pid)" | sed 's/Groups:[^;]*//')" \
    "$(expected nobody 0 | sed 's/Groups:[^;]*//')"
like "tools find that" "$(tool pmixuser2 namespaces)" "^namespace $other"
on_host head pkill -TERM -x pmixhost-gate
wait "$gate_job"
is "it ends in order" "$?" 0
is "and leaves no file" "$(on_host head find /tmp -maxdepth 1 -name '.pmixhost*' -o -maxdepth 1 -name 'pmix.*')" ""
ok "and no process" until_true 20 eval '! on_host head pgrep "^pmixhost" >/dev/null'
gate_command=("$gate")

# One desk alone.
gate_line='max_desks = 1'
rules "$allow"
open_gate --user nobody
ok "a gate may have one desk alone" is_open
tool pmixuser2 namespaces hold "$test_dir/may-go" >"$test_dir/holds" &
holder=$!
ok "a user's tool has it" until_true 30 grep -q '^held' "$test_dir/holds"
unlike "another user's gets none" "$(tool pmixuser1 namespaces)" '^namespace'
ok "and the log says why" logged 'refused: uid 60001.*1 desks serve other users \(gate\.max_desks\)'
touch "$test_dir/may-go"
wait "$holder"
ok "that one leaves when its tools have gone" until_true 30 eval '[[ -z $(desk pmixuser2) ]]'
tool pmixuser1 namespaces >/dev/null
ok "and the next user comes to his own" logged 'uid 60001, by the .*desk: the user has several steps'
on_host head pkill -TERM -x pmixhost-gate
wait "$gate_job"
gate_line=

# On a compute host, beside the daemons of jobs there.
compute=$(host_name 1)
there() { "${on_cluster[@]}" --user "$1" --host "$compute" -- env PMIX_SYSTEM_TMPDIR=/tmp timeout -k 5 60 "${@:2}" 2>&1; }
rules "$allow"
: >"$gate_log"
on_host "$compute" "$gate" --user nobody >"$gate_log" 2>&1 </dev/null &
gate_job=$!
ok "a gate on a compute host" is_open
like "leads a user's tool to his job" "$(there pmixuser2 "$clients/tool" system yes who namespaces)" \
    "^tool .*namespace $other"
like "nobody to another user's" "$(there pmixuser1 "$clients/tool" system yes namespaces)" '^init: PMIX_ERR'
ok "and the log says why" logged 'uid 60001, by the .*desk: the user has several steps'
on_host "$compute" pkill -TERM -x pmixhost-gate
wait "$gate_job"
is "it ends in order there, too" "$?" 0
like "the user's own commands need it not" "$(there pmixuser2 "$PMIXHOST_BUILD/tools/pmixhost" ps "$other")" "$other +0 "
is "and leaves no file there" "$(on_host "$compute" find /tmp -maxdepth 1 -name 'pmix.sys.*')" ""

on_host head touch "$file"
on_host head chown pmixuser2 "$file"
open_gate --user nobody
wait "$gate_job"
like "where the file is somebody else's it does not serve" "$(cat "$gate_log")" 'is a file of uid 60002'
on_host head rm "$file"

((test_failures == 0)) || diag "$(cat "$test_dir"/gate.log.* "$log")"
as_user root scancel -u pmixuser1
as_user root scancel -u pmixuser2
wait "${job_pids[@]}" 2>/dev/null
end_jobs
configure
ok "nothing is left" no_litter 30
done_testing
