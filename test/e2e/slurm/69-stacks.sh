#!/bin/bash
# pmixhost stacks: why does this job hang? It says so, and the job goes on as if nobody had asked.
. "$(dirname "$0")/../common/words.sh"
. "$(dirname "$0")/../hanging_job.sh"
odd="$test_dir/<img src=x onerror=alert(1)>"
ask() { status=0; output=$(asks "$pmixhost" stacks --timeout 100 "$@" 2>"$test_dir/err") || status=$?; said=$(<"$test_dir/err"); }
field() { python3 -c "import json, sys; r = json.load(sys.stdin); print($1)" <<<"$output"; } # EXPRESSION with r
hosts() { cut -d' ' -f1 "$test_dir/processes" | sort -u; }
looks_of() { at "$1" pgrep -f "^[^ ]*pmixhost stacks --here $job " </dev/null; } # HOST: the pids of the looks there
no_look() { local host; for host in $(hosts); do [[ -z $(looks_of "$host") ]] || return 1; done; }

# ------------------------------------------------------------------------------------------ a job that hangs

cp "$clients/mpi_hang" "$odd"
begin 3 6 "$odd" "$go"
processes >"$test_dir/processes"
is "a job hangs" "$(wc -l <"$test_dir/processes")" 6
ask "$job"
is "its stacks are shown" "$status $said" "0 "
like "of all ranks" "$output" "^job $job: 6 of 6 ranks on 3 hosts, in [0-9]+ different places"
like "rank 0 waits where it does" "$output" $'\n''0 +[+] waits_for_a_word  mpi_hang.c:[0-9]+'
like "the others wait for it" "$output" $'\n''1-5 +[+] meets_the_others  mpi_hang.c:[0-9]+'
like "all are in what called both" "$output" $'\n''0-5 .*main  mpi_hang.c:[0-9]+.* works .*[+] '
unlike "nothing of a terminal is in a pipe" "$output" $'\x1b'
ok "and run on" all_run
ask --json --threads "$job"
is "as JSON, with all threads" "$status $(field 'sorted({p["rank"] for p in r["processes"] if len(p["threads"]) > 1})') $(field 'r["read"]')" \
    "0 [0, 1, 2, 3, 4, 5] 6"
ask --ranks 0,5 --output "$test_dir/two" "$job"
like "some of them, in a file" "$status $output $(<"$test_dir/two")" "^0  job $job: 2 of 2 ranks on "
ask --html "$job"
is "as a page, with all ranks" "$status $(grep -c -E '^<tr><td>[0-5]</td>' <<<"$output")" "0 6"
unlike "that contains nothing of its own will" "$output" '<(script|img)'
like "though a name would" "$output" '&lt;img src'
ask --svg "$job"
like "as a picture" "$status $output" '^0 <svg .*waits_for_a_word.*</svg>'
ask --ranks 77 "$job"
like "ranks that there are not" "$status $said" '^1 pmixhost: error: job .* has none of these ranks'
ask --ranks 1- "$job"
like "or that are none" "$status $said" "^2 pmixhost: error: --ranks is '1-'; allowed: "
ask 999999
like "a job that is not there" "$status $said" '^1 pmixhost: error: no PMIx server of job 999999'
if [[ -n $(type -P eu-stack) ]]; then
    ask --with eu-stack "$job"
    like "the other debugger sees the same" "$status $output" $'^0 .*\n0 +[+] waits_for_a_word.*\n1-5 +[+] meets_the_others'
fi

# ------------------------------------------------------------------------------------------ left as it was

read -r host pid < <(sed -n 3p "$test_dir/processes")
at "$host" kill -STOP "$pid"
ask "$job"
like "a rank that is stopped is shown, and said to be so" "$status $output" $'^0 job [^\n]* 6 of 6 .*\nstopped by a signal: 2$'
is "and stays so" "$(at "$host" ps -o stat= -p "$pid" | cut -c1)" T
at "$host" kill -CONT "$pid"

# A gdb that is killed when it has just stopped its process, or does not get on then.
mkdir -p "$test_dir/bin"
cat >"$test_dir/bin/gdb" <<PY
#!/usr/bin/python3
import os, signal, subprocess, sys, threading, time
real = subprocess.Popen(["$(type -P gdb)"] + sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def copy():
    for line in sys.stdin.buffer:
        if b"-thread-info" in line:
            with open("$test_dir/reached", "a") as f:
                f.write("%d\n" % real.pid)
            if os.path.exists("$test_dir/slow"):
                continue
            real.kill()
        real.stdin.write(line)
        real.stdin.flush()
    real.stdin.close()  # as a gdb whose look has ended: it lets go
threading.Thread(target=copy, daemon=True).start()
for line in real.stdout:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
real.wait()
os._exit(1)
PY
chmod 755 "$test_dir/bin/gdb"
path=$test_dir/bin:$PATH
touch "$test_dir/reached"
chmod 666 "$test_dir/reached"
ask "$job"
like "a gdb that is killed is said to have ended" "$status $said" '^1 pmixhost: error: no process could be looked at: process [0-9]+: gdb has ended'
ok "it was in the middle" test -s "$test_dir/reached"
ok "and nothing is left stopped" until_true 10 all_run
: >"$test_dir/reached"
touch "$test_dir/slow"
asks setsid "$pmixhost" stacks --timeout 60 "$job" >/dev/null 2>&1 &
command=$!
ok "another one hangs" until_true 60 test -s "$test_dir/reached"
at "$(host_name 1)" pkill -KILL -f "^$pmixhost stacks --timeout 60 "
wait "$command"
for host in $(hosts); do
    for pid in $(looks_of "$host"); do
        at "$host" kill -KILL "$pid" </dev/null
    done
done
ok "the command and the looks are killed: nothing is left stopped" until_true 40 all_run
: >"$test_dir/reached"
(cd "$test_dir" && asks setsid "$pmixhost" stacks --timeout 140 "$job" >"$test_dir/ended" 2>&1) &
command=$!
ok "a look takes its time" until_true 60 test -s "$test_dir/reached"
at "$(host_name 1)" pkill -TERM -f "^$pmixhost stacks --timeout 140 "
ok "and ends on all hosts when the command is told to end" until_true 40 no_look
wait "$command"
like "which says so" "$(<"$test_dir/ended")" '^pmixhost: error: the look was ended'
ok "nothing is left stopped by it" until_true 20 all_run
rm -f "$test_dir/slow"
# Gdbs that have asked for the stop and not yet taken notice of it leave their processes stopped, and of who would see to
# that nobody is left: the job's daemons do.
mv "$test_dir/bin/gdb" "$test_dir/bin/gdb.kept"
cat >"$test_dir/bin/gdb" <<PY
#!/usr/bin/python3
import ctypes, re, subprocess, sys, threading
real = subprocess.Popen(["$(type -P gdb)"] + sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
def copy():
    for line in real.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
threading.Thread(target=copy, daemon=True).start()
for line in sys.stdin.buffer:
    attach = re.match(rb"[0-9]+-target-attach ([0-9]+)", line)
    if attach:
        ctypes.CDLL(None).ptrace(16, int(attach[1]), None, None)  # PTRACE_ATTACH
        sys.stdin.buffer.read()  # to its end, as a gdb does
        break
    real.stdin.write(line)
    real.stdin.flush()
real.stdin.close()
real.wait()
PY
chmod 755 "$test_dir/bin/gdb"
asks setsid "$pmixhost" stacks --timeout 61 "$job" >/dev/null 2>&1 &
command=$!
no_gdb() { local host; for host in $(hosts); do ! at "$host" pgrep -x gdb >/dev/null </dev/null || return 1; done; }
some_stand() { (($(states | grep -c '^t$') > 0)); }
ok "some are stopped by debuggers that have not seen it" until_true 60 some_stand
at "$(host_name 1)" pkill -KILL -f "^$pmixhost stacks --timeout 61 |^[^ ]*srun .* stacks --here "
wait "$command"
ok "no look is left" until_true 60 no_look
ok "nor a debugger" until_true 60 no_gdb # before that one that is on its way to its stop is seen to run
ok "and all run on when the command and its srun are killed" until_true 60 all_run
mv "$test_dir/bin/gdb.kept" "$test_dir/bin/gdb"
# A host that does not answer: its gdb stops who has asked.
silent=$(sed -n '$s/ .*//p' "$test_dir/processes")
mv "$test_dir/bin/gdb" "$test_dir/bin/gdb.kept"
printf '#!/bin/sh\n[ "$(hostname -s)" != %s ] || kill -STOP $PPID\nexec %s "$@"\n' \
    "$silent" "$(type -P gdb)" >"$test_dir/bin/gdb"
chmod 755 "$test_dir/bin/gdb"
status=0
output=$(asks "$pmixhost" stacks --timeout 40 "$job" 2>&1) || status=$?
like "a host that does not answer hides no other" "$status $output" \
    $'^3 job [^\n]*: 4 of 6 ranks on 2 hosts.*\nnot shown: [^\n]*has not answered'
ok "and all run on" until_true 40 all_run
mv "$test_dir/bin/gdb.kept" "$test_dir/bin/gdb"
status=0
output=$(path=$PATH asks env SLURM_LABELIO=1 "$pmixhost" stacks --timeout 100 "$job" 2>&1) || status=$?
like "what a user has set for srun changes nothing" "$status $output" "^0 job $job: 6 of 6 ranks"

few=$test_dir/few
mkdir -p "$few"
for program in srun squeue env timeout setsid; do
    [[ -z $(type -P $program) ]] || ln -sf "$(type -P $program)" "$few/$program"
done
path=$few
ask "$job"
path=$PATH
like "without a debugger it is said where, and what to do" "$status $said" \
    '^1 pmixhost: error: no process could be looked at: there is no gdb on host [^ ]+; next: install gdb or elfutils there'
status=0
output=$(asks_as pmixuser2 "$pmixhost" stacks "$job" 2>&1) || status=$?
like "another user is told of no such job" "$status $output" '^1 pmixhost: error: no PMIx server of job'

# ------------------------------------------------------------------------------------------- and it goes on

read -r host pid < <(sed -n 1p "$test_dir/processes")
core=$test_dir/core.0
"${on_cluster[@]}" --user pmixuser1 --host "$host" -- gdb -nx -batch -p "$pid" -ex "gcore $core" >/dev/null 2>&1 </dev/null
ok "the job goes on, and ends well" ends_well 6
ask --core "0=$core"
like "a core file is read when the job is over" "$status $output" $'^0 .*\n*0 .* waits_for_a_word'
ask --core "0=$test_dir/none"
like "one that is not there is named" "$status $said" '^1 .*none cannot be read'
ask --core "zero=$core"
like "or makes no sense" "$status $said" '^2 .*allowed: RANK=FILE'

# ---------------------------------------------------------------- a script around it, and one that is not to be seen

# and from a login host, where a rule lets tools in
configure '[tools]' 'policy = ["allow everything by anyone to jobs of themselves from anywhere"]'
begin 1 3 sh -c "\"$clients/mpi_hang\" \"$go\" 2; true"
ask "$job"
like "the program in a script is shown" "$status $output" $'^[03] .*\n''0 .*[+] waits_for_a_word'
like "a process that lets nobody look says so" "$status $output" $'^3 .*\nnot shown: 2  [^\n]*may not be looked at'
status=0
output=$(as_user pmixuser1 timeout -k 5 150 "$pmixhost" stacks --ranks 0-1 "${job#*.}" 2>&1 </dev/null) || status=$?
like "a login host sees the same" "$status $output" $'^0 job .*: 2 of 2 ranks .*\n0 .*[+] waits_for_a_word'
configure
ok "that job ends well, too" ends_well 3

# ----------------------------------------------------------------- a wrong collective, and a rank that has died

begin 2 4 "$clients/mpi_hang" "$go" wrong
in_two_places() {
    ask "$job"
    [[ $status == 0 && $output == *$'\n3 '*'+ in_a_broadcast '* && $output == *$'\n0-2 '*'+ meets_the_others '* ]]
}
ok "ranks in different collectives are two branches" until_true 30 in_two_places
end_jobs
wait "$job_pid"
begin 1 3 "$clients/linger"
processes >"$test_dir/processes"
read -r host pid < <(sed -n 2p "$test_dir/processes")
"${on_cluster[@]}" --user pmixuser1 --host "$host" -- gdb -nx -batch -p "$pid" -ex "gcore $test_dir/core.1" >/dev/null 2>&1 </dev/null
on_host "$host" kill -KILL "$pid"
with_core() {
    ask --core "1=$test_dir/core.1" "$job"
    [[ $status == 0 && $output == "job $job: 3 of 3 ranks "* ]]
}
ok "a core stands for a rank that has died" until_true 30 with_core
like "with where it was" "$output" $'\n1(-2)? +[+] fence_with  client.h'
end_jobs
wait "$job_pid"

# One that the kernel has written, of a rank that crashed.
mkdir -p "$test_dir/crash"
chmod 1777 "$test_dir/crash"
# shellcheck disable=SC2016 # for the task's shell
SLURM_KILL_BAD_EXIT=1 starts 1 3 sh -c 'ulimit -c unlimited; cd "$0" && exec "$@"' "$test_dir/crash" "$clients/mpi_hang" "$go" crash >"$out" 2>&1 </dev/null
ok "a rank crashes" said there 3
core=$(find "$test_dir/crash" -name '*core*' -print -quit)
if [[ -n $core ]]; then
    ask --core "2=$core"
    like "the kernel's core of a crashed rank is read" "$status $output" $'^0 .*\n2 .* writes_nowhere '
else
    skip "the kernel's core of a crashed rank is read" "here it writes none into the directory of a process ($(</proc/sys/kernel/core_pattern))"
fi
done_testing
