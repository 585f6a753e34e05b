#!/bin/bash
# Tools on a login host, where the job has no daemon: a desk relays them, as far as the site's rules say.
. "$(dirname "$0")/../common/words.sh"

out=$test_dir/visited log=$test_dir/daemons.log pmixhost=$PMIXHOST_BUILD/tools/pmixhost
host=$(host_name 1)
at_login() { as_user pmixuser1 timeout -k 5 60 "$@" 2>&1; }
other_user() { as_user pmixuser2 timeout -k 5 60 "$@" 2>&1; }
said() { (($(grep -c "^$1" "$out") == $2)); } # TEXT TIMES
desks() { on_host head pgrep -fc 'pmixhostd --desk'; }

# under NAME RULE ...: a job of pmixuser1 runs with these lines of [tools]
under() {
    configure_logged '[tools]' "${@:2}"
    : >"$out"
    (cd "$test_dir" && exec timeout -k 5 120 "${on_cluster[@]}" --user pmixuser1 -- \
        srun "$mpi" -N2 -n2 -w "$host,$(host_name 2)" "$clients/visited") >"$out" 2>&1 </dev/null &
    job_pid=$!
    ok "$1: the job runs" until_true 30 said there 2
    job=$(as_user root squeue -h -t R -u pmixuser1 -o %i)
    nspace=slurm.$job.0
}
end_job() {
    on_host "$host" pkill -KILL -x visited
    on_host "$(host_name 2)" pkill -KILL -x visited
    wait "$job_pid"
}
through_desk() { at_login "$pmixhost" with "$job" -- "$clients/tool" "$@"; }

under "without a rule"
like "a tool of another host is refused, with the line" "$(through_desk who)" \
    "job $nspace lets no tools of this host in: the rules for tools refuse it: built in.*; what may come from 10.99.0.1 .*tools.policy"
is "the exit code says so" "$(at_login "$pmixhost" ps "$job" >/dev/null; echo $?)" 1
like "on the job's host it works as ever" \
    "$("${on_cluster[@]}" --user pmixuser1 --host "$host" -- timeout -k 5 60 "$pmixhost" with "$job" -- "$clients/tool" who 2>&1)" \
    "^tool $nspace"
end_job

under "a rule for the login host" 'policy = ["allow everything by anyone to jobs of themselves from 10.99.0.0/16"]'
like "a tool there finds the job with pmixhost with" "$(through_desk who namespaces)" "^tool $nspace\\.tool\\.0\\.[0-9]+ 0"
like "and its server" "$(through_desk namespaces)" "^namespace $nspace"
like "of two keys it gets the one that is known" "$(through_desk two)" 'two: PMIX_ERR_PARTIAL_SUCCESS'
like "by the namespace too" "$(at_login "$pmixhost" with "$nspace" -- "$clients/tool" nspace "$nspace" who)" "^tool $nspace"
ps=$(at_login "$pmixhost" ps "$job.0")
is "pmixhost ps lists the processes" "$(awk -v job="$nspace" 'NR > 1 && $1 == job {print $2}' <<<"$ps" | tr '\n' ' ')" "0 1 "
at_login "$pmixhost" signal -s USR1 "$job"
ok "pmixhost signal reaches them" until_true 10 said signalled 2
like "a tool may spawn" "$(through_desk spawn /bin/true)" '^spawned slurm'
like "and publish" "$(through_desk publish test.key process find test.key)" "^publish: PMIX_SUCCESS.*found a tool's of $nspace\\.tool\\.0\\.[0-9]+ 0"
on_job_host() { "${on_cluster[@]}" --user pmixuser1 --host "$host" -- timeout -k 5 60 "$clients/tool" nspace "$nspace" "$@" 2>&1; }
gone_there() { [[ $(on_job_host find "$1") == *"find: PMIX_ERR_NOT_FOUND"* ]]; } # KEY
ok "which goes with it" until_true 10 gone_there test.key
at_login "$pmixhost" publish "$job" test.key 'a port'
like "pmixhost publish gives the job a text" "$(on_job_host find test.key)" '^found a port of pmixhost\.publish\.'
at_login "$pmixhost" unpublish "$job" test.key
ok "and pmixhost unpublish takes it back" gone_there test.key
big=$(at_login "$pmixhost" with "$job" -- sh -c '
    for i in 1 2 3 4 5 6 7 8; do "$0" who namespaces >"$1.$i" 2>&1 & done; wait; cat "$1".*' "$clients/tool" "$test_dir/several")
is "eight tools at once are served by one desk" "$(grep -c "^namespace $nspace" <<<"$big")" 8
like "another user's job is not reached" "$(other_user "$pmixhost" with "$job" -- "$clients/tool" who)" \
    "^pmixhost: error: no PMIx server of job $job is on this host, and none was reached elsewhere: it is a job of uid 60001\."
like "nor one that is not there" "$(at_login "$pmixhost" with 999999 -- "$clients/tool" who)" 'none was reached elsewhere: .*999999'
like "nor what is no job" "$(at_login "$pmixhost" with what -- "$clients/tool" who)" "'what' is no job; allowed: JOB, JOB.STEP"
# An end that nobody can prepare for.
as_user pmixuser1 timeout -k 5 20 bash -c '"$0" with "$1" -- sleep 30 & sleep=$!
    until pgrep -u pmixuser1 -fx "sleep 30" >/dev/null; do :; done; kill -KILL $sleep; pkill -KILL -u pmixuser1 -fx "sleep 30"' \
    "$pmixhost" "$job" >/dev/null 2>&1
ok "a desk whose starter is killed ends" until_true 30 eval '(($(desks) == 0))'
is "and removes its directory" "$(on_host head find /tmp -maxdepth 1 -name 'pmixhost-desk.*')" ""
left_behind() { on_host head find /tmp -maxdepth 1 '(' -name 'pmixhost-with.*' -o -name 'pmixhost-desk.*' ')'; }
is "its starter cannot remove its own" "$(left_behind | grep -c with)" 1
through_desk who >/dev/null
is "which the next one does" "$(left_behind)" ""

(cd "$test_dir" && exec timeout -k 5 60 "${on_cluster[@]}" --user pmixuser1 -- \
    "$pmixhost" with "$job" -- sh -c 'echo ready >ready; exec sleep 50') >/dev/null 2>&1 </dev/null &
with_pid=$!
ok "a desk stays as long as its tool" until_true 20 eval '[[ -f $test_dir/ready ]] && (($(desks) == 1))'
port=$(on_host head ss -Hltnp | grep pmixhostd | grep -o '127.0.0.1:[0-9]*' | head -n 1)
ok "which listens" test -n "$port"
uri="$nspace.server.0;tcp4://$port"
like "and lets its own user in by its address" "$(at_login "$clients/tool" uri "$uri" who)" "^tool $nspace"
# Before a byte of who it says it is; 142: it still waits for one.
silent() { as_user "$1" timeout -k 5 20 bash -c "exec 3<>/dev/tcp/${port/://} && read -r -t 8 <&3; echo \$?" 2>&1; }
is "who says nothing is waited for" "$(silent pmixuser1)" 142
is "unless it is another user" "$(silent pmixuser2)" 1
unlike "and lets no other user in" \
    "$(other_user "$clients/tool" uri "$nspace.server.0;tcp4://$port" who)" '^tool'
on_host head pkill -KILL -x sleep
wait "$with_pid"
is "and goes with it" "$(desks)" 0
like "the log has who looked, and from where" "$(cat "$log")" \
    "tools: allowed: uid 60001, pid [0-9]+, from 10\\.99\\.[0-9.]+: observe of job [0-9.]+ of uid 60001"
like "a tool of OpenPMIx itself lists the job" "$(at_login "$pmixhost" with "$job" -- pps | grep ^Active)" "$nspace"
attributes="--host all" # newer ones have another option
! pattrs --help 2>&1 | grep -q -e --host-fns || attributes=--host-fns
for tool in "pquery PMIX_QUERY_NAMESPACES" "pattrs $attributes"; do
    what="OpenPMIx' ${tool%% *} works there"
    # shellcheck disable=SC2086 # its words
    like "$what" "$(at_login "$pmixhost" with "$job" -- timeout -k 2 "$(patience "$what" 30)" $tool)" "$nspace|PMIx_Query"
done
at_login "$pmixhost" events --kind aborted --json "$job" >"$test_dir/heard" &
listener=$!
ok "pmixhost events listens there" until_true 20 grep -q "listening to job $nspace" "$test_dir/heard"
on_host "$(host_name 2)" pkill -KILL -x visited
ok "and tells of a process of another host that is killed" until_true 20 \
    grep -q "PMIX_ERR_PROC_ABORTED.*$nspace:1" "$test_dir/heard"
end_job
ok "and ends with the job" wait "$listener"
like "a job that has ended is not reached" "$(through_desk who)" 'none was reached elsewhere'

under "looking alone" 'policy = ["allow observe by anyone to jobs of themselves from 10.99.0.0/16"]'
like "a tool on the login host may look" "$(through_desk namespaces)" "^namespace $nspace"
like "but signal nobody" "$(through_desk signal 10 "$nspace")" '^signal: PMIX_ERR_NO_PERMISSIONS'
like "nor publish" "$(through_desk publish test.key session)" '^publish: PMIX_ERR_NO_PERMISSIONS'
like "which the command says" "$(at_login "$pmixhost" publish "$job" test.key 'a port')" \
    "^pmixhost: error: job $nspace: the rules for tools refuse it; next: .pmixhost policy explain --action control"
like "nor spawn" "$(through_desk spawn /bin/true)" '^spawn: PMIX_ERR_NO_PERMISSIONS'
miscounts() { # MORE WORD ...: a tool that says that it sends so many more directives than it does
    at_login "$pmixhost" with "$job" -- env LD_PRELOAD="$clients/.libs/miscount.so" MISCOUNT="$1" CLIENT_LIMIT=20 \
        "$clients/tool" "${@:2}"
}
for more in 0 1 5 9; do
    like "with a name of its own, and $more directives that are not there, it may do no more" \
        "$(miscounts $more name "mine$more" 3 who signal 10 "$nspace")" "^tool mine$more 3.*signal: PMIX_ERR_NO_PERMISSIONS"
    like "nor without a name: $more" "$(miscounts $more signal 10 "$nspace")" '^signal: PMIX_ERR_NO_PERMISSIONS'
done
# Nine GiB, more than 32 bits, and what wraps round to one with those that the library adds.
for more in =0x1000000 =0x100000000 =0xfffffffffffffffc; do
    like "where it says that there are $more it is not let in" "$(miscounts $more name mine 3 who)" '^init: PMIX_ERR'
done
like "the log has that" "$(cat "$log")" 'it says that it sends [0-9]+ directives, in [0-9]+ bytes'
like "while one on the job's host may" \
    "$("${on_cluster[@]}" --user pmixuser1 --host "$host" -- timeout -k 5 60 "$clients/tool" nspace "$nspace" signal 10 "$nspace" 2>&1)" \
    '^signal: PMIX_(SUCCESS|OPERATION_SUCCEEDED)'
end_job

# ---------------------------------------------------------------- all jobs of the user

rule='policy = ["allow everything by anyone to jobs of themselves from 10.99.0.0/16"]'
starters=/tmp/pmixhost-starters-60001
# start USER NAME OPTION ... PROGRAM ...: a job in the background, with a name that no other has; sets $started to its
# number.
start() {
    (cd "$test_dir" && exec timeout -k 5 200 "${on_cluster[@]}" --user "$1" -- srun -O -J "$2" "${@:3}") \
        >"$test_dir/of-$2" 2>&1 </dev/null &
    job_pids+=($!)
    until_true 30 eval 'as_user root squeue -h -s -o %j | grep -qx "'"$2"'"' # with -s Slurm does not look at -n
    started=$(as_user root squeue -h -t R -n "$2" -o %A | sort -n)
}
# ps_all HOST [OPTION ...]: pmixhost ps -a of pmixuser1 there; sets $listed, $said_else and $code.
ps_all() {
    code=0
    listed=$("${on_cluster[@]}" --user pmixuser1 --host "$1" -- timeout -k 5 90 "$pmixhost" ps -a "${@:2}" \
        2>"$test_dir/said-else") || code=$?
    said_else=$(cat "$test_dir/said-else")
}
of_json() { python3 -c "import json, sys; r = json.load(sys.stdin); print($1)" <<<"$listed"; }
third=$(host_name 3) job_pids=()
under "one of several jobs" "$rule"
start pmixuser1 beside "$mpi" -N1 -n1 -w "$third" "$clients/visited"
beside=slurm.$started.0
until_true 30 grep -q '^there 0' "$test_dir/of-beside"
start pmixuser1 plain --mpi=none -N1 -n1 sleep 300
plain=$started
start pmixuser2 foreign "$mpi" -N1 -n1 "$clients/visited"
foreign=$started
until_true 30 grep -q '^there 0' "$test_dir/of-foreign"
ps_all head --json
is "pmixhost ps -a lists the jobs of all hosts" "$code $(of_json 'sorted((one["job"] for one in r), key=lambda job: int(job.split(".")[1]))')" "0 ['$nspace', '$beside']"
is "with their processes" "$(of_json 'sorted(p["host"] for one in r for p in one["processes"])')" \
    "['$host', '$(host_name 2)', '$third']"
is "it counts what pmixhost does not serve" "$said_else" "pmixhost: 1 step of yours is not served by pmixhost: $plain.0"
ps_all "$host"
is "on a host of one of them, too" "$code $(awk 'NR > 1 {print $1}' <<<"$listed" | sort -u | tr '\n' ' ')" \
    "0 $(printf '%s\n' "$nspace" "$beside" | sort | tr '\n' ' ')"
unlike "no other user's job is there" "$listed$said_else" "[ .]$foreign\\."
is "the desks are gone" "$(desks)" 0
like "a job is named, or all are meant" "$(at_login "$pmixhost" ps -a "$job"; echo "code $?")" 'pmixhost: error: .*code 2'
screen=$test_dir/screen
: >"$screen"
(cd "$test_dir" && TERM=xterm exec timeout -k 5 100 "${on_cluster[@]}" --user pmixuser1 -- \
    script -qec "$pmixhost ps -aw" /dev/null) >"$screen" 2>&1 </dev/null &
watcher=$!
pictures() { (($(grep -a -o "$1 jobs, $2 processes" "$screen" | wc -l) >= $3)); }
desk_pids() { on_host head pgrep -f 'pmixhostd --desk' | sort -n | tr '\n' ' '; }
ok "it is drawn again and again" until_true 40 pictures 2 3 1
first_desks=$(desk_pids)
ok "with the others' line" until_true 10 grep -a -q "1 step of yours is not served by pmixhost: $plain.0" "$screen"
start pmixuser1 later "$mpi" -N1 -n1 -w "$third" "$clients/visited"
ok "a job that begins meanwhile is added" until_true 60 pictures 3 4 2
like "by one desk more" "$(desk_pids)" "${first_desks% }.* [0-9]"
kill "$watcher"
on_host head pkill -TERM -u pmixuser1 -f "^$pmixhost ps -aw"
wait "$watcher" 2>/dev/null
ok "who ends ends them" until_true 10 eval '(($(desks) == 0))'
on_host "$third" pkill -STOP -u pmixuser1 -x pmixhostd
begin=$EPOCHREALTIME
stuck=$("${on_cluster[@]}" --user pmixuser1 --host "$third" -- \
    timeout -k 5 60 "$pmixhost" ps --timeout 20 "$beside" "slurm.$started.0" 2>&1)
took=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
on_host "$third" pkill -CONT -u pmixuser1 -x pmixhostd
is "jobs that do not answer are told" "$(grep -c 'it does not answer within 20 s' <<<"$stuck")" 2
ok "and waited for at once" eval '((took >= 20000 && took < 38000))'
start pmixuser1 components "$mpi" -N1 -n1 "$clients/visited" : "$mpi" -N1 -n1 "$clients/visited"
until_true 60 grep -q '^there 1' "$test_dir/of-components"
leader=$(head -n 1 <<<"$started")
ps_all head --json
is "a het job is there once" "$(of_json "[len(one['processes']) for one in r if one['job'] == 'slurm.$leader.0']") $(grep -c . <<<"$said_else")" "[2] 1"
as_user root scancel -u pmixuser1
as_user root scancel -u pmixuser2
wait "${job_pids[@]}" "$job_pid" 2>/dev/null
end_jobs

job_pids=()
under "without a rule for others"
start pmixuser1 closed "$mpi" -N1 -n1 -w "$third" "$clients/visited"
until_true 30 grep -q '^there 0' "$test_dir/of-closed"
ps_all head
is "jobs that let no tools in are named together" "$code $(grep -c . <<<"$said_else")" "1 1"
like "with what to do about it" "$said_else" \
    "^pmixhost: error: jobs $job.0, $started.0: tools of this host are not let in: the rules .*tools.policy"
ps_all "$host"
is "what can be listed is" "$code $(awk 'NR > 1 {print $1}' <<<"$listed" | sort -u)" "1 $nspace"
as_user root scancel -u pmixuser1
wait "${job_pids[@]}" "$job_pid" 2>/dev/null
end_jobs

# ---------------------------------------------------------------- found on the host where srun is

under "a launcher that tools find" "$rule" 'launchers = "on"'
own_srun() { on_host head pgrep -o -u pmixuser1 -x srun; }
there_is_a_file() { [[ -n $(on_host head find $starters -name "pmix.*.tool.$nspace" 2>/dev/null) ]]; }
ok "there are rendezvous files where srun is" until_true 10 there_is_a_file
is "only their user can read them" "$(on_host head find $starters -type f -printf '%m %u\n' | sort -u)" "600 pmixuser1"
is "no desk runs before a tool comes" "$(desks)" 0
like "a tool finds the job by its namespace" "$(at_login "$clients/tool" nspace "$nspace" who namespaces)" \
    "^tool $nspace\\.tool\\.0\\.[0-9]+ 0"
like "by srun's process" "$(at_login "$clients/tool" pid "$(own_srun)" namespaces)" "^namespace $nspace"
like "by searching" "$(at_login "$clients/tool" namespaces)" "^namespace $nspace"
like "pmixhost servers lists it" "$(at_login "$pmixhost" servers)" "$nspace +0 +$(own_srun) "
is "pmixhost ps lists its processes" "$(at_login "$pmixhost" ps | awk -v job="$nspace" '$1 == job' | grep -c .)" 2
unlike "no other user gets in" "$(other_user "$clients/tool" nspace "$nspace" who)" '^tool'
is "one desk serves them all" "$(on_host head pgrep -u pmixuser1 -x -c pmixhostd)" 1
# The desk is held up, so it hears of what the job's daemon says last only when srun has ended: then the kernel lets go
# who stands in a group of processes that nobody is left to continue.
at_login "$pmixhost" events --kind aborted --json "$nspace" >"$test_dir/heard" &
listener=$!
ok "a tool listens by the desk" until_true 20 grep -q "listening to job $nspace" "$test_dir/heard"
on_host head pkill -STOP -u pmixuser1 -x pmixhostd
end_job
on_host head pkill -CONT -u pmixuser1 -x pmixhostd
ok "what the daemon says last it hears, though srun has ended" until_true 20 \
    grep -q "PMIX_ERR_PROC_ABORTED.*$nspace:0" "$test_dir/heard"
ok "and ends" wait "$listener"
ok "the desk ends with srun" until_true 15 eval '! on_host head pgrep -u pmixuser1 -x pmixhostd >/dev/null'
is "and the files go" "$(on_host head find /tmp -maxdepth 1 -name 'pmixhost-starters-*')" ""

under "a launcher without a rule" 'launchers = "on"'
ok "has its files" until_true 10 there_is_a_file
unlike "but lets no tool in" "$(at_login "$clients/tool" nspace "$nspace" who)" '^tool'
ok "srun says why" until_true 10 grep -q 'a tool of this host was not let in: job .* lets no tools of this host in' "$out"
is "then there is nothing more to find" "$(on_host head find /tmp -maxdepth 1 -name 'pmixhost-starters-*')" ""
end_job

under "a launcher that is killed" "$rule" 'launchers = "on"'
ok "leaves its files" until_true 10 there_is_a_file
on_host head pkill -KILL -u pmixuser1 -x srun
wait "$job_pid"
left=$(on_host head ls $starters)
end_jobs
under "the next one" "$rule" 'launchers = "on"'
ok "has files of its own" until_true 10 there_is_a_file
unlike "and removes those" "$(on_host head ls $starters)" "^$left\$"
end_job

# ---------------------------------------------------------------- found by a tool that has started srun

# started_by_tool FILE [PROGRAM ...]: as a tool does it; sets $nspace.
started_by_tool() {
    configure '[log]' "file = \"$log\"" '[tools]' "$rule"
    : >"$out"
    (cd "$test_dir" && exec timeout -k 5 120 "${on_cluster[@]}" --user pmixuser1 -- \
        env PMIX_LAUNCHER_RNDZ_FILE="$1" srun "$mpi" -N2 -n2 -w "$host,$(host_name 2)" "$clients/visited") >"$out" 2>&1 </dev/null &
    job_pid=$!
    until_true 30 said there 2
    nspace=slurm.$(as_user root squeue -h -t R -u pmixuser1 -o %i).0
}
asked=/tmp/pmixhost-asked-$$ # on the login host
on_host head mkdir -m 700 "$asked" "$asked-open"
on_host head chown pmixuser1 "$asked" "$asked-open"
on_host head chmod 777 "$asked-open"
started_by_tool "$asked/file"
ok "srun writes the file that a tool asks for" until_true 10 on_host head test -s "$asked/file"
is "only its user can read it" "$(on_host head find "$asked" -type f -printf '%m %u %f\n')" "600 pmixuser1 file"
is "there is none for who searches" "$(on_host head find /tmp -maxdepth 1 -name 'pmixhost-starters-*')" ""
like "a tool finds the job by it" "$(at_login "$clients/tool" attach "$asked/file" who namespaces)" \
    "^tool $nspace\\.tool\\.0\\.[0-9]+ 0.*namespace $nspace"
is "tasks do not get the variable" "$(on_host "$host" bash -c 'for pid in $(pgrep -x visited); do tr "\0" "\n" </proc/$pid/environ; done' |
    grep -c -e LAUNCHER_RNDZ -e PMIXHOST_LAUNCHER)" 0
end_job
is "the file goes with srun" "$(on_host head ls -A "$asked")" ""
on_host head bash -c "echo theirs >$asked/file"
started_by_tool "$asked/file"
ok "one that is there is left alone" until_true 10 grep -q "PMIX_LAUNCHER_RNDZ_FILE: $asked/file is there already" "$out"
is "as it was" "$(on_host head cat "$asked/file")" theirs
end_job
started_by_tool "$asked-open/file"
ok "where others could replace it there is none" until_true 10 \
    grep -q "PMIX_LAUNCHER_RNDZ_FILE: in $asked-open others could replace it" "$out"
is "and no beginning of one" "$(on_host head ls -A "$asked-open")" ""
end_job
on_host head rm -rf "$asked" "$asked-open"

is "no desk is left" "$(desks)" 0
is "nor a directory of one" "$(on_host head find /tmp -maxdepth 1 '(' -name 'pmixhost-desk.*' -o -name 'pmixhost-with.*' ')')" ""
configure
ok "nothing is left" no_litter 30
done_testing
