#!/bin/bash
# A desk that is killed while it has tools: each of them is told, whatever it is doing; the job goes on, the daemon has
# closed the connections of all of them, and the next desk serves as many as that one.
. "$(dirname "$0")/../common/words.sh"

out=$test_dir/visited log=$test_dir/daemons.log pmixhost=$PMIXHOST_BUILD/tools/pmixhost
host=$(host_name 1) other=$(host_name 2)
at_login() { as_user pmixuser1 timeout -k 5 60 "$@" 2>&1; }
through_desk() { at_login "$pmixhost" with "$job" -- "$clients/tool" "$@"; }
said() { (($(grep -c "^$1" "$out") == $2)); } # TEXT TIMES
logged() { (($(grep -cE "$1" "$log") >= $2)); } # REGEX TIMES
desk() { on_host head pgrep -u pmixuser1 -f '[p]mixhostd --desk'; }
desks() { desk | grep -c .; }
# Of ten connections all desks together have half: five.
rule='policy = ["allow everything by anyone to jobs of themselves from 10.99.0.0/16"]'

begin_job() { # LINE-OF-TOOLS ...
    rm -f "$log"
    touch "$log"
    chmod 666 "$log"
    : >"$out"
    configure '[log]' "file = \"$log\"" 'level = "info"' '[tools]' 'max_connections = 10' "$rule" "$@"
    (cd "$test_dir" && exec timeout -k 5 320 "${on_cluster[@]}" --user pmixuser1 -- env CLIENT_LIMIT=300 \
        srun "$mpi" -N2 -n4 -w "$host,$other" --ntasks-per-node=2 -m block "$clients/visited") >"$out" 2>&1 </dev/null &
    job_pid=$!
    ok "a job runs" until_true 40 said there 4
    job=$(as_user root squeue -h -u pmixuser1 -o %i)
    nspace=slurm.$job.0
}
end_job() {
    through_desk notify 7202 "$nspace" >/dev/null
    wait "$job_pid"
    is "$1" "$? $(grep -c '^ok' "$out")" "0 4"
}

# with_tools NAME: five tools at one desk. One signals the processes and one asks for their table when "NAME/go" is
# there, one waits for the loss of its connection, and two ask each something when "NAME/late" is there.
# shellcheck disable=SC2016 # for the user's shell
with_tools() {
    local at=$test_dir/$1
    mkdir -m 1777 "$at"
    (exec timeout -k 5 150 "${on_cluster[@]}" --user pmixuser1 -- "$pmixhost" with "$job" -- sh -c '
        "$0" hold "$1/go" signal 10 "$2" >"$1/signal" 2>&1 &
        CLIENT_LIMIT=40 "$0" hold "$1/go" table "$2" >"$1/table" 2>&1 &
        "$0" hear lost >"$1/hear" 2>&1 &
        "$0" hold "$1/late" namespaces >"$1/late-namespaces" 2>&1 &
        "$0" hold "$1/late" spawn /bin/true >"$1/late-spawn" 2>&1 &
        wait
        exit 7' "$clients/tool" "$at" "$nspace") >"$at/with" 2>&1 </dev/null &
    with_pid=$!
}
held() {
    (($(cat "$test_dir/$1"/{signal,table,late-*} 2>/dev/null | grep -c '^held') == 4)) &&
        grep -q '^listens' "$test_dir/$1/hear"
}
left() { on_host head find /tmp -maxdepth 1 '(' -name 'pmixhost-desk.*' -o -name 'pmixhost-with.*' ')'; }
# Has a process of that host something to read? The daemon there has stopped, so it is asked and has not answered.
asked() { on_host "$1" ss -Htnp | awk -v by="pid=$2," 'index($0, by) && $2 > 0 {found = 1} END {exit !found}'; }

# ------------------------------------------------------------------------------------- pmixhost with

begin_job
distant=$(on_host "$other" sh -c "sed -n 3p \$(find /tmp -maxdepth 2 -name 'pmix.$other.tool')")
with_tools killed
ok "five tools are at one desk" until_true 40 held killed
is "which is alone" "$(desks)" 1
like "a sixth one is too much" "$(at_login "$pmixhost" with "$job" -- "$clients/tool" who)" '^init: PMIX_ERR'
on_host "$other" kill -STOP "$distant"
touch "$test_dir/killed/go"
ok "two of them wait for an answer" until_true 10 asked "$other" "$distant"
on_host head kill -KILL "$(desk)"
# fails FILE [WHAT]: it has ended with an error.
fails() { grep "^${2:-$1}: " "$test_dir/killed/$1" | grep -qvE 'PMIX_(SUCCESS|OPERATION_SUCCEEDED)'; }
ok "one that waits for an answer gets an error" until_true 10 fails signal
what="so does one that waits for that of a query"
ok "$what" until_true "$(patience "$what" 5)" fails table ||
    on_host head pkill -u pmixuser1 -f "hold $test_dir/killed/go table" # which would wait for its own limit
on_host "$other" kill -CONT "$distant"
ok "one that waits for an event is told of the loss" \
    until_true 10 grep -q '^heard PMIX_ERR_LOST_CONNECTION' "$test_dir/killed/hear"
touch "$test_dir/killed/late"
wait "$with_pid"
is "all of them end, and their exit code is that of pmixhost with" "$?" 7
ok "one that asks later gets an error" fails late-namespaces namespaces
ok "as does one that would spawn" fails late-spawn spawn
is "nothing of the desk is left" "$(desks) $(left)" "0 "
ok "the daemon has heard of it" until_true 10 logged 'the desk on 10\.99\.[0-9.]+ is gone: ' 1

# The five would count still, had the daemon not closed them.
with_tools next
ok "the next desk has five tools at once" until_true 40 held next
touch "$test_dir/next/go" "$test_dir/next/late"
answered() { grep -q "$2: PMIX_SUCCESS" "$test_dir/next/$1"; }
ok "the table is theirs" until_true 20 answered table table
ok "the namespaces, too" until_true 20 answered late-namespaces namespaces
ok "and a program is spawned" until_true 20 answered late-spawn spawn
on_host head kill -KILL "$(desk)" # the fifth one waits for that
wait "$with_pid"
is "they end, too" "$?" 7

# Of sixteen desks at once each has a place, of those that were killed none.
for _ in {1..16}; do
    at_login "$pmixhost" with "$job" -- pkill -KILL -u pmixuser1 -f '[p]mixhostd --desk' >/dev/null
done
like "after sixteen more that were killed there is room" "$(through_desk namespaces)" "namespace $nspace"
is "nothing of them is left" "$(desks) $(left)" "0 "
is "the processes have heard nothing of all that" "$(grep -cE '^(heard|FAIL)' "$out")" 0
end_job "the job ends well"

# -------------------------------------------------------------------------------------- beside srun

begin_job 'launchers = "on"'
starters=/tmp/pmixhost-starters-60001
there_is_a_file() { [[ -n $(on_host head find $starters -name "pmix.*.tool.$nspace" 2>/dev/null) ]]; }
ok "tools find it where srun is" until_true 10 there_is_a_file
desk() { on_host head pgrep -u pmixuser1 -x pmixhostd; } # there is no other
at_login "$clients/tool" nspace "$nspace" hear lost >"$test_dir/beside" &
beside=$!
ok "one has come" until_true 20 grep -q '^listens' "$test_dir/beside"
on_host head kill -KILL "$(desk)"
wait "$beside"
like "the tool is told of the loss of srun's desk" "$(cat "$test_dir/beside")" \
    '^listens.*heard PMIX_ERR_LOST_CONNECTION'
like "pmixhost with reaches the job" "$(through_desk namespaces)" "namespace $nspace"
end_job "srun and the job end well"
configure
ok "nothing is left" no_litter 30
done_testing
