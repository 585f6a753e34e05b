#!/bin/bash
# A tool that comes by the gate while its user has no job: it starts jobs in allocations that it names or asks for.
. "$(dirname "$0")/../common/words.sh"
. "$(dirname "$0")/../open_gate.sh"

export PMIX_SYSTEM_TMPDIR=/tmp
words=$clients/tool_spawn
allow='"allow everything by anyone to jobs of themselves from 10.99.0.0/16, here"'
rules() { # RULES [LINE ...]
    configure_logged '[tools]' "policy = [$1]" '[gate]' 'idle = "6s"' "${@:2}"
}
tool() { as_user pmixuser1 timeout -k 5 150 "$words" "$@" 2>&1; }
pid_of() { on_host head pgrep -u pmixuser1 -x tool_spawn; }
jobs_of() { as_user root squeue -h -u "$1" -o '%i %T %j'; }
has_none() { [[ -z $(jobs_of "$1") ]]; }
is_free() { until_true 30 has_none pmixuser1; }
without_lobby() { ! on_host head pgrep -u pmixuser1 -f '[p]mixhostd --lobby' >/dev/null; }
# with_output LINES WORD ...: likewise, until so many lines of its jobs, each "out ...", have come; sets $output
with_output() {
    rm -f "$test_dir/all" "$test_dir/of-tool" # that of the one before would be looked at
    tool "${@:2}" hold="$test_dir/all" >"$test_dir/of-tool" &
    local job=$! wanted=$1
    until_true 30 eval '(($(grep -c "^out " "$test_dir/of-tool" 2>/dev/null) >= wanted))'
    touch "$test_dir/all"
    wait "$job"
    output=$(cat "$test_dir/of-tool")
}
refusal() { until_true 10 grep -qE "PMIx_Spawn is refused: $1" "$log"; } # the gate has twenty lines a minute
said() { sed -n "/^$1 /p" <<<"$output"; }

rules "$allow"
ok "the gate is open" open_gate

# --- an allocation that it asks for
# shellcheck disable=SC2016
with_output 2 namespaces queues nodes=2 np=2 time=60 reqid=mine notify out spawn 'echo "out $PMIX_RANK"' ended
like "a tool whose user has no job is let in, and finds none" "$(said namespaces)" '^namespaces PMIX_SUCCESS *-?$'
like "it can ask what the resource manager knows" "$(said queues)" '^queues PMIX_SUCCESS .*main'
like "it has an allocation and its job there" "$(said spawn)" '^spawn PMIX_SUCCESS slurm\.[0-9]+\.[0-9]+ '
is "whose output it gets" "$(grep -c '^out [01]$' <<<"$output")" 2
like "and of whose end it hears" "$(said ended)" '^ended slurm\.[0-9]+\.[0-9]+ 0$'
ok "the allocation is given back" is_free
ok "and the lobby goes with its tool" until_true 20 without_lobby

tool nodes=1 np=1 notify spawn 'exit 3' ended hold="$test_dir/go" >"$test_dir/held" &
held=$!
ok "a job ends" until_true 60 grep -q '^held' "$test_dir/held"
like "with its code" "$(grep ^ended "$test_dir/held")" '^ended slurm\.[0-9]+\.[0-9]+ 3$'
ok "the allocation is given back while the tool is there" is_free
touch "$test_dir/go"
wait "$held"

output=$(tool nodes=1 notify spawn true ended nodes=1 notify spawn true ended)
is "a tool may do so again" "$(said ended | grep -c ' 0$')" 2
ok "and gives that back" is_free

# --- what it takes
# shellcheck disable=SC2016
with_output 1 cpus=3 mem=100 queue=main time=61 reqid=mine list=n2 out \
    spawn 'squeue -h -o "out %j %m %l %N %C" -j $SLURM_JOB_ID'
is "what it asks for is what Slurm gives" "$(grep '^out' <<<"$output")" "out mine 100M 2:00 n2 3"
output=$(tool np=6 cpus=1 spawn true)
like "too few processors for its processes are too few" "$(said spawn)" '^spawn PMIX_ERR_OUT_OF_RESOURCE '
ok "nothing is left of it" is_free

# --- what is refused (before a patient tool fills what the gate logs of its user)
output=$(tool spawn true)
like "without a word about an allocation there is no job" "$(said spawn)" '^spawn PMIX_ERR_JOB_ALLOC_FAILED '
ok "and the gate's log has what to give" logged "uid 60001, by the user's desk: PMIx_Spawn is refused: .*PMIX_ALLOC_ID.*PMIX_ALLOC_NUM_NODES"
as_user pmixuser2 salloc -Q --no-shell -J theirs -N1 -w n4 -t 5 2>&1
theirs=$(jobs_of pmixuser2 | sed -n 's/ RUNNING theirs$//p')
output=$(tool id="$theirs" spawn true id=999999 spawn true id=many spawn true)
is "one of another user's, one that is not there, and one that is none" "$(said spawn | cut -d' ' -f2 | paste -sd ' ')" \
    "PMIX_ERR_NO_PERMISSIONS PMIX_ERR_NOT_FOUND PMIX_ERR_NOT_FOUND"
ok "are refused with the reason" refusal "job $theirs is another user's"
as_user root scancel "$theirs"
output=$(tool nodes=99 spawn true queue=nowhere spawn true list=n77 spawn true)
is "more hosts than there are, a queue and a host that are not there" "$(said spawn | cut -d' ' -f2 | paste -sd ' ')" \
    "PMIX_ERR_OUT_OF_RESOURCE PMIX_ERR_NOT_FOUND PMIX_ERR_NOT_FOUND"
ok "with the reason, too" refusal '.*(more hosts than its partition has|[Nn]ode (count|configuration))'
as_user root scontrol update partitionname=main maxtime=10
output=$(tool time=3600 spawn true)
as_user root scontrol update partitionname=main maxtime=unlimited
like "more time than the partition gives" "$(said spawn)" '^spawn PMIX_ERR_(OUT_OF_RESOURCE|BAD_PARAM) '
ok "is told, as well" refusal '.*[Tt]ime'
output=$(tool nodes=1 nohup spawn true)
like "a job that shall outlive its tool is refused" "$(said spawn)" '^spawn PMIX_ERR_NOT_SUPPORTED '
ok "nothing is left of all this" is_free

# --- an allocation that it names
as_user pmixuser1 salloc -Q --no-shell -J named -N2 -w n1,n2 --ntasks-per-node=2 -t 5 2>&1
id=$(jobs_of pmixuser1 | sed -n 's/ RUNNING named$//p')
# shellcheck disable=SC2016
with_output 3 id="$id" np=2 notify out spawn 'echo out $SLURM_JOB_ID' ended session="$id" out spawn 'echo out $SLURM_JOB_ID'
is "it names one of its user's, by either attribute" "$(grep -c "^out $id$" <<<"$output")" 3
like "which stays" "$(jobs_of pmixuser1)" "^$id RUNNING named"
output=$(tool id="$id" session=1 spawn true id="$id" nodes=1 spawn true)
is "one that contradicts itself is refused" "$(said spawn | cut -d' ' -f2 | sort -u)" PMIX_ERR_BAD_PARAM
output=$(tool id="$id" np=2 notify spawn 'sleep 4' nodes=1 spawn true np=1 notify spawn true ended)
is "while it has jobs in one it has no other, but may have more there" \
    "$(said spawn | cut -d' ' -f2 | paste -sd ' ')" "PMIX_SUCCESS PMIX_ERR_RESOURCE_BUSY PMIX_SUCCESS"
as_user pmixuser1 salloc -Q --no-shell -J second -N1 -w n3 -t 5 2>&1
second=$(jobs_of pmixuser1 | sed -n 's/ RUNNING second$//p')
# shellcheck disable=SC2016
says='echo out $SLURM_JOB_ID'
with_output 3 patient id="$id" out notify spawn "$says" ended id="$second" out notify spawn "$says" ended \
    id="$id" out notify spawn "$says" ended
is "it goes on to another one, and back, and has the output of each" "$(grep '^out' <<<"$output" | paste -sd ' ')" \
    "out $id out $second out $id" || diag "$output"
is "and hears of each end" "$(said ended | grep -c ' 0$')" 3
with_output 1 patient id="$id" notify spawn true ended id="$second" out notify spawn "$says" ended
is "also where the first one's session was not yet there" "$(grep '^out' <<<"$output")" "out $second" || diag "$output"
with_output 3 patient nodes=1 out notify spawn "$says" ended nodes=1 out notify spawn "$says" ended id="$id" out spawn "$says"
is "and of those that it asks for" "$(grep -c '^out' <<<"$output") $(grep '^out' <<<"$output" | sort -u | wc -l)" "3 3" ||
    diag "$output"
as_user root scancel "$id" "$second"
ok "they end when their user ends them" is_free

# --- PMIx_Allocation_request
output=$(tool nodes=1 time=120 reqid=kept new id=@ notify spawn true ended)
like "it asks for one that stays" "$(said new)" '^new PMIX_SUCCESS [0-9]+$'
like "and starts a job there" "$(said ended)" ' 0$'
id=$(said new | cut -d' ' -f3)
like "it is there when the job and the tool have ended" "$(jobs_of pmixuser1)" "^$id RUNNING kept"
output=$(tool id="$id" release release)
is "until it is released, by its name" "$(said release | cut -d' ' -f2 | paste -sd ' ')" "PMIX_SUCCESS PMIX_ERR_BAD_PARAM"
ok "then it is gone" is_free

# --- the queue
as_user pmixuser2 salloc -Q --no-shell -J all -N4 --exclusive -t 5 2>&1
output=$(tool nodes=1 timeout=2 spawn true)
like "what is not granted in time is told so" "$(said spawn)" '^spawn PMIX_ERR_TIMEOUT - after ([2-9]|1[0-9])\.'
ok "and taken back" is_free
as_user pmixuser1 salloc -Q --no-shell -J pends -N1 -t 5 --immediate=0 >/dev/null 2>&1 &
pending=$!
ok "an allocation pends" until_true 20 eval '[[ $(jobs_of pmixuser1) == *PENDING* ]]'
id=$(jobs_of pmixuser1 | cut -d' ' -f1)
output=$(tool id="$id" spawn true)
like "one that has not begun is refused" "$(said spawn)" '^spawn PMIX_ERR_RESOURCE_BUSY '
as_user root scancel "$id"
wait "$pending"
ok "no job is left" is_free
tool nodes=1 spawn true >"$test_dir/pends" &
pending=$!
ok "a tool waits in the queue" until_true 20 eval '[[ $(jobs_of pmixuser1) == *PENDING* ]]'
on_host head kill -KILL "$(pid_of)"
wait "$pending" 2>/dev/null
ok "when it is killed its request goes" is_free
ok "and its lobby" until_true 20 without_lobby
as_user root scancel -u pmixuser2
ok "the cluster is free" until_true 30 has_none pmixuser2

# --- who goes while the job runs
tool nodes=2 np=2 spawn 'sleep 300' hold="$test_dir/never" >"$test_dir/runs" &
running=$!
ok "a job runs" until_true 60 grep -q '^held' "$test_dir/runs"
on_host head kill -KILL "$(pid_of)"
wait "$running" 2>/dev/null
ok "when its tool is killed the job ends, and the allocation" is_free
ok "with all that served it" until_true 20 without_lobby
tool nodes=1 spawn 'sleep 300' hold="$test_dir/never" >"$test_dir/runs_too" &
running=$!
ok "another one runs" until_true 60 grep -q '^held' "$test_dir/runs_too"
on_host head pkill -KILL -u pmixuser1 -f '[p]mixhostd --lobby'
ok "when its lobby is killed they end, too" is_free
on_host head kill -KILL "$(pid_of)"
wait "$running" 2>/dev/null

# --- the rules
rules '"deny spawn by pmixuser1 to jobs of anyone from anywhere"'", $allow"
on_host head pkill -HUP -x pmixhost-gate
ok "the rules are read again" until_true 20 logged 'rules for tools were read again'
output=$(tool nodes=1 spawn true namespaces)
is "who may not spawn does not, but is let in" "$(said spawn | cut -d' ' -f2) $(said namespaces | cut -d' ' -f2)" \
    "PMIX_ERR_NO_PERMISSIONS PMIX_SUCCESS"
rules "$allow"
on_host head pkill -HUP -x pmixhost-gate
ok "and again" until_true 20 eval '(($(grep -c "were read again" "$gate_log") == 2))'

# --- how many
((test_failures == 0)) || diag "$(cat "$gate_log" "$log")"
close_gate
ok "a gate comes anew" open_gate
tools=()
for each in {1..4}; do
    tool hold="$test_dir/enough" >"$test_dir/one-$each" &
    tools+=($!)
done
all_hold() { (($(cat "$test_dir"/one-* | grep -c '^held') == 4)); }
ok "four tools are here" until_true 60 all_hold
like "a fifth one is too much" "$(tool namespaces)" '^init PMIX_ERR'
ok "and told so" until_true 5 logged 'the user has no job, and 4 tools are here already that may start some'
touch "$test_dir/enough"
wait "${tools[@]}"
like "when they have gone there is room" "$(tool namespaces)" '^namespaces PMIX_SUCCESS'
many=(nodes=1 cpus=9)
for each in {1..9}; do many+=(spawn 'sleep 60'); done
output=$(tool "${many[@]}")
is "a tool has eight jobs at a time" "$(said spawn | cut -d' ' -f2 | sort | uniq -c | awk '{print $1, $2}' | paste -sd ' ')" \
    "1 PMIX_ERR_OUT_OF_RESOURCE 8 PMIX_SUCCESS"
ok "which end with it" is_free

# --- a user who has a job
(cd "$test_dir" && exec timeout -k 5 150 "${on_cluster[@]}" --user pmixuser1 -- \
    srun "$mpi" -J has -N1 -n1 "$clients/visited") >"$test_dir/of-has" 2>&1 </dev/null &
has=$!
until_true 60 grep -q '^there 0' "$test_dir/of-has"
id=$(jobs_of pmixuser1 | sed -n 's/ RUNNING has$//p')
output=$(tool namespaces id="$id" spawn true id=1 spawn true nodes=1 spawn true nodes=1 required spawn true)
like "whose tool comes to that" "$(said namespaces)" "slurm\\.$id\\.0"
is "has its jobs there, and nowhere else" "$(said spawn | cut -d' ' -f2 | paste -sd ' ')" \
    "PMIX_SUCCESS PMIX_ERR_NOT_SUPPORTED PMIX_SUCCESS PMIX_ERR_NOT_SUPPORTED"
ok "the job's log says why" refusal "it is for allocation 1, and what is spawned here is started in allocation $id"
as_user root scancel "$id"
wait "$has" 2>/dev/null
ok "it ends" is_free
((test_failures == 0)) || diag "$(cat "$gate_log")"
close_gate

configure_logged '[gate]' 'idle = "6s"'
ok "a gate of a site without rules" open_gate
output=$(tool nodes=1 notify spawn true ended)
like "lets tools of its own host start jobs" "$(said ended)" ' 0$'
ok "and gives back" is_free
close_gate

rules "$allow" 'spawn = "off"'
ok "a site may do without" open_gate
like "then such a tool is refused" "$(tool namespaces)" '^init PMIX_ERR'
ok "and the log says why" until_true 5 logged 'no step of the user runs that pmixhost serves'

((test_failures == 0)) || diag "$(cat "$gate_log" "$log")"
close_gate
as_user root scancel -u pmixuser1
as_user root scancel -u pmixuser2
end_jobs
configure
ok "nothing is left" no_litter 30
done_testing
