#!/bin/bash
# Spawned jobs that stop for a debugger: in PMIx_Init, at a place of their own, at their first instruction.
. "$(dirname "$0")/../common/words.sh"

pmixhost=$PMIXHOST_BUILD/tools/pmixhost
h1=$(host_name 1) h2=$(host_name 2) h3=$(host_name 3)
on_first() { "${on_cluster[@]}" --user "$TEST_USER" --host "$h1" -- timeout -k 5 60 "$@" 2>&1; }

# stops ARGUMENT ...: the spawner on the first of three hosts, its children on all of them.
stops() {
    rm -f "$CLIENT_DIR"/*
    run salloc -Q -N3 -w "$h1,$h2,$h3" --ntasks-per-node=4 srun "$mpi" -N1 -n1 "$clients/stops" "$@"
}
well() { passed && grep -q '^ok 0$' <<<"$output" && ! grep -q '^FAIL' <<<"$output"; }
stopped_well() { # DESCRIPTION READY ARGUMENT ...
    local what=$1 ready=$2
    shift 2
    stops "$@"
    ok "$what" well
    is "$what: one event, with those who were asked for" "$(grep '^ready ' <<<"$output")" "$ready"
}
refused() { # DESCRIPTION STATUS LINE ARGUMENT ...
    local what=$1 wanted=$2 line=$3
    shift 3
    stops "$1" "$2" "$3" "status=$wanted" "${@:4}"
    ok "$what is refused" well
    like "$what: the user reads why" "$output" "$line"
}

# --- in PMIx_Init

stopped_well "all stop in PMIx_Init" 'ready 4 of 4 at pmix-init' init all 4
stopped_well "one rank" 'ready 1 of 4 at pmix-init' init 2 4
stopped_well "an array of ranks" 'ready 2 of 6 at pmix-init' init ranks:1,4 6
stopped_well "an array of processes" 'ready 3 of 6 at pmix-init' init procs:0,3,5 6
stopped_well "one of them ends before it comes there" 'ready 3 of 4 at pmix-init' init all 4 leaves=1
stops init none 3
ok "nobody, when the value is false" well
refused "a rank that is not there" PMIX_ERR_BAD_PARAM 'there is no rank 7 to stop' init 7 3
refused "an array with such a rank" PMIX_ERR_BAD_PARAM 'there is no rank 9 to stop' init ranks:1,9 3
refused "a value of a wrong type" PMIX_ERR_BAD_PARAM 'the value of pmix.dbg.init cannot be read' init text 3
stops init all 4 kill=1
ok "one is killed while all are stopped: the job comes to its end" well

stops init all 3 never -- /bin/true
ok "a program that never calls PMIx_Init: nothing is told but the job's end" well
run env PMIXHOST_DEBUG_STOP=init srun "$mpi" -n2 /bin/true
is "nor does one of srun's own wait for ever" "$status $output" "0 "

# --- at a place of their own

stopped_well "all stop at a place of their own" 'ready 4 of 4 at my-place' app all 4
stopped_well "some of them" 'ready 2 of 5 at my-place' app ranks:0,4 5
stopped_well "one of them ends before it comes to that place" 'ready 3 of 4 at my-place' app all 4 leaves=1
stops app all 4 kill=1
ok "one is killed while all stand at a place of their own: the job comes to its end" well
stopped_well "all stop at two places" $'ready 4 of 4 at my-place\nready 4 of 4 at my-other-place' app all 4 again

# --- at the first instruction

cat >"$test_dir/past.sh" <<'SH'
#!/bin/sh
touch "$CLIENT_DIR/past.$PMIX_RANK"
SH
chmod 755 "$test_dir/past.sh"
stopped_well "a program at its first instruction" 'ready 4 of 4 at exec' exec all 4
stopped_well "a script" 'ready 3 of 3 at exec' exec all 3 -- "$test_dir/past.sh"
if printf '%s\n' '#include <stdio.h>' '#include <stdlib.h>' 'int main(void) { char name[4096];' \
    'snprintf(name, sizeof name, "%s/past.%s", getenv("CLIENT_DIR"), getenv("PMIX_RANK"));' \
    'return !fopen(name, "w"); }' | cc -static -x c -o "$test_dir/static" - 2>/dev/null; then
    stopped_well "a static program" 'ready 3 of 3 at exec' exec all 3 -- "$test_dir/static"
else
    skip "a static program" "there is no static C library"
fi
stopped_well "some ranks of a script" 'ready 2 of 5 at exec' exec ranks:1,3 5 -- "$test_dir/past.sh"
stopped_well "PMIx_Job_control lets them go on" 'ready 3 of 3 at exec' exec all 3 continue
stops exec all 4 kill=1
ok "one is killed while all stand there: the job comes to its end" well

TEST_LIMIT=180 CLIENT_LIMIT=150 stopped_well "64 in PMIx_Init" 'ready 64 of 64 at pmix-init' init all 64
TEST_LIMIT=180 CLIENT_LIMIT=150 stopped_well "64 at their first instruction" 'ready 64 of 64 at exec' exec all 64

# What the kernel says of them, while they are stopped.
look_at_them() {
    until_true 40 test -e "$CLIENT_DIR/stopped" || return
    for host in "$h1" "$h2" "$h3"; do
        on_host "$host" sh -c 'for p in $(pgrep -x past.sh); do sed -n "s/^State:[[:space:]]*\(.\).*/state \1/p; s/^TracerPid:[[:space:]]*/tracer /p" /proc/$p/status; done'
    done >"$test_dir/states"
    on_first "$pmixhost" ps "$(cat "$CLIENT_DIR/stopped")" >"$test_dir/table"
    as_user "$TEST_USER" touch "$CLIENT_DIR/go"
}
rows() { awk '$1 ~ /^slurm/ {print $2}' "$test_dir/table" | sort -n | tr '\n' ' '; }
rm -f "$CLIENT_DIR"/*
look_at_them &
looker=$!
stops exec all 3 show -- "$test_dir/past.sh"
ok "they go on after somebody has looked" well
wait "$looker"
is "the kernel has them stopped, and traced by nobody" "$(sort "$test_dir/states" | uniq -c | tr -s ' \n' ' ')" \
    " 3 state T 3 tracer 0 "

is "pmixhost ps lists them meanwhile" "$(rows)" "0 1 2 "
rm -f "$CLIENT_DIR"/*
look_at_them &
looker=$!
stops init all 5 show
wait "$looker"
ok "those in PMIx_Init too" well
is "and pmixhost ps lists them meanwhile" "$(rows)" "0 1 2 3 4 "

# It gets root's rights, since nobody traces it.
cat >"$test_dir/rights.c" <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/past.%s", getenv("CLIENT_DIR"), getenv("PMIX_RANK"));
    return creat(path, 0644) < 0; // whose file it is says whose rights it has
}
C
cc -o "$test_dir/rights" "$test_dir/rights.c"
chmod 4755 "$test_dir/rights"
stopped_well "a program with other rights than the user's" 'ready 2 of 2 at exec' exec all 2 -- "$test_dir/rights"
is "and it has them" "$(cd "$CLIENT_DIR" && stat -c '%n %U' past.*)" $'past.0 root\npast.1 root'
run salloc -Q -N1 -n2 srun "$mpi" -n1 "$clients/spawn" status=ERROR pmix.exec.agnt=/usr/bin/env pmix.dbg.exec=yes -- /bin/true
like "one that an agent starts is refused" "$status $output" '^0 .*refused PMIX_ERR_NOT_SUPPORTED '
like "one that an agent starts: the user reads why" "$output" 'started by an agent \(PMIX_EXEC_AGENT\), /usr/bin/env; next: '
refused "a program that is not there" PMIX_ERR_JOB_EXE_NOT_FOUND 'no program /nothing|cannot execute /nothing' \
    exec all 2 -- /nothing

# --- the spawner is a tool

rm -f "$CLIENT_DIR"/*
(cd "$test_dir" && exec timeout -k 5 120 "${on_cluster[@]}" --user "$TEST_USER" -- \
    salloc -Q -N3 -w "$h1,$h2,$h3" --ntasks-per-node=4 srun "$mpi" -N2 -n2 -w "$h1,$h2" "$clients/visited") >"$test_dir/visited" 2>&1 </dev/null &
visited=$!
both_there() { (($(grep -c '^there' "$test_dir/visited") == 2)); }
ok "a job runs, for a tool" until_true 30 both_there
job=$(as_user root squeue -h -u "$TEST_USER" -o %i)
# One only: libpmix keeps the event, and a second tool of that job would hear of the first one's job too.
for place in init; do
    rm -f "$CLIENT_DIR"/*
    output=$(on_first "$pmixhost" with "$job" -- "$clients/stops" $place ranks:0,1,3 4 tool)
    status=$?
    ok "$place: a tool spawns, hears and releases" well
    like "$place: it hears of those whom it asked for" "$output" 'ready 3 of 4 at (pmix-init|exec)'
done
end_jobs
wait "$visited"

# --- a job of srun's own

# stands PLACE PROGRAM ...: a job whose processes stop; sets $job.
stands() {
    rm -f "$CLIENT_DIR"/*
    (cd "$test_dir" && PMIXHOST_DEBUG_STOP=$1 exec timeout -k 5 120 "${on_cluster[@]}" --user "$TEST_USER" -- \
        srun "$mpi" -O -N2 -w "$h1,$h2" -n4 --ntasks-per-node=2 "${@:2}") >"$test_dir/own" 2>&1 </dev/null &
    own=$!
    until_true 30 eval 'job=$(as_user root squeue -h -t R -u "$TEST_USER" -o %i); [[ -n $job ]]'
    until_true 30 eval 'as_user root squeue -h -s -o %i | grep -qx "$job\.0"'
}
states_of() { # NAME
    local host
    for host in "$h1" "$h2"; do
        on_host "$host" sh -c "for p in \$(pgrep -x $1); do sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' /proc/\$p/status; done"
    done | sort | uniq -c | tr -s ' \n' ' '
}
cat >"$test_dir/own.sh" <<'SH'
#!/bin/sh
env | grep DEBUG_STOP
touch "$CLIENT_DIR/past.$PMIX_RANK"
SH
chmod 755 "$test_dir/own.sh"
stands exec "$test_dir/own.sh"
ok "all processes of srun's job stand at their first instruction" until_true 30 eval '[[ $(states_of own.sh) == " 4 T " ]]'
is "none of them has begun" "$(ls "$CLIENT_DIR")" ""
on_first "$pmixhost" events --kind -58 "$job" >"$test_dir/events" & # PMIX_READY_FOR_DEBUG
events=$!
ok "a tool that comes later hears that they stand" until_true 20 grep -qE ' (-58|PMIX_READY_FOR_DEBUG) .*from slurm' "$test_dir/events" ||
    diag "$(<"$test_dir/events")"
ok "they are told to go on" on_first "$pmixhost" resume "$job"
wait "$own"
is "and end well" "$?" 0
is "the user reads once what the job waits for" "$(cat "$test_dir/own")" \
    "srun: error: pmixhost: job $job.0: 4 processes stand at their first instruction, for a debugger (debug.stop, or PMIXHOST_DEBUG_STOP in the environment); next: pmixhost resume $job.0"
wait "$events"
is "all of them" "$(cd "$CLIENT_DIR" && echo *)" "past.0 past.1 past.2 past.3"
stands 'exec=1-2' "$test_dir/own.sh"
ok "some processes do" until_true 30 eval '[[ $(states_of own.sh) == " 2 T " && -e $CLIENT_DIR/past.3 ]]'
on_first "$pmixhost" resume "$job" >/dev/null
wait "$own"
is "and end, too" "$?" 0
no_stops() { # VALUE LINE
    run env PMIXHOST_DEBUG_STOP="$1" srun "$mpi" -n2 "$test_dir/own.sh"
    ok "PMIXHOST_DEBUG_STOP=$1 is refused" test "$status" -ne 0
    like "PMIXHOST_DEBUG_STOP=$1: the user reads why" "$output" "$2"
}
# srun passes on none of its variables, at its user's word; what was meant for the step holds all the same.
cat >"$test_dir/bare.sh" <<SH
#!/bin/sh
env | grep PMIXHOST_
touch "$CLIENT_DIR/past.\$PMIX_RANK"
SH
chmod 755 "$test_dir/bare.sh"
for names in NONE HOME; do
    PMIXHOST_IO_CAPTURE=on stands exec --export=$names "$test_dir/bare.sh"
    ok "so do those of srun --export=$names" until_true 30 eval '[[ $(states_of bare.sh) == " 4 T " ]]'
    is "none of them has begun (--export=$names)" "$(ls "$CLIENT_DIR")" ""
    on_first "$pmixhost" resume "$job" >/dev/null
    wait "$own"
    is "and end (--export=$names)" "$?" 0
    is "all of them (--export=$names)" "$(cd "$CLIENT_DIR" && echo *)" "past.0 past.1 past.2 past.3"
    is "without a variable of it (--export=$names)" "$(grep -c '^PMIXHOST_' "$test_dir/own")" 0
done
SLURM_EXPORT_ENV=NONE stands init "$clients/hello"
ok "within sbatch --export=NONE the user reads that they stand" until_true 30 grep -q 'processes stand in PMIx_Init' "$test_dir/own"
end_jobs
wait "$own"
# A setting that has nothing to do with debuggers; a wrong value shows that it is read.
run env PMIXHOST_IO_CAPTURE=never srun --export=NONE "$mpi" -n2 /bin/true
ok "any other setting holds, too" test "$status" -ne 0
like "any other setting: the user reads of it" "$output" 'PMIXHOST_IO_CAPTURE.*allowed: on, off'
run env PMIXHOST_IO_CAPTURE=never srun --export=PMIXHOST_IO_CAPTURE=on "$mpi" -n2 /bin/true
is "what --export says goes before" "$status $output" "0 "
no_stops never 'allowed: exec, init or app'
no_stops exec=9 'there is no rank 9 to stop; the job has 2 processes'

# --- ends

# The spawner is killed, and its srun goes; the children must not stand there for ever.
dies() { # PLACE
    stops "$1" all 4 die
    ok "$1: they were stopped when the spawner was killed" test -e "$CLIENT_DIR/ready"
    ok "$1: none of them is left" until_true 30 no_jobs
    ok "$1: no process of theirs either" until_true 20 none_left
}
none_left() {
    local host
    for host in $(hosts_of_cluster); do
        ! on_host "$host" pgrep -x stops >/dev/null || return 1
    done
}
dies init
dies exec
dies app

ok "nothing is left on any host" no_litter 20
done_testing
