#!/bin/bash
# A debugger on the login host that starts srun, which starts the job (indirect launch): stops, table, daemons, input,
# the ends of all three, and what a debugger that is killed leaves behind.
. "$(dirname "$0")/../common/words.sh"

chmod 1777 "$test_dir"
rule='policy = ["allow everything by anyone to jobs of themselves from 10.99.0.0/16"]'
# debugs WORD ... -- SRUN-WORD ...: on the login host, as the command of ${within[@]}; sets $output and $status
within=()
debugs() {
    status=0
    rm -f "$CLIENT_DIR"/*
    output=$(cd "$test_dir" && timeout -k 5 90 "${on_cluster[@]}" --user pmixuser1 -- \
        ${within[@]+"${within[@]}"} "$clients/indirect" "$@" 2>&1 </dev/null) || status=$?
}
# logged TEXT: these lines of the job are in "said", in whatever order; each with what is behind the job's name. Slurm's
# own may be in front of them.
logged() {
    local nspace
    nspace=$(sed -n 's/^job //p' <<<"$output")
    [[ -n $nspace && $(grep -oE "pmixhost: $nspace.*" "$test_dir/said" | sed "s/^pmixhost: $nspace//" | LC_ALL=C sort | paste -sd';') == "$1" ]]
}
fields() { sed -n 's/^fields //p' <<<"$output" | grep -oE "$1\([^)]*\)"; } # of the event of that name
well() { passed && grep -q '^ok 0$' <<<"$output" && ! grep -q '^FAIL' <<<"$output"; }
story() { grep -E '^(launcher|early|runs|stops|table|end)' <<<"$output" | paste -sd' '; }
nothing_runs() { [[ -z $(as_user root squeue -h -o %i) ]] && ! on_host head pgrep -f 'libexec/pmixhost/pmixhost-indirect|^srun' >/dev/null; }
# Nothing of the debugger is left.
is_clean() {
    ok "$1: nothing is left" until_true 40 nothing_runs
    is "$1: no file of it" "$(on_host head sh -c 'ls -d /tmp/pmixhost-indirect.* 2>/dev/null' | head -n 3)" ""
}

debugs -- srun "$mpi" -N2 -n4 "$clients/hello"
ended='pmixhost: the debugger does not reach the job .*, so it is ended'
like "a job that would stand for ever is ended" "$output" "$ended"
# Slurm's log writes a line in two pieces where its ring buffer turns, so the other's line may stand in its middle.
in_one=$(perl -0pe "s/$ended.*?\n//" <<<"$output")
like "a site whose rules let no tools of the login host in" "$in_one" 'the rules for tools refuse it: built in'
is_clean "refused"
# What it asks waits for the way to the job, of which nobody knows at first that there is none.
# This debugger ends at the refusal, whether or not it has passed on what its launcher said before.
debugs stop=no -- sh -c "exec srun $mpi -N1 -n1 sh -c 'sleep 50; echo slept' 2>said"
without_it() { grep -q '^pmixhost: the debugger does not reach the job, which goes on without it' "$test_dir/said"; }
ok "a job that does not stop is told to go on without it" until_true 20 without_it
like "what the debugger asks of it is refused" "$output" "FAIL.*(UNREACH|the table is none)"
unlike "while it runs" "$output" slept
is_clean "refused, without a stop"

configure '[tools]' "$rule"
debugs fields session -- srun "$mpi" -N2 -n4 "$clients/hello"
ok "a job that stops in PMIx_Init" well
is "its start, launch and end say of what job, whom and when, and the end how" "$(grep ^fields <<<"$output")" \
    "fields start(source affected time) launch(source affected time) end(source affected time status=well code=0)"
is "srun has an allocation of its own while it is held, which ends with it" "$(grep ^session <<<"$output")" "session ended"
is "what the debugger sees" "$(story)" \
    "launcher ready stops at pmix-init runs table 4 processes on 2 hosts end 0 launcher gone"
is "the job says what it always does" "$(grep -c '^rank [0-3] of 4 on' <<<"$output")" 4
is_clean "stopped"

# While the debugger holds srun: what listens, and that a signal for all of srun's group is srun's.
held() { # COMMAND ...
    rm -f "$test_dir/held" "$test_dir/go"
    (until_true 30 test -e "$test_dir/held" && "$@"; : >"$test_dir/go") &
}
look() {
    on_host head ss -Hltnp >"$test_dir/ports"
    nothing_runs || : >"$test_dir/runs"
    on_host head pkill -USR1 -f libexec/pmixhost/pmixhost-indirect
}
held look
debugs pause stop=no push=words -- srun "$mpi" -n1 sh -c 'read -r word'
wait
ok "a debugger that takes its time" well
like "srun listens meanwhile" "$(cat "$test_dir/ports")" '"srun"'
is "nobody else can connect meanwhile" "$(grep pmixhost-ind "$test_dir/ports")" ""
ok "it would be seen if something were left" test -e "$test_dir/runs"

printf '#!/bin/sh\nenv; [ $SLURM_PROCID = 0 ] || exit 3; read -r word\n' >"$test_dir/fails"
chmod 755 "$test_dir/fails"
debugs early stop=exec bad push=go fields tells=all logs=bad -- sh -c "exec srun $mpi -N2 -n2 ./fails 2>said"
ok "one that stops at its first instruction" well
is "and ends badly" "$(story)" \
    "launcher ready early PMIX_ERR_NOT_AVAILABLE stops at exec runs table 2 processes on 2 hosts end 3 of 1 launcher gone"
is "its end says so" "$(fields end)" "end(source affected time status=nonzero code=3)"
is "the bad end says whose it is, when, where and how" "$(fields bad)" "bad(source affected time code=3 host)"
is "and so does what is told of each" "$(fields gone)" "gone(source affected time code=3 host)"
is "each end is told, once" "$(grep ^gone <<<"$output")" "gone 0:0 1:3"
ok "the bad one and the job's are lines for the user" logged " has ended with exit code 3;: rank 1 has ended with exit code 3" ||
    diag "$(<"$test_dir/said")"
is "the tasks' environment is seen" "$(grep -c '^SLURM_PROCID=' <<<"$output")" 2
is "they are in their own namespace alone" "$(grep '^PMIX_NAMESPACE=' <<<"$output" | grep -vc '=slurm\.')" 0
is "no variable of the debugger's comes to the tasks" \
    "$(grep -E '^(PMIX_LAUNCHER|PMIX_KEEPALIVE|PMIXHOST_INDIRECT|PMIXHOST_DEBUG_STOP|PMIX_SERVER_NSPACE)' <<<"$output")" ""

rm -f "$test_dir"/ran.*
debugs stop=exec only=0 -- srun -K "$mpi" -N2 -n2 sh -c ': >ran.$SLURM_PROCID; exit 3'
is "one rank is let go alone, and ends the job" "$(story)" \
    "launcher ready stops at exec runs table 2 processes on 2 hosts end 3 of 0 launcher gone"
is "while the other one stands" "$(cd "$test_dir" && echo ran.*)" ran.0

debugs stop=no push=words -- srun "$mpi" -N1 -n1 sh -c 'while read -r word; do echo "read $word"; done'
ok "one that does not stop" well
is "the launcher's input is the debugger's" "$(grep '^read' <<<"$output")" "read words"
is "it is told all the same" "$(story)" "launcher ready runs table 1 processes on 1 hosts end 0 launcher gone"

# The last process is kept from its program until the debugger has heard that the first one has started.
cat >"$test_dir/keeps-last" <<'SH'
#!/bin/sh
[ "$SLURM_PROCID" != 1 ] || until [ -e started ]; do sleep 0.1; done
SH
chmod 755 "$test_dir/keeps-last"
for shape in "1 exec" "2 exec" "1 no" "2 no"; do
    rm -f "$test_dir/started"
    debugs first "stop=${shape#* }" -- srun "$mpi" -N"${shape% *}" -n2 --task-prolog="$test_dir/keeps-last" true
    like "the start is told when the first process runs, while another waits: hosts and stop: $shape" \
        "$(grep -E '^(first|runs|ok|FAIL)' <<<"$output" | paste -sd' ')" '^first runs ok 0$'
done
# Programs that have nothing to do with PMIx, in an allocation that was there before.
printf '#!/bin/sh\nuntil [ -e started ]; do sleep 0.1; done\n' >"$test_dir/until-started"
chmod 755 "$test_dir/until-started"
rm -f "$test_dir/started"
within=(salloc -Q -N2)
debugs first sessions stop=no tells=all logs=all -- sh -c "exec srun $mpi -N2 -n2 ./until-started 2>said"
within=()
ok "in an allocation that was there before" well
is "no session begins or ends there" "$(grep ^sessions <<<"$output")" "sessions 0"
is "the ends of programs without PMIx are told" "$(grep ^gone <<<"$output")" "gone 0:0 1:0"
ok "the job's start, all ends and its own are lines for the user" logged " has ended with exit code 0;: all of its processes \
run;: rank 0 has ended with exit code 0;: rank 1 has ended with exit code 0" || diag "$(<"$test_dir/said")"
debugs first stop=no -- srun "$mpi" -N2 -n2 /no/such/program
like "a program that is not there: its end is told" "$output" $'\nend 2'

debugs rank=1 -- srun "$mpi" -N2 -n4 "$clients/hello"
ok "one rank stops" well
debugs stop=app ranks=0,2 -- srun "$mpi" -N2 -n4 "$clients/stops" child app -1
ok "an array of ranks stops where the program itself waits" well
is "where the program waits: it is told" "$(grep '^stops' <<<"$output")" "stops at my-place"
is "where the program waits: all go on" "$(cd "$CLIENT_DIR" && echo past.*)" "past.0 past.1 past.2 past.3"

debugs tells=all -- srun -O "$mpi" -N4 -n64 --ntasks-per-node=16 "$clients/hello"
ok "64 processes" well
is "64 processes: what the debugger sees" "$(story)" \
    "launcher ready stops at pmix-init runs table 64 processes on 4 hosts end 0 launcher gone"
is "64 processes: all go on" "$(grep -c '^rank [0-9]* of 64 on' <<<"$output")" 64
is "64 processes: all ends are told" "$(grep ^gone <<<"$output" | grep -o ':0' | wc -l)" 64

# Its tasks would stand, as nobody lets them go, until the time of the job is over.
debugs stop=exec kill -- srun "$mpi" -N2 -n2 "$clients/hello"
like "the launcher is killed: the job has ended" "$(story)" 'stops at exec runs .*end -?[0-9]+.* launcher gone$'
is_clean "killed"
# By then srun has its allocation and a step, and listens to no signal any more.
waits_for_release() { until_true 30 eval 'as_user root squeue -h -s -o %i | grep -q "\.0\$"'; }
for how in terminate 15 2; do
    rm -f "$test_dir/said"
    held waits_for_release
    debugs pause ends=$how -- sh -c "exec srun $mpi -N2 -n2 $clients/hello 2>said"
    wait
    ok "the launcher is told to end while it is held, by $how" well
    like "by $how: it says so" "$(<"$test_dir/said")" 'the debugger that has started this job has ended it'
    is_clean "told to end while it is held, by $how"
done

debugs daemon="$clients/debugger" -- srun "$mpi" -N2 --ntasks-per-node=2 "$clients/hello"
ok "daemons beside the job, which let it go" well
is "one on each host" "$(sed 's/ debugs [^:]*:/:/' "$CLIENT_DIR/daemons" | sort -n | cut -d' ' -f 1,2,4- | paste -sd';')" "0 0 0 1;1 0 2 3"
# The host of the job that they ask knows how the other's processes have ended only where these ended first.
like "who hear of its end" "$(sort "$CLIENT_DIR/ended" | paste -sd' ')" '^ended (0|-1) ended (0|-1)$'
debugs after daemon=/bin/true -- srun "$mpi" -N2 -n2 "$clients/hello"
ok "the end of the daemons is that of the daemons alone" well
is_clean "daemons"

for where in held stops runs; do
    how=(stop=init)
    [[ $where != runs ]] || how=(stop=no)
    debugs "${how[@]}" die=$where -- srun "$mpi" -N2 -n2 sh -c "$clients/hello; exec sleep 60"
    is_clean "the debugger is killed, $where"
done

# Without a pipe (PMIX_NOHUP) the job goes on: srun's input ends when the launcher has seen that the debugger is gone.
debugs nohup stop=no die=runs -- srun "$mpi" -N2 -n2 sh -c 'cat >/dev/null; : >"$CLIENT_DIR/went.$SLURM_PROCID"'
went_on() { [[ $(cd "$CLIENT_DIR" && echo went.*) == "went.0 went.1" ]]; }
ok "what shall outlive the debugger does" until_true 90 went_on
is_clean "it has ended by itself"
debugs nohup die=stops -- srun "$mpi" -N2 -n2 "$clients/hello"
is_clean "but not where its processes stand"
# Each process goes on when it is let go; that all have been is heard of a release and of PMIX_JOB_CTRL_RESUME alike.
goes_on='cat >/dev/null; : >"$CLIENT_DIR/went.$SLURM_PROCID"'
for how in resume release; do
    debugs nohup stop=exec $how die=gone -- srun "$mpi" -N2 -n2 sh -c "$goes_on"
    ok "$how: all were let go, and outlive the debugger" until_true 90 went_on
    is_clean "$how: it has ended by itself"
done
for how in resume release; do
    debugs nohup stop=exec $how only=0 die=gone -- srun "$mpi" -N2 -n2 sh -c "$goes_on"
    is_clean "$how: not where one stands still"
done

debugs nohup stop=no pauses die=gone -- srun "$mpi" -N2 -n2 sh -c "$goes_on"
ok "what it had paused goes on, and outlives the debugger" until_true 90 went_on
debugs nohup stop=exec daemon=/bin/true after die=left -- srun "$mpi" -N2 -n2 sh -c "$goes_on"
ok "and who is left by daemons that have let nobody go" until_true 90 went_on
is_clean "left"

# What stands between the two is killed (of its processes the one that srun has started), and cannot clear up. The
# debugger hears of it as of srun's end; and srun ends as it would with its debugger, while that is still there.
files() { on_host head find /tmp -mindepth 1 -maxdepth 1 -user pmixuser1 | sort; }
cut_it() {
    # shellcheck disable=SC2016 # for the shell inside
    on_host head sh -c 'pkill -KILL -f -P "$(pgrep -d, -x srun)" libexec/pmixhost/pmixhost-indirect' &&
        until_true 40 "$@" && : >"$test_dir/cut"
}
same_files() { [[ $(files) == "$before" ]]; }
is_cut() { # WHERE
    ok "it is killed, $1: the debugger hears of it" well
    ok "it is killed, $1: srun is dealt with at once" test -e "$test_dir/cut"
    is_clean "it is killed, $1"
    ok "it is killed, $1: and no file of libpmix" until_true 20 same_files || diag "before: $before"$'\n'"now: $(files)"
    rm -f "$test_dir/cut"
}
until_true 20 eval '! on_host head pgrep -u pmixuser1 -x pmixhostd >/dev/null'
before=$(files)
for where in held stops runs; do
    how=(stop=exec)
    [[ $where != runs ]] || how=(stop=no)
    held cut_it nothing_runs
    debugs "${how[@]}" cut=$where -- srun "$mpi" -N2 -n2 sh -c 'exec sleep 60'
    wait
    is_cut "$where"
done
held cut_it went_on
debugs nohup stop=no cut=runs -- srun "$mpi" -N2 -n2 sh -c "$goes_on"
wait
is_cut "where the job goes on without it"
held cut_it nothing_runs
debugs nohup stop=exec cut=stops -- srun "$mpi" -N2 -n2 sh -c "$goes_on"
wait
is_cut "where it would go on, and stands"

# While srun waits in the queue, which squeue sees.
(cd "$test_dir" && exec timeout -k 5 120 "${on_cluster[@]}" --user pmixuser1 -- salloc -Q -N"$host_limit" --exclusive \
    sh -c ': >full; until [ -e empty ]; do sleep 0.1; done') >/dev/null 2>&1 </dev/null &
full=$!
ok "somebody else has all hosts" until_true 40 test -e "$test_dir/full"
rm -f "$test_dir/go"
(until_true 40 eval '[[ -n $(as_user root squeue -h -t PD -o %i) ]]' && : >"$test_dir/queued"; : >"$test_dir/go") &
queue=$!
debugs die=waits -- srun "$mpi" -N2 -n2 "$clients/hello"
wait "$queue"
ok "srun was in the queue when the debugger was killed" test -e "$test_dir/queued"
none_waits() { [[ -z $(as_user root squeue -h -t PD -o %i) ]] && ! on_host head pgrep -f 'libexec/pmixhost/pmixhost-indirect|^srun' >/dev/null; }
ok "and is gone from it" until_true 30 none_waits
touch "$test_dir/empty"
wait "$full"

# What srun is told it does.
debugs stop=exec -- srun "$mpi" -N2 -n4 --label sh -c 'echo word $SLURM_PROCID'
is "--label" "$(grep -oE '^[0-3]: word [0-3]' <<<"$output" | sort | paste -sd' ')" "0: word 0 1: word 1 2: word 2 3: word 3"
printf '%s\n' "0 $clients/hello" "1-2 $clients/hello" >"$test_dir/several"
debugs -- srun "$mpi" -N2 -n3 --multi-prog several
ok "--multi-prog" well
is "--multi-prog: all have run" "$(grep -c '^rank [0-2] of 3 on' <<<"$output")" 3
echo given >"$test_dir/input"
debugs stop=exec -- srun "$mpi" -N2 -n2 --input=input --output=out.%t sh -c 'read -r word; echo "$SLURM_PROCID has $word"'
is "--input and --output" "$(cat "$test_dir"/out.[01])" $'0 has given\n1 has given'
begin=$SECONDS
debugs stop=exec -- srun "$mpi" -N2 -n2 --kill-on-bad-exit sh -c '[ "$SLURM_PROCID" = 1 ] || exec sleep 80; exit 3'
is "--kill-on-bad-exit" "$(grep ^end <<<"$output")" "end 3 of 1"
ok "--kill-on-bad-exit: at once" test $((SECONDS - begin)) -lt 60
is_clean "srun's options"

# Nobody lets srun go before it has noticed.
is_noticed() { until_true 40 eval '! on_host head pgrep -f "^srun" >/dev/null' && : >"$test_dir/noticed"; }
interrupt() {
    on_host head pkill -INT -f libexec/pmixhost/pmixhost-indirect
    is_noticed
}
held interrupt
debugs pause -- srun "$mpi" -N2 -n2 "$clients/hello"
wait
like "Ctrl-C ends srun while it is held" "$output" 'interrupted'
ok "though nobody lets it go" test -e "$test_dir/noticed"
is_clean "interrupted"
rm -f "$test_dir/noticed"
cancel() {
    as_user root scancel -u pmixuser1
    is_noticed
}
held cancel
debugs pause -- srun "$mpi" -N2 -n2 "$clients/hello"
wait
like "a job that is cancelled while it is held" "$output" 'job [0-9]+ was cancelled, or its time is over'
ok "is not held any longer" test -e "$test_dir/noticed"
is_clean "cancelled"
debugs nohup die=held -- srun "$mpi" -N2 -n2 "$clients/hello"
is_clean "the debugger is killed, without a pipe"
debugs nohup leave -- srun "$mpi" -N2 -n2 "$clients/hello"
ok "a debugger leaves in order" well
is_clean "it leaves"

debugs -- srun "$mpi" -N1 -n1 : -N1 -n1 "$clients/hello"
ok "a heterogeneous step is refused" failed
run env PMIX_LAUNCHER_RNDZ_URI='nobody.0;tcp4://127.0.0.1:1' srun "$mpi" -n2 "$clients/hello"
ok "a debugger that is not there" failed
like "is named" "$output" 'the debugger that has started this job is not to be reached'
is_clean "not there"
configure
done_testing
