#!/bin/bash
# A debugger that starts a job and its daemons beside it (direct launch), in one request or two, and that attaches to a
# job which runs; what becomes of them when one of the two ends.
. "$(dirname "$0")/../common/words.sh"

pmixhost=$PMIXHOST_BUILD/tools/pmixhost
chmod 1777 "$test_dir"
h1=$(host_name 1) h2=$(host_name 2) h3=$(host_name 3)
cat >"$test_dir/runs.sh" <<'SH'
: >second.$SLURM_PROCID
until [ -e end ]; do sleep 0.1; done
[ -e well ] || exit 3
SH
# The last process of what is spawned is kept from its program while "hold" is there: PMIx_Spawn does not return.
cat >"$test_dir/prolog" <<SH
#!/bin/sh
[ -e "$test_dir/hold" ] && [ "\$SLURM_PROCID" = 2 ] || exit 0
: >"$test_dir/is-held"
while [ -e "$test_dir/hold" ]; do sleep 0.1; done
SH
chmod 755 "$test_dir/prolog"
(cd "$test_dir" && exec timeout -k 5 680 "${on_cluster[@]}" --user pmixuser1 -- salloc -Q -w "$h1,$h2,$h3" -N3 --ntasks-per-node=8 sh -c "
    srun $mpi -N3 -n3 --task-prolog=$test_dir/prolog sh -c ': >up.\$SLURM_PROCID; until [ -e over ]; do sleep 0.1; done' &
    until [ -e attach ]; do sleep 0.1; done
    second='srun $mpi --overlap -N2 -n4 sh runs.sh'
    \$second
    for how in release resume dies ends lasts deaf stands pauses; do
        until [ -e attach.\$how ]; do sleep 0.1; done
        \$second
    done
    wait") >"$test_dir/host.out" 2>&1 </dev/null &
host_pid=$!
up() { (($(ls "$test_dir/$1".* 2>/dev/null | wc -l) == $2)); } # NAME TIMES
ok "a job runs" until_true 40 up up 3
job=$(as_user root squeue -h -u pmixuser1 -o %i)
# debugs WORD ...: the debugger, on the job's first host, or $debugger_host, by its first step, or $debugger_step; sets
# $output and $status
debugger_host=$(host_name 1) debugger_step=$job.0
hold= # yes: its daemons do not let the job go
debugs() {
    local word
    rm -f "$CLIENT_DIR"/*
    [[ -z $hold ]] || : >"$CLIENT_DIR/wait"
    status=0
    output=$(cd "$test_dir" && timeout -k 5 90 "${on_cluster[@]}" --user pmixuser1 --host "$debugger_host" -- \
        "$pmixhost" with "$debugger_step" -- "$clients/debugger" "$@" 2>&1 </dev/null) || status=$?
}
well() { passed && grep -q '^ok 0$' <<<"$output" && ! grep -q '^FAIL' <<<"$output"; }
# Of each daemon: rank, local rank, host and the ranks there; the last word is the verdict on the ends they heard.
daemons() { sed 's/ debugs [^:]*:/:/' "$CLIENT_DIR/daemons" 2>/dev/null | sort -n | paste -sd';'; }
ended() { sort "$CLIENT_DIR/ended" 2>/dev/null | uniq -c | tr -s ' \n' ' '; }
# The job's steps, but the first one and the session.
steps() { as_user root squeue -h -s -j "$job" -o '%i %j' | awk '$1 !~ /\.(extern|batch|0)$/ && $2 != "pmixhost-session" {print $1}'; }
nothing_else() { [[ -z $(steps) ]]; }

# ------------------------------------------------------------------------ a job that is started for it

debugs node=1
ok "a daemon on each host" well
is "what the debugger sees" "$(grep -E '^(stops|table|end)' <<<"$output" | paste -sd' ')" \
    "stops at pmix-init table 4 processes on 3 hosts end job 0 end daemons 0"
is "they are beside the processes, and see those of their host" "$(daemons)" "0 0 $h1: 0 1;1 0 $h2: 2;2 0 $h3: 3"
is "they hear that the job has ended" "$(ended)" " 3 ended 0 "

debugs stop=exec proc=1 life
ok "a daemon for each process" well
is "its start, that all of it runs, and its end are told, in its name" "$(grep ^life <<<"$output")" "life start launch end"
is "the job stood at its first instruction" "$(grep ^stops <<<"$output")" "stops at exec"
is "as many as processes, host by host" "$(daemons)" "0 0 $h1: 0 1;1 1 $h1: 0 1;2 0 $h2: 2;3 0 $h3: 3"

debugs ppr np=2
ok "where the mapping says" well
is "on hosts that have something to debug" "$(daemons)" "0 0 $h1: 0;1 0 $h2: 1"

debugs node=2 rank=2
ok "for one rank" well
is "on its host alone" "$(daemons)" "0 0 $h2: 2;1 1 $h2: 2"

debugs cospawn node=1
ok "both in one request" well
like "the daemons are a job of their own, which a query names" "$(grep -E '^(job|daemons) ' <<<"$output" | paste -sd' ')" \
    '^job (slurm\.[0-9]+\.)([0-9]+) daemons slurm\.[0-9]+\.[0-9]+$'
is "a daemon on each of its hosts" "$(daemons)" "0 0 $h1: 0 1 2 3"
is "they hear of the end" "$(ended)" " 1 ended 0 "
is "local and node ranks of the job leave them out" "$(sort -n "$CLIENT_DIR/places" | paste -sd';')" "0 0 0;1 1 1;2 2 2;3 3 3"

# --------------------------------------------------------------------------------------- what is told of its life

cat >"$test_dir/one-fails.sh" <<'SH'
#!/bin/sh
[ "$PMIX_RANK" != 2 ] || exit 5
SH
chmod 755 "$test_dir/one-fails.sh"
debugs tells=all node=1
ok "the ends of all processes are asked for" well
is "each is told once" "$(grep ^gone <<<"$output")" "gone 0:0 1:0 2:0 3:0"
nspace=$(sed -n 's/^job //p' <<<"$output")
has_logged() { [[ $(grep -F "pmixhost: $nspace" "$test_dir/host.out" | paste -sd';') == "$1" ]]; }
ok "the log has the job's start and end" until_true 10 has_logged \
    "pmixhost: $nspace: all of its processes run;pmixhost: $nspace has ended with exit code 0"
debugs tells=bad stop=exec node=1 program="$test_dir/one-fails.sh"
ok "bad ends are asked for" well
is "only that one is told" "$(grep ^gone <<<"$output")" "gone 2:5"
nspace=$(sed -n 's/^job //p' <<<"$output")
ok "the log has the job's end alone" until_true 10 has_logged "pmixhost: $nspace has ended with exit code 5"
is "the end of the job names who failed first" "$(grep -E '^(end job|first)' <<<"$output" | paste -sd' ')" "end job 5 first 2"

# Rank 1 fails when srun has said that rank 3 has, which is on another host; the exit code of the job is the greatest.
cat >"$test_dir/two-fail.sh" <<SH
#!/bin/sh
case \$PMIX_RANK in
3) exit 5 ;;
1) until [ -e "$test_dir/three-failed" ]; do sleep 0.1; done; exit 9 ;;
esac
SH
chmod 755 "$test_dir/two-fail.sh"
three_failed() { grep -q 'task 3: Exited with exit code 5' "$test_dir/host.out"; }
(until_true 60 three_failed && touch "$test_dir/three-failed") &
debugger_host=$h2 # which has no other reason to be in the session
debugs logs=bad stop=exec node=1 program="$test_dir/two-fail.sh"
debugger_host=$h1
ok "bad ends are to be logged" well
is "the exit code is that of the first" "$(grep -E '^(end job|first)' <<<"$output" | paste -sd' ')" "end job 5 first 3"
nspace=$(sed -n 's/^job //p' <<<"$output")
# logged TEXT: these lines of the job are at srun's terminal, in whatever order
logged() { [[ $(grep -F "pmixhost: $nspace" "$test_dir/host.out" | sed "s/.*$nspace: //" | sort | paste -sd';') == "$1" ]]; }
ok "there is a line for each" until_true 10 logged "rank 1 has ended with exit code 9;rank 3 has ended with exit code 5"
debugs logs=all node=1
ok "all ends are to be logged" well
nspace=$(sed -n 's/^job //p' <<<"$output")
ok "there is a line for each host" until_true 10 logged \
    "rank 2 has ended with exit code 0;rank 3 has ended with exit code 0;ranks 0-1 have ended with exit code 0"

# ------------------------------------------------------------------------------------------- what is refused

debugs target="slurm.$job.77" node=1 status=PMIX_ERR_NOT_FOUND
ok "a job that is not there" well
debugs node=1 rank=77 status=PMIX_ERR_NOT_FOUND
ok "a rank that is not there" well
debugs node=1 proc=1 status=PMIX_ERR_BAD_PARAM
ok "daemons per host and per process" well
ok "the user reads why" until_true 10 grep -q 'both per host and per process' "$test_dir/host.out"
debugs cospawn node=1 daemon=/no/such/daemon status=PMIX_ERR_JOB_EXE_NOT_FOUND
ok "a daemon that cannot be started with the job" well
ok "leaves no job" until_true 30 nothing_else || diag "left: $(steps)"

# ------------------------------------------------------------------------------------- a debugger that dies

# One that was asked to go on is there still when the other tool's has been ended: the daemon looks at both at once.
going=$(cd "$test_dir" && "${on_cluster[@]}" --user pmixuser1 --host "$h1" -- timeout -k 5 60 "$pmixhost" spawn "$job.0" -- \
    sh -c 'until [ -e go ]; do sleep 0.1; done; : >went-on' 2>&1 </dev/null)
debugs die
is "it is killed while the job stands" "$status" 137
only_that() { [[ $(steps) == "${going#slurm.}" ]]; }
ok "the job ends with it" until_true 30 only_that || diag "left: $(steps)"
touch "$test_dir/go"
ok "one that was asked to go on does" until_true 30 test -e "$test_dir/went-on"
ok "and ends by itself" until_true 30 nothing_else

# What shall go on without it does so: nobody else would let it go where it stands, now or at the next place, and where
# it runs nothing ends it.
printf '#!/bin/sh\n: >"outlived.$PMIX_RANK"\nuntil [ -e outlive ]; do sleep 0.1; done\n' >"$test_dir/outlives.sh"
chmod 755 "$test_dir/outlives.sh"
well_ended() { grep -c '^ok [0-2]$' "$test_dir/host.out"; } # of its own processes, in all
for how in init both; do
    before=$(well_ended)
    debugs nohup stop=$how np=3 die
    is "$how: it is killed, and its job shall go on" "$status" 137
    ok "$how: which it does, to its end" until_true 30 eval '(($(well_ended) == before + 3))'
    ok "$how: and is over" until_true 30 nothing_else || diag "left: $(steps)"
done
for how in stands runs; do
    rm -f "$test_dir"/outlive "$test_dir"/outlived.*
    let=()
    [[ $how == stands ]] || let=(lets)
    debugs nohup stop=exec np=3 program="$test_dir/outlives.sh" "${let[@]}" die
    is "$how: it is killed, and its job shall go on" "$status" 137
    ok "$how: which it does" until_true 30 up outlived 3
    going=$(sed -n 's/^job //p' <<<"$output")
    debugs die
    ok "$how: and still when that of another one has been ended" until_true 30 only_that || diag "left: $(steps)"
    touch "$test_dir/outlive"
    ok "$how: until its own end" until_true 30 nothing_else
done

# While its job is being started: two of the processes stand, the third one has yet to come, and PMIx_Spawn waits.
outliving() { # STATE: prints how many are in it
    local host
    for host in "$h1" "$h2" "$h3"; do
        # shellcheck disable=SC2016 # for the shell inside
        on_host "$host" sh -c 'for p in $(pgrep -x outlives.sh); do grep "^State:.'"$1"'" /proc/$p/status; done; true'
    done | wc -l
}
kill_it() {
    until_true 50 test -e "$test_dir/is-held" && until_true 30 eval '(($(outliving T) == 2))' && : >"$test_dir/two-stood"
    on_host "$h1" pkill -KILL -f "^$clients/debugger nohup|^$clients/debugger stop="
}
for how in ends outlives; do
    rm -f "$test_dir"/{outlive,is-held,two-stood} "$test_dir"/outlived.*
    touch "$test_dir/hold"
    nohup=()
    [[ $how == ends ]] || nohup=(nohup)
    kill_it &
    debugs "${nohup[@]}" stop=exec np=3 program="$test_dir/outlives.sh"
    wait $!
    is "$how: it is killed while its job is being started" "$status $(grep -c '^job' <<<"$output")" "137 0"
    ok "$how: of which two processes stand" test -e "$test_dir/two-stood"
    if [[ $how == ends ]]; then
        ok "$how: the job ends before it has been started" until_true 40 nothing_else || diag "left: $(steps)"
        is "$how: and nobody has gone on" "$(cd "$test_dir" && echo outlived.*)" 'outlived.*'
    else
        rm -f "$test_dir/hold"
        ok "$how: what shall go on without it does" until_true 40 up outlived 3
        touch "$test_dir/outlive"
        ok "$how: until its own end" until_true 40 nothing_else || diag "left: $(steps)"
    fi
    is "$how: nobody is left standing" "$(outliving .)" 0
done

# Another one, when its daemons hold the job; and daemons that die.
hold=yes
debugs node=1 dies
hold=
is "it is killed while its daemons hold the job" "$status" 137
ok "both jobs end with it" until_true 30 nothing_else || diag "left: $(steps)"
printf '#!/bin/sh\nkill -KILL $$\n' >"$test_dir/killed.sh"
chmod 755 "$test_dir/killed.sh"
debugs node=1 daemon="$test_dir/killed.sh" after
ok "its daemons die while the job stands" well
is "which it hears, and lets the job go itself" "$(grep ^end <<<"$output" | paste -sd' ')" "end daemons 137 end job 0"

# ------------------------------------------------------------------------------ a job that runs already

until_true 30 nothing_else # the one before is listed until it has gone
touch "$test_dir/attach"
ok "a second job runs" until_true 40 up second 4
second=$(steps)
end_it() { until_true 40 eval '(($(wc -l <"$CLIENT_DIR/daemons") == 2))' 2>/dev/null && touch "$test_dir/end"; }
end_it &
debugs target="slurm.$second" node=1
wait $!
ok "daemons beside a job that runs" well
is "they see its processes" "$(daemons)" "0 0 $h1: 0 1;1 0 $h2: 2 3"
is "and hear how it ended" "$(ended)" " 2 ended 3 "
# It stands while the debugger looks, though it was started with no thought of that.
for how in release resume; do
    ok "$how: the one before has gone" until_true 30 nothing_else
    rm -f "$test_dir"/{end,second.[0-9]} "$CLIENT_DIR/daemons"
    touch "$test_dir/attach.$how"
    ok "$how: another one runs" until_true 40 up second 4
    second=$(steps)
    end_it &
    debugs target="slurm.$second" node=1 pause $how
    wait $!
    ok "$how: it is paused, and goes on" well
    is "$how: the table has all of it" "$(grep ^table <<<"$output")" "table 4 processes on 2 hosts"
    is "$how: the daemons find it stopped" "$(sort "$CLIENT_DIR/states" | paste -sd';')" "0 T;1 T;2 T;3 T"
    is "$how: they hear of its end" "$(ended)" " 2 ended 3 "
done
# A debugger that is killed where it has paused a job: with its daemons there, or behind their end, also where they were
# to go on without it.
for how in dies ends lasts; do
    ok "$how: the one before has gone" until_true 30 nothing_else
    rm -f "$test_dir"/{end,second.[0-9]} "$CLIENT_DIR/daemons"
    touch "$test_dir/attach.$how"
    ok "$how: another one runs" until_true 40 up second 4
    second=$(steps)
    if [[ $how == dies ]]; then
        hold=yes
        debugs target="slurm.$second" node=1 pause dies
        hold=
    else
        nohup=()
        [[ $how == ends ]] || nohup=(nohup)
        debugs target="slurm.$second" node=1 pause "${nohup[@]}" daemon=/bin/true dies=behind
    fi
    is "$how: it is killed" "$status" 137
    touch "$test_dir/end"
    ok "$how: what it had paused goes on" until_true 30 nothing_else || diag "left: $(steps)"
done
# Daemons that take no notice of the end.
printf '#!/bin/sh\ntrap "" TERM\nwhile :; do sleep 1; done\n' >"$test_dir/deaf.sh"
chmod 755 "$test_dir/deaf.sh"
rm -f "$test_dir"/{end,second.[0-9]}
touch "$test_dir/attach.deaf"
ok "deaf: another one runs" until_true 40 up second 4
second=$(steps)
two_steps() { (($(steps | wc -l) == 2)); }
(until_true 40 two_steps && touch "$test_dir/end") &
debugs target="slurm.$second" node=1 daemon="$test_dir/deaf.sh"
wait $!
like "daemons that outlive what they debug are ended" "$output" $'(^|\n)end daemons [1-9]'
ok "and leave nothing" until_true 30 nothing_else

# The job by which it is connected ends well, and its server leaves, while the debugger is there and a job stands: one
# that shall go on without it, at two places, or that it has paused, beside which its daemons are.
stopped_of_first() {
    local host
    for host in "$h1" "$h2" "$h3"; do
        on_host "$host" sh -c 'for p in $(pgrep -f "^[^ ]*sh -c : >up"); do grep "^State:.T" /proc/$p/status; done; true'
    done | wc -l
}
touch "$test_dir/well"
for how in stands pauses; do
    ok "$how: the one before has gone" until_true 30 nothing_else
    rm -f "$test_dir"/{end,second.[0-9]} "$CLIENT_DIR/stays"
    touch "$test_dir/attach.$how"
    ok "$how: a job runs by which a debugger comes" until_true 40 up second 4
    debugger_step=$(steps) before=$(well_ended)
    if [[ $how == stands ]]; then
        debugs nohup stop=both np=3 stays &
    else
        hold=yes
        debugs target="slurm.$job.0" node=1 pause stays &
    fi
    debugger=$!
    ok "$how: the debugger has another one stand" until_true 50 test -e "$CLIENT_DIR/stays"
    [[ $how == stands ]] || is "$how: all of it" "$(stopped_of_first)" 3
    touch "$test_dir/end"
    if [[ $how == stands ]]; then
        ok "$how: that goes on, to its end" until_true 40 eval '(($(well_ended) == before + 3))'
    else
        ok "$how: that goes on" until_true 40 eval '(($(stopped_of_first) == 0))'
    fi
    ok "$how: and nothing waits for it" until_true 40 nothing_else || diag "left: $(steps)"
    touch "$CLIENT_DIR/leave"
    wait "$debugger" || true
done
hold=
touch "$test_dir/over"
wait "$host_pid" || true

# ------------------------------------------------------ a debugger of the login host, whose desk is killed

rm -f "$test_dir"/{over,up.*} "$CLIENT_DIR"/*
configure '[tools]' 'policy = ["allow everything by anyone to jobs of themselves from 10.99.0.0/16"]'
(cd "$test_dir" && exec timeout -k 5 200 "${on_cluster[@]}" --user pmixuser1 -- salloc -Q -w "$h1,$h2,$h3" -N3 --ntasks-per-node=8 \
    srun "$mpi" -N3 -n3 sh -c ': >up.$SLURM_PROCID; until [ -e over ]; do sleep 0.1; done') >"$test_dir/host.out" 2>&1 </dev/null &
host_pid=$!
ok "a job runs, for a debugger of the login host" until_true 40 up up 3
job=$(as_user root squeue -h -u pmixuser1 -o %i)
(cd "$test_dir" && exec timeout -k 5 120 "${on_cluster[@]}" --user pmixuser1 -- \
    "$pmixhost" with "$job.0" -- "$clients/debugger" stop=exec np=3 stays) >"$test_dir/distant" 2>&1 </dev/null &
debugger=$!
ok "which has another one stand" until_true 60 test -e "$CLIENT_DIR/stays" || diag "$(<"$test_dir/distant")"
on_host head pkill -KILL -u pmixuser1 -f '[p]mixhostd --desk'
ok "its desk is killed: that job ends, which nobody would let go" until_true 40 nothing_else || diag "left: $(steps)"
touch "$CLIENT_DIR/leave"
wait "$debugger" || true
touch "$test_dir/over"
wait "$host_pid" || true

# ---------------------------------------------------------------------------------------- what the rules say

rm -f "$test_dir"/{over,up.*}
configure '[tools]' 'policy = ["deny debug by anyone to jobs of anyone from anywhere"]'
(cd "$test_dir" && exec timeout -k 5 150 "${on_cluster[@]}" --user pmixuser1 -- salloc -Q -w "$h1,$h2,$h3" -N3 --ntasks-per-node=8 \
    srun "$mpi" -N3 -n3 sh -c ': >up.$SLURM_PROCID; until [ -e over ]; do sleep 0.1; done') >"$test_dir/host.out" 2>&1 </dev/null &
host_pid=$!
ok "a job where nobody debugs" until_true 40 up up 3
job=$(as_user root squeue -h -u pmixuser1 -o %i)
debugger_step=$job.0
debugs node=1 target="slurm.$job.0" status=PMIX_ERR_NO_PERMISSIONS
ok "a rule may forbid it" well
debugs cospawn node=1 status=PMIX_ERR_NO_PERMISSIONS
ok "and both in one request" well
is "nothing was started" "$(steps)" ""
touch "$test_dir/over"
wait "$host_pid" || true
configure

# ------------------------------------------------------------------------ a daemon for each of 64 processes

rm -f "$test_dir"/{over,end,up.*}
(cd "$test_dir" && exec timeout -k 5 150 "${on_cluster[@]}" --user pmixuser1 -- salloc -Q -w "$h1" -N4 -n64 --ntasks-per-node=16 sh -c "
    srun $mpi --overlap -N1 -n1 sh -c ': >up.first; until [ -e over ]; do sleep 0.1; done' &
    until [ -e up.first ]; do sleep 0.1; done
    srun $mpi --overlap -N4 -n64 --ntasks-per-node=16 sh -c ': >up.\$SLURM_PROCID; until [ -e end ]; do sleep 0.5; done'
    wait") >"$test_dir/host.out" 2>&1 </dev/null &
host_pid=$!
ok "64 processes run" until_true 40 up up 65
job=$(as_user root squeue -h -u pmixuser1 -o %i)
debugger_step=$job.0
debugger_host=$h1
(until_true 60 eval '(($(wc -l <"$CLIENT_DIR/daemons") == 64))' 2>/dev/null && touch "$test_dir/end") &
debugs target="slurm.$job.1" proc=1
wait $!
ok "a daemon for each of 64 processes" well
is "64: each is one of its own" "$(cut -d' ' -f1 "$CLIENT_DIR/daemons" | sort -un | wc -l)" 64
seen=$(daemons | tr ';' '\n' | cut -d: -f2 | sort | uniq -c | awk '{print $1 "x" (NF - 1)}' | paste -sd' ')
is "64: and sees the 16 of its host" "$seen" "16x16 16x16 16x16 16x16"
is "64: they hear that the job has ended" "$(wc -l <"$CLIENT_DIR/ended")" 64
touch "$test_dir/over"
wait "$host_pid" || true
ok "nothing is left" no_litter 30
done_testing
