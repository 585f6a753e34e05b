#!/bin/bash
# The commands with which a user looks at a running job: ps, events, get, lookup, publish, spawn, servers, with, completion.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

out=$test_dir/shows go=$test_dir/go
: >"$out"
if [[ $backend == slurm ]]; then
    pmixhost=$PMIXHOST_BUILD/tools/pmixhost
    host=$(host_name 1)
    asks() { "${on_cluster[@]}" --user pmixuser1 --host "$host" -- env ${variables[@]+"${variables[@]}"} timeout -k 5 60 "$@"; }
    (cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user pmixuser1 -- \
        salloc -Q -w "$(host_name 1),$(host_name 2)" -N2 --ntasks-per-node=8 srun "$mpi" -n4 --ntasks-per-node=2 -m block "$clients/shows" "$go") >"$out" 2>&1 </dev/null &
else
    pmixhost=$PMIXHOST_RUN
    # Servers of others on this machine are not looked at.
    export TMPDIR=$test_dir
    unset PMIX_SYSTEM_TMPDIR
    asks() { env ${variables[@]+"${variables[@]}"} timeout -k 5 60 "$@"; }
    (cd "$test_dir" && exec timeout -k 5 500 "$pmixhost" run --hosts 2 -n4 --tmpdir "$test_dir" "$clients/shows" "$go") >"$out" 2>&1 </dev/null &
fi
job_pid=$!
variables=()
said() { (($(grep -c "^$1" "$out") == $2)); } # TEXT TIMES
ask() { status=0; output=$(asks "$pmixhost" "$@" 2>&1) || status=$?; } # sets $output and $status
field() { python3 -c "import json, sys; r = json.load(sys.stdin); print($1)" <<<"$output"; } # EXPRESSION with r
ok "a job runs" until_true 40 said there 4

# ------------------------------------------------------------------------------------------ what there is

ask servers --json
nspace=$(field 'r[0]["job"]')
like "it is listed" "$nspace" '^[a-z]+\.[^.]+'
is "once for each host that is here" "$(field 'len({one["job"] for one in r})')" 1
ask ps --json "$nspace"
is "with its processes" "$(field '[p["rank"] for p in r[0]["processes"]]')" "[0, 1, 2, 3]"
ask ps
unlike "without a terminal there are no control sequences" "$output" $'\x1b'
asks "$pmixhost" ps --json >/dev/full 2>"$test_dir/full"
like "what could not be written is told" "$? $(cat "$test_dir/full")" '^1 pmixhost: error: standard output: No space left on device'
for wrong in "signal -s" "config --check"; do
    job_after=("$nspace")
    [[ $wrong == signal* ]] || job_after=()
    # shellcheck disable=SC2086 # words
    ask $wrong "" "${job_after[@]}"
    like "an empty word is not taken for none: $wrong" "$status $output" "^2 pmixhost: error: (there is no signal ''|--check needs the name of a file)"
done
status=0
output=$(asks env --ignore-signal=HUP "$pmixhost" with "$nspace" -- sh -c 'kill -HUP $$; echo goes on' 2>&1) || status=$?
is "and is spared what its user wants ignored" "$status $output" "0 goes on"
for verb in kill "signal -s USR1" pause output "debug --attach" "doctor --job"; do
    # shellcheck disable=SC2086 # words
    ask $verb ""
    like "an empty name is that of no job: $verb" "$status $output" "^2 pmixhost: error: JOB is ''; allowed: "
done
ask ps -w
like "nor is there anything live" "$status $output" '^2 pmixhost: error: -w is for a terminal; next: '
if [[ $backend == local ]]; then
    # The terminal is given to the command by script(1); two pictures are two seconds apart.
    screen=$test_dir/screen
    (TERM=xterm exec timeout -k 5 60 script -qec "$pmixhost ps -w $nspace" /dev/null) >"$screen" 2>&1 </dev/null &
    watcher=$!
    pictures() { (($(grep -a -o '1 jobs, 4 processes' "$screen" | wc -l) >= $1)); }
    ok "on a terminal the list is drawn again" until_true 30 pictures 2
    kill "$watcher"
    wait "$watcher" 2>/dev/null
    # What takes longer than a second says on a terminal what it waits for, and takes that back.
    TERM=xterm timeout -k 5 60 script -qec "$pmixhost output --wait 3 999999" /dev/null >"$screen" 2>&1 </dev/null
    like "a command that waits says what for" "$(tr '\r' '\n' <"$screen" | grep -c '^waiting for job 999999 \.\.\. [1-9] s')" '^[1-9]'
    like "and takes that back before it says more" "$(cat "$screen")" $'\r\x1b\\[Kpmixhost: error: '
    "$pmixhost" run -n1 --tmpdir "$test_dir" echo lost >/dev/full 2>"$test_dir/full"
    like "run says of output that cannot be written" "$? $(cat "$test_dir/full")" '^1 pmixhost: error: standard output: No space left on device'
    # A desk that does not come keeps nobody who wishes to leave.
    printf '#!/bin/sh\n: >"%s"\nexec sleep 300\n' "$test_dir/sleeps" >"$test_dir/sleeper"
    chmod +x "$test_dir/sleeper"
    (exec env PMIXHOST_PMIXHOSTD="$test_dir/sleeper" timeout -k 30 60 "$pmixhost" output 999999) >/dev/null 2>&1 </dev/null &
    waiter=$!
    ok "a command waits for a desk" until_true 20 test -e "$test_dir/sleeps"
    kill "$waiter"
    ended() { ! kill -0 "$waiter" 2>/dev/null; }
    ok "and ends when it is told to" until_true 10 ended
fi

# ---------------------------------------------------------------------------------------- what is known

for rank in 0 3; do
    ask get "$nspace" $rank shows.posted
    is "rank $rank has posted a text" "$status $output" "0 of $rank"
done
ask get "$nspace" 2 shows.bytes
is "bytes are digits" "$status $output" "0 00ff"
ask get "$nspace" '*' PMIX_JOB_SIZE
is "of the job, by the name of an attribute" "$status $output" "0 4"
ask get "$nspace" '*' pmix.job.size
is "and by the key" "$status $output" "0 4"
ask get --timeout 3 "$nspace" 1 no.such.key
like "a key that nobody has posted" "$status $output" "^1 pmixhost: error: job $nspace: "
ask get "$nspace" one shows.posted
like "a rank that is none" "$status $output" "^2 pmixhost: error: RANK is 'one'; allowed: "
ask get 999999 0 shows.posted
like "a job that is not here" "$status $output" '^1 pmixhost: error: no PMIx server of job 999999 is on this host, and none was reached elsewhere: '
ask lookup shows.published
is "what is published is found" "$status $output" "0 a word"
ask lookup --job "$nspace" --timeout 5 no.such.key
like "what is not is said to be so" "$status $output" "^1 pmixhost: error: job $nspace: nobody has published it; next: --wait"

# ------------------------------------------------------------------------------------- what a user gives it

ask publish "$nspace" shows.port "a port"
is "a text is published" "$status $output" "0 "
ask lookup shows.port
is "and is there when the command has ended" "$status $output" "0 a port"
touch "$go.lookup"
ok "a process of the job finds it" until_true 20 said 'found a port$' 1
ask publish "$nspace" shows.port another
like "once" "$status $output" "^1 pmixhost: error: job $nspace: it is published already; next: "
ask unpublish "$nspace" shows.published
like "what a process has published it keeps" "$status $output" "^1 pmixhost: error: job $nspace: .pmixhost publish. has not published it"
ask unpublish "$nspace" shows.port
is "it is taken back" "$status $output" "0 "
ask publish "$nspace" shows.port '!a word'
ask lookup shows.port
is "a text may begin with anything" "$status $output" "0 !a word"
ask unpublish "$nspace" shows.port
ask lookup shows.port
like "and is there no more" "$status $output" "^1 pmixhost: error: job $nspace: nobody has published it; next: "
ask unpublish "$nspace" shows.port
like "which is said" "$status $output" "^1 pmixhost: error: job $nspace: .pmixhost publish. has not published it"
ask publish "$nspace" pmix.port "a port"
like "a key of PMIx' own is none" "$status $output" "^2 pmixhost: error: KEY is 'pmix.port'; allowed: "
ask publish "$nspace" shows.port
like "a text is needed" "$status $output" "^2 pmixhost: error: VALUE is required"
ask publish 999999 shows.port "a port"
like "and a job" "$status $output" '^1 pmixhost: error: no PMIx server of job 999999 is on this host, and none was reached elsewhere: '
if [[ $backend == slurm && -x $clients/mpi_connect ]]; then
    ask publish "$nspace" a.service "a port for MPI"
    is "a program of the allocation finds it by MPI_Lookup_name" "$(asks srun "$mpi" --overlap --jobid="$(cut -d. -f2 <<<"$nspace")" -N1 -n1 \
        "$clients/mpi_connect" lookup a.service 2>&1)" "found a port for MPI"
fi

# -------------------------------------------------------------------------------------------- what happens

events=$test_dir/events
asks "$pmixhost" events --kind aborted,7301,-25 --json "$nspace" >"$events" 2>"$events.err" &
listener=$!
asks "$pmixhost" events "$nspace" >"$events.all" 2>"$events.all.err" &
everything=$!
listens() { grep -q "listening to job $nspace" "$events.err" && grep -q "listening to job $nspace" "$events.all.err"; }
ok "somebody listens" until_true 30 listens 2>/dev/null
touch "$go.notify"
heard() { grep -q "$1" "$2"; } # TEXT FILE
ok "an event that was asked for is told" until_true 20 heard '"code":7301' "$events"
# A program's own word of a connection that is lost is no end of ours.
ok "so is one that a program has in common with the library" until_true 20 heard '"code":-25' "$events"
any="any is to who asked for none"
ok "$any" until_true "$(patience "$any" 20)" heard ' 7302 ' "$events.all"
ask spawn -n 2 "$nspace" -- /bin/sh -c "echo \"spawned in \$PWD\" >>'$test_dir/spawned'"
like "a program is spawned" "$status $output" '^0 [a-z]+\.[^ ]+$'
spawned() { [[ -f $test_dir/spawned && $(wc -l <"$test_dir/spawned") == 2 ]]; }
ok "and runs, twice" until_true 20 spawned
mkdir -m 1777 "$test_dir/below"
status=0
output=$(cd "$test_dir" && asks "$pmixhost" spawn --wdir below "$nspace" -- touch here 2>&1) || status=$?
like "in a directory that is named from here" "$status $output" '^0 [a-z]+\.[^ ]+$'
ok "it runs there" until_true 20 test -e "$test_dir/below/here"
ask spawn -o "$test_dir/out-%r" "$nspace" -- echo kept
kept() { [[ -f $test_dir/out-0.stdout && $(<"$test_dir/out-0.stdout") == kept ]]; }
ok "its output is in a file" until_true 20 kept
ask spawn "$nspace" -- /no/such/program
like "one that is not there fails" "$status $output" "^1 pmixhost: error: job $nspace: PMIx_Spawn: .*next: "
ask spawn "$nspace"
like "none is a wrong command line" "$status $output" '^2 pmixhost: error: which program'
ask kill --ranks 3 "$nspace"
is "a process is killed" "$status $output" "0 "
ok "which is told" until_true 20 heard 'PMIX_ERR_PROC_ABORTED' "$events"
victim=$(grep PMIX_ERR_PROC_ABORTED "$events" | head -n 1)
output=$victim
is "with whom it was" "$(field 'r["affected"]')" "['$nspace:3']"
unlike "what was not asked for is not told" "$(cat "$events")" '"code":7302'
ask events --kind nothing
like "a kind that there is not" "$status $output" "^2 pmixhost: error: --kind is 'nothing'; allowed: ended, aborted, host"
ask events --kind aborted 999999.0
like "a job behind the kind is no kind" "$status $output" '^1 pmixhost: error: job 999999.0: not on this host, and not reached elsewhere: '
ask events 999999
like "nor of a job that is not here" "$status $output" '^1 pmixhost: error: job 999999: not on this host, and not reached elsewhere: '
touch "$go"
wait "$job_pid"
wait "$listener"
is "who listens ends with the job" "$?" 0
wait "$everything"
is "and so does who listens to all" "$?" 0
like "the ends of the others were told" "$(cat "$events.all")" "PMIX_EVENT_PROC_TERMINATED .*$nspace:"

# --------------------------------------------------------------------------------------- command lines

script=$test_dir/completion
"$pmixhost" completion bash >"$script"
completes() ( # WORD ...: what the last one can become
    PATH=$(dirname "$pmixhost"):$PATH
    . "$script"
    COMP_WORDS=(pmixhost "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _pmixhost
    echo "${COMPREPLY[*]}"
)
is "commands are completed" "$(completes se)" "servers"
is "options too" "$(completes ps --j)" "--json"
is "of a subcommand" "$(completes policy explain --own)" "--owner"
is "and what they take" "$(completes policy explain --action obs)" "observe"
is "signals" "$(completes signal -s US)" "USR1 USR2"
is "subcommands" "$(completes policy sh)" "show"
like "files" "$(cd "$test_dir" && completes config --check compl)" "completion"
like "behind -- a program" "$(completes with 1 -- printe)" "printenv"
is "a number is not guessed" "$(completes ps --timeout 1)" ""
"$pmixhost" completion zsh >"$script.zsh"
"$pmixhost" completion fish >"$script.fish"
fish_completes() { HOME=$test_dir timeout 30 fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$script.fish" "pmixhost $*" | cut -f 1; }
if [[ -n $(type -P fish) ]]; then
    is "fish completes commands" "$(fish_completes se)" servers
    is "options" "$(fish_completes ps --j)" --json
    is "and what they take" "$(fish_completes policy explain --action obs)" observe
else
    skip "fish completes" "there is no fish"
fi
# In a terminal of its own, as its completion is a part of its line editor.
zsh_completes() { # WHAT-IS-TYPED WHAT-COMES
    mkdir -p "$test_dir/zsh"
    cp "$script.zsh" "$test_dir/zsh/_pmixhost"
    HOME=$test_dir TERM=xterm timeout 30 zsh -f -c 'zmodload zsh/zpty
        zpty one zsh -f -i
        zpty -w one "fpath=(${(q)1} \$fpath); autoload -U compinit; compinit -u -D; echo re\"\"ady"
        zpty -r -m one said "*ready*"
        zpty -n -w one "pmixhost $2"$'"'\\t'"'
        zpty -r -m one said "*$3*"' - "$test_dir/zsh" "$1" "$2"
}
if [[ -n $(type -P zsh) ]]; then
    ok "zsh completes commands" zsh_completes se servers
    ok "options" zsh_completes "ps --js" --json
    ok "and what they take" zsh_completes "policy explain --action obs" observe
else
    skip "zsh completes" "there is no zsh"
fi
"$pmixhost" completion csh >/dev/null 2>&1
is "a shell that is not known" "$?" 2
done_testing
