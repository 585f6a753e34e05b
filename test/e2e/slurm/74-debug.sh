#!/bin/bash
# pmixhost debug: gdb on all ranks from one prompt, and the job goes on afterwards as if nobody had been there.
. "$(dirname "$0")/../common/words.sh"
. "$(dirname "$0")/../hanging_job.sh"

# says RANKS-OPTION... -- LINE ...: what the command says to these lines, from a pipe.
says() {
    local options=()
    while [[ $1 != -- ]]; do options+=("$1"); shift; done
    shift
    status=0
    output=$(printf '%s\n' "$@" | asks "$pmixhost" debug --attach "$job" "${options[@]}" 2>&1) || status=$?
}

begin 2 4 "$clients/mpi_hang" "$go"
processes >"$test_dir/processes"
is "a job hangs" "$(wc -l <"$test_dir/processes")" 4

says -- bt ranks
like "all ranks are stopped, and shown" "$status $output" '^0 .*\[0-3\] stopped'
like "rank 0 is where it waits" "$output" $'\n''#[0-9]+ .*waits_for_a_word \('
like "the others are in the barrier" "$output" $'\n''#[0-9]+ .*PMPI_Barrier '
ok "and run on" until_true 20 all_run

says -- 'print 6*7' 'focus 0' 'print 6*7' 'focus 1-2' 'print 1' all 'print 2'
like "equal answers are shown once, with their ranks" "$output" $'\n''\[0-3\] \$1 = 42'
like "a focus of one" "$output" $'\n''\[0\] \$2 = 42'
like "of some" "$output" $'\n''\[1-2\] \$2 = 1'
like "and of all again, whatever the number of it" "$output" $'\n''\[0-3\] \$\.\. = 2'
says -- 'set $own = 0' 'focus 2' 'set $own = 1' all 'print/x 0xabcdef00 + $own'
like "what differs is shown of each" "$output" $'\n''\[0-1,3\] \$1 = 0xabcdef00'$'\n''\[2\] \$1 = 0xabcdef01'
says --ranks 0,3 -- 'print 6*7' ranks 'focus 1' 'focus a-b' 'print 2'
like "some ranks only" "$status $output" $'^0 .*\n''\[0,3\] \$1 = 42.*'$'\n''\[0,3\] stopped'
like "no others" "$output" 'no debugged rank that runs or has stopped is among these'
like "nor what is no rank" "$output" "focus is 'a-b'; allowed: "
like "and it goes on behind that" "$output" $'\n''\[0,3\] \$2 = 2'
says -- 'continue &' interrupt wait ranks 'focus 0' 'print 8*8'
like "interrupt: who runs is stopped again, and answers" "$status $output" $'^0 .*\n''\[0-3\] stopped.*'$'\n''\[0\] \$1 = 64'
says -- 'print nonsense' 'shell id' 'commands 1' 'info line nowhere'
like "also where gdb calls it none" "$(says -- 'break nowhere_at_all' quit; echo "$output")" $'\[0-3\][ \n]Breakpoint 1 \(nowhere_at_all\) pending.*\nFunction "nowhere_at_all" not defined'
like "gdb's errors are theirs" "$output" $'\n''\[0-3\] No symbol "nonsense" in current context'
like "what needs more than a line is refused by name" "$output" "'commands' is not for many ranks at once"

# A breakpoint, and where it is hit; what is left behind would end the process later.
says -- 'focus 0' 'break access' continue 'finish &' wait bt
like "a rank runs into a breakpoint" "$output" $'\[0\][ \n].*hit Breakpoint 1[.0-9]*, .*access'
ok "which is taken out again" until_true 20 all_run
says -- 'break access' 'focus 0' continue 'continue &' quit
ok "also of one that runs" until_true 20 all_run

# Ctrl-C while they run, at a terminal.
cat >"$test_dir/at_terminal.py" <<'PY'
import os, pty, re, select, signal, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[1], sys.argv[1:])
seen = b""
def until(text):
    global seen
    end = time.monotonic() + 60
    while not re.search(text, seen):
        if time.monotonic() > end or not select.select([fd], [], [], 60)[0]:
            sys.exit("no %r in %r" % (text, seen))
        try:
            seen += os.read(fd, 65536)
        except OSError:
            sys.exit("ended: %r" % seen)
    seen = re.split(text, seen, maxsplit=1)[-1]
prompt = rb"\(debug [0-9,-]+\) "
until(prompt)
os.write(fd, b"continue\n")
until(rb"\[0-3\][^\n]* Continuing")
os.write(fd, b"\x03")
until(prompt)
print("stops")
os.write(fd, b"ranks\n")
until(rb"\[0-3\][^\n]* stopped")
until(prompt)
os.write(fd, b"break meets_the\t\n")
until(rb"\[0-3\][^\n]* Breakpoint 1")
print("completes")
until(prompt)
os.write(fd, b"print 10+\x03")
until(prompt)
os.write(fd, b"\x1b[A\x1b[A\n")  # the line before the last one
until(rb"\[0-3\][^\n]* stopped")
print("remembers")
until(prompt)
for line in b"focus 0", b"frame 0", b"up":
    os.write(fd, line + b"\n")
    until(prompt)
os.write(fd, b"\x03")  # no empty line, by which "up" would be said once more
until(prompt)
os.write(fd, b"info frame\n")
until(rb"Stack level 1,")
print("stays")
until(prompt)
for line in b"frame 0", b"up", b"":
    os.write(fd, line + b"\n")
    until(prompt)
os.write(fd, b"info frame\n")
until(rb"Stack level 2,")
print("repeats")
until(prompt)
os.write(fd, b"all\n")
until(prompt)
os.write(fd, b"info sharedlibrary\n")
until(rb"\nFrom ")
os.write(fd, b"\x04") # ahead of the prompt
while select.select([fd], [], [], 60)[0]:
    try:
        if not os.read(fd, 65536):
            break
    except OSError:
        break
print("ends", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
status=0
output=$(asks python3 "$test_dir/at_terminal.py" "$pmixhost" debug --attach "$job" 2>&1) || status=$?
like "Ctrl-C stops ranks that run" "$output" '^stops'
like "a word is completed" "$output" $'\ncompletes'
like "lines before can be had again" "$output" $'\nremembers'
like "Ctrl-C at the prompt takes no step once more" "$output" $'\nstays'
like "an empty line does" "$output" $'\nrepeats'
like "Ctrl-D ends it" "$output, exit code $status" $'\nends 0, exit code 0$'
ok "all run on" until_true 20 all_run

# Somebody who ends it, and somebody who is killed.
mkfifo "$test_dir/nothing"
exec 7<>"$test_dir/nothing" # an input that does not end
for signal in TERM KILL; do
    (asks setsid "$pmixhost" debug --attach "$job" --timeout 99 <&7 >"$test_dir/ended" 2>&1) &
    command=$!
    stopped() { (($(states | grep -c '^t$') == 4)); }
    ok "all are stopped ($signal)" until_true 60 stopped
    at "$(host_name 1)" pkill "-$signal" -f "^$pmixhost debug --attach $job --timeout 99"
    ok "and run on when the command is ended ($signal)" until_true 90 all_run
    wait "$command"
done

# Nor does a rank stay when a gdb is killed, or what leads to the hosts is told to end, or the part there.
for who in gdb srun part; do
    (asks setsid "$pmixhost" debug --attach "$job" --timeout 98 <&7 >"$test_dir/ended" 2>&1) &
    command=$!
    ok "all are stopped ($who)" until_true 60 stopped
    case $who in
        gdb) at "$(host_name 2)" pkill -KILL -o -x gdb ;;
        srun) at "$(host_name 1)" pkill -TERM -o -f '^[^ ]*srun .* debug --here ' ;;
        part) at "$(host_name 2)" pkill -TERM -o -f '^[^ ]*pmixhost debug --here ' ;;
    esac
    is "one is ended ($who)" "$?" 0
    [[ $who == srun ]] || at "$(host_name 1)" pkill -TERM -f "^$pmixhost debug --attach $job --timeout 98"
    ok "and all run on ($who)" until_true 90 all_run
    at "$(host_name 1)" pkill -TERM -f "^$pmixhost debug --attach $job --timeout 98"
    wait "$command"
done

# Of an srun that is killed, or told to end, Slurm kills the step, and with it debuggers that hold processes: while they
# attach, and when somebody thinks at the prompt.
thinks() { grep -q '\[0-3\] stopped' "$test_dir/ended"; }
for when in stopped thinks; do
    : >"$test_dir/ended"
    (asks setsid "$pmixhost" debug --attach "$job" --timeout 97 <&7 >"$test_dir/ended" 2>&1) &
    command=$!
    [[ $when != thinks ]] || echo ranks >&7
    ok "all are stopped (killed, $when)" until_true 60 "$when"
    at "$(host_name 1)" pkill -KILL -o -f '^[^ ]*srun .* debug --here '
    begin=$SECONDS
    wait "$command"
    ok "it does not wait for a line ($when)" test $((SECONDS - begin)) -lt 90
    like "the command says that they were let go on ($when)" "$(<"$test_dir/ended")" \
        'were ended by force; its processes have been let go on'
    ok "and they run on (killed, $when)" until_true 60 all_run
done
# That is done by what looks for those that stand.
while read -r host pid; do
    at "$host" kill -STOP "$pid" </dev/null
done <"$test_dir/processes"
"${on_cluster[@]}" --user pmixuser1 --host "$(host_name 2)" -- timeout 60 "$pmixhost" debug --here "$job" --let-go </dev/null
is "it lets those of its host go on" "$(states | grep -c '^T$')" 2
asks "$pmixhost" resume "$job"
ok "and resume the others" until_true 20 all_run
# A part that is told to end says so, and the others answer.
: >"$test_dir/ended"
(asks setsid "$pmixhost" debug --attach "$job" --timeout 95 <&7 >"$test_dir/ended" 2>&1) &
command=$!
echo ranks >&7
ok "all are stopped (one host)" until_true 60 thinks
at "$(host_name 2)" pkill -TERM -o -f '^[^ ]*pmixhost debug --here '
let_go() { (($(grep -c 'it was let go on its host' "$test_dir/ended") > 0)); }
ok "who is let go on one host is told" until_true 30 let_go
printf 'bt\nquit\n' >&7
wait "$command"
is "the others answer" "$? $(grep -c '^#0' "$test_dir/ended" | sed 's/[1-9]/some/')" "0 some"
ok "and all run on (one host)" until_true 60 all_run
no_gdb() { ! at "$(host_name 1)" pgrep -x gdb >/dev/null && ! at "$(host_name 2)" pgrep -x gdb >/dev/null; }
ok "the debuggers go with their srun" until_true 60 no_gdb

# And while the gdbs attach, which say nothing any more.
mkdir -p "$test_dir/bin"
cat >"$test_dir/bin/gdb" <<PY
#!/usr/bin/python3
import os, subprocess, sys, threading
real = subprocess.Popen(["$(type -P gdb)"] + sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
silent = False
def copy():
    global silent
    for line in sys.stdin.buffer:
        silent = silent or b"-target-attach" in line
        real.stdin.write(line)
        real.stdin.flush()
    real.stdin.close()
threading.Thread(target=copy, daemon=True).start()
for line in real.stdout:
    if not silent:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
os._exit(real.wait())
PY
chmod 755 "$test_dir/bin/gdb"
(path=$test_dir/bin:$path && asks setsid "$pmixhost" debug --attach "$job" --timeout 96 <&7 >"$test_dir/ended" 2>&1) &
command=$!
ok "all are stopped (attaching)" until_true 60 stopped
at "$(host_name 1)" pkill -KILL -f "^$pmixhost debug --attach $job --timeout 96"
ok "and run on when the command is killed (attaching)" until_true 90 all_run
wait "$command"
# A gdb that has asked for the stop and not yet taken notice of it leaves its process stopped, and of who would see to
# that nobody is left: the job's daemons do.
cat >"$test_dir/bin/gdb" <<'PY'
#!/usr/bin/python3
import ctypes, re, sys
for line in sys.stdin.buffer:
    attach = re.match(rb"7-target-attach (\d+)", line)
    if attach:
        ctypes.CDLL(None).ptrace(16, int(attach[1]), None, None)  # PTRACE_ATTACH
        sys.stdin.buffer.read()  # to its end, as a gdb does
        sys.exit()
    print("7^done", flush=True)
PY
(path=$test_dir/bin:$path && asks setsid "$pmixhost" debug --attach "$job" --timeout 94 <&7 >"$test_dir/ended" 2>&1) &
command=$!
ok "all are stopped (by debuggers that have not seen it)" until_true 60 stopped
at "$(host_name 1)" pkill -KILL -f "^$pmixhost debug --attach $job --timeout 94|^[^ ]*srun .* debug --here "
wait "$command"
ok "their debuggers are gone" until_true 60 no_gdb # before that one that is on its way to its stop is seen to run
ok "and run on when the command and its srun are killed" until_true 60 all_run
# One that the kernel refuses, as it does where users may not trace their own.
cat >"$test_dir/bin/gdb" <<SH
#!/bin/sh
sed -u 's/-target-attach [0-9]*/-target-attach 1/' | $(type -P gdb) "\$@"
SH
status=0
output=$(path=$test_dir/bin:$path && asks "$pmixhost" debug --attach "$job" -e ranks 2>&1 </dev/null) || status=$?
like "where the kernel allows no look it is said what to do" "$status $output" \
    '^[1-9].*process [0-9.]+ may not be looked at: ptrace: Operation not permitted; next: (see whether its program is setuid|kernel.yama.ptrace_scope is )'

says --ranks 77 -- ranks
like "ranks that there are not" "$status $output" '^1 pmixhost: error: job .* has none of these ranks'
says --ranks 1- -- ranks
like "or that are none" "$status $output" "^2 pmixhost: error: --ranks is '1-'; allowed: "
status=0
output=$(asks "$pmixhost" debug 2>&1) || status=$?
like "no job" "$status $output" '^2 pmixhost: error: which job'
status=0
output=$(asks "$pmixhost" debug --attach "$job" -e 'print 1' -e 'print 2' 2>&1 </dev/null) || status=$?
like "commands of the command line" "$status $output" $'^0 .*\[0-3\] \$1 = 1.*\[0-3\] \$2 = 2$'
status=0
output=$(asks_as pmixuser2 "$pmixhost" debug --attach "$job" -e 'print 1' 2>&1) || status=$?
like "another user is told of no such job" "$status $output" '^1 pmixhost: error: no PMIx server of job'
configure '[tools]' 'policy = ["deny debug by anyone to jobs of anyone from anywhere"]'
says -- ranks
like "the site's rules may refuse it" "$status $output" \
    '^1 .*the rules for tools do not let it be debugged: [^ ]*pmixhost.conf:[0-9]+ "deny debug '
status=0
output=$(asks "$pmixhost" stacks "$job" 2>&1) || status=$?
like "and a look at stacks" "$status $output" '^1 .*the rules for tools do not let it be debugged'
configure
ok "the job ends well" ends_well 4

# A rank that ends, and one that crashes, say so.
begin 1 2 "$clients/mpi_hang" "$go"
says -- 'focus 0' "call (int)creat(\"$go\", 420)" all continue ranks
# together, or one after the other where they are further apart than the prompt waits for what comes together
like "ends are told" \
    "$(grep -oE '^\[[-01]+\] \[Inferior 1 .* exited normally\]' <<<"$output" | grep -oE '^\[[-01]+\]' | sort -u | xargs)" \
    '^(\[0-1\]|\[0\] \[1\])$'
wait "$job_pid"
begin 1 2 "$clients/mpi_hang" "$go"
says -- 'focus 1' 'set $pc = 8' continue 'kill' all ranks
like "a crash is told, with its rank" "$output" $'\[1\][ \n].*SIGSEGV'
touch "$go" # for rank 0, which has outlived it
wait "$job_pid"

# --- a job that is started for it

# launches OPTION ... srun OPTION ... -- LINE ...
launches() {
    local command=()
    while [[ $1 != -- ]]; do command+=("$1"); shift; done
    shift
    status=0
    local begin=$SECONDS
    output=$(printf '%s\n' "$@" | asks "$pmixhost" debug "${command[@]}" 2>&1) || status=$?
    took=$((SECONDS - begin))
}
four=(srun -O -N2 -n4 --ntasks-per-node=2 "$mpi")
cat >"$test_dir/past.sh" <<'SH'
#!/bin/sh
touch "$1/past.$PMIX_RANK"
exit 7
SH
mkdir -p "$test_dir/past"
chmod 1777 "$test_dir/past"
chmod 755 "$test_dir/past.sh"
went_past() { (cd "$test_dir/past" && echo *); }

# There, the stack begins with the number of arguments: the program's name, and those of a script's interpreter.
launches "${four[@]}" "$clients/hello" -- 'print *(long *)$sp' 'break main' continue 'print $_siginfo.si_signo' quit
like "all ranks stand at their program's first instruction" "$output" $'\[0-3\] \$1 = 1\n'
like "and come to main" "$output" $'\[[0-9,-]+\][ \n].*Breakpoint 1, main \\(\\) at .*\$2 = 5'
is "the job ends well, and so does the command" "$status" 0
is "with what all ranks say, and which says it" "$(grep -c '^[0-3]: rank [0-3] of 4 on ' <<<"$output")" 4
# shellcheck disable=SC2016 # for the tasks' shell
reads=(sh -c 'IFS= read -r line; echo "heard $line"; cat >/dev/null; echo over')
launches "${four[@]}" "${reads[@]}" -- 'input a  word' eof continue
is "what is typed behind input comes to the job" "$(grep -c '^[0-3]: heard a  word$' <<<"$output")" 4
is "until eof" "$(grep -c '^[0-3]: over$' <<<"$output")" 4
launches -e 'input   blanks ' -e continue "${four[@]}" "${reads[@]}" --
is "or until the last of a script's" "$(grep -c '^[0-3]: heard   blanks $' <<<"$output") $(grep -c '^[0-3]: over$' <<<"$output")" "4 4"
launches --no-label "${four[@]}" "${reads[@]}" -- 'input more' quit
is "when the prompt has gone it ends, too" "$(grep -c '^heard more$' <<<"$output") $(grep -c '^over$' <<<"$output")" "4 4"
launches "${four[@]}" "$clients/hello" -- eof 'input more' quit
like "behind its end there is none" "$status $output" '^0 .*the job takes no input any more'
launches "${four[@]}" "$clients/hello" -- 'break __libc_start_main' continue quit
like "a breakpoint in a library that is not there yet waits for it" "$status $output" $'^0 .*Breakpoint 1 \(__libc_start_main\) pending.*\[[0-9,-]+\][ \n].*Breakpoint 1, .*__libc_start_main'
launches "${four[@]}" "$test_dir/past.sh" "$test_dir/past" -- 'print *(long *)$sp'
like "a script stands at its interpreter's" "$output" $'\[0-3\] \$1 = 3\n'
is "its exit code is the command's" "$status" 7
is "and it has run" "$(went_past)" "past.0 past.1 past.2 past.3"
rm -rf "$test_dir"/past/*
launches "${four[@]}" --export=NONE "$test_dir/past.sh" "$test_dir/past" -- 'print *(long *)$sp'
like "where srun passes on no variable, too" "$status $output" $'^7 .*\[0-3\] \$1 = 3\n'
is "where srun passes on none: it has run behind that" "$(went_past)" "past.0 past.1 past.2 past.3"

# In PMIx_Init, and where a program says: the first words of the debugger are answered from there.
launches --stop init "${four[@]}" "$clients/hello" -- bt 'break exit' continue quit
like "all ranks stand in PMIx_Init" "$status $output" $'^0 .*\[[0-9,-]+\]\n#0 .* in PMIx_Init '
like "and go on from there" "$output" 'Breakpoint 1, .*exit'
is "all of them have said what they say behind it" "$(grep -c '^[0-3]: rank [0-3] of 4 on ' <<<"$output")" 4
launches --stop init --ranks 2 "${four[@]}" "$clients/hello" -- bt
like "one rank there" "$status $output" $'^0 .*\[2\]\n#0 .* in PMIx_Init '
is "all of them go on, when it is let go" "$(grep -c '^[0-3]: rank [0-3] of 4 on ' <<<"$output")" 4
# Of more than two on a host one is debugged before the others.
launches --stop init srun -O -N1 -n4 "$mpi" "$clients/hello" -- bt ranks
like "four ranks of one host stand there" "$status $output" '^0 .* in PMIx_Init .*\[0-3\] stopped'
is "and go on together" "$(grep -c '^[0-3]: rank [0-3] of 4 on ' <<<"$output")" 4
launches --stop app "${four[@]}" env CLIENT_DIR="$test_dir/past" "$clients/stops" child app -1 -- bt
like "all ranks stand where the program waits" "$status $output" $'^0 .*\[[0-9,-]+\]\n#0 .* stop_in_app '
is "and go on" "$(cd "$test_dir/past" && echo past.*)" "past.0 past.1 past.2 past.3"
rm -rf "$test_dir"/past/*
launches --stop init --timeout 8 "${four[@]}" sleep 77 -- bt
like "a program that does not come there" "$status $output" '^1 .*have not all come to PMIx_Init; next: '
ok "is not waited for longer, $took s" test "$took" -lt 60
ok "and is gone" until_true 20 no_jobs
status=0
output=$(asks "$pmixhost" debug --stop init --attach 1.0 2>&1) || status=$?
like "a job that runs stops nowhere first" "$status $output" '^2 .*--stop is for a job that is started'
launches --stop main "${four[@]}" true -- bt
like "a place that there is not" "$status $output" '^2 .*--stop: main not in '

rm -rf "$test_dir"/past/*
launches --ranks 1,2 "${four[@]}" "$test_dir/past.sh" "$test_dir/past" -- 'print *(long *)$sp' ranks
like "some ranks" "$output" $'\[1-2\] \$1 = 3\n.*\[1-2\] stopped'
launches "${four[@]}" "$test_dir/past.sh" "$test_dir/past" -- 'quit kill'
is "a job that is ended has the exit code of its tasks" "$status" 137
ok "at once, $took s" test "$took" -lt 60
ok "and is gone" until_true 20 no_jobs
launches --ranks 1 "${four[@]}" sleep 76 -- 'quit kill'
ok "also where one rank was debugged, $took s" test "$took" -lt 60
ok "with those that were not" until_true 20 no_jobs
rm -rf "$test_dir"/past/*
asks "$pmixhost" debug --timeout 98 "${four[@]}" "$test_dir/past.sh" "$test_dir/past" <&7 >"$test_dir/launched" 2>&1 &
command=$!
ok "somebody debugs one" until_true 60 grep -q '0-3\]' "$test_dir/launched"
at "$(host_name 1)" pkill -KILL -f "^$pmixhost debug --timeout 98"
wait "$command"
ok "when the command is killed the job goes" until_true 60 no_jobs
nobody_there() {
    local host
    for host in $(hosts_of_cluster); do
        ! at "$host" pgrep -x past.sh >/dev/null || return 1
    done
}
ok "with all of its processes" until_true 20 nobody_there

asks "$pmixhost" debug --stop init --timeout 97 "${four[@]}" sleep 78 <&7 >"$test_dir/launched" 2>&1 &
command=$!
sleeps() { (($(for host in $(hosts_of_cluster); do at "$host" pgrep -f '^([^ ]*/)?sleep 78$' </dev/null; done | wc -l) == 4)); }
ok "somebody waits for ranks that come nowhere" until_true 60 sleeps
at "$(host_name 1)" pkill -KILL -f "^$pmixhost debug --stop init --timeout 97"
wait "$command"
ok "when the command is killed there, too" until_true 60 no_jobs

# Many, on all hosts.
launches srun -O -N4 -n64 --ntasks-per-node=16 "$mpi" "$clients/hello" -- 'print 6*7' ranks
like "64 ranks stand, and answer with one voice" "$status $output" $'^0 .*\[0-63\] \$1 = 42\n.*\[0-63\] stopped'
is "and all go on" "$(grep -c '^[ 0-9]*: rank [0-9]* of 64 on ' <<<"$output")" 64

# A rank that has crashed under Open MPI, and one in another collective than the others.
launches "${four[@]}" "$clients/mpi_hang" "$test_dir/never" crash -- 'continue &' 'focus 3' wait bt 'quit kill'
like "a rank that crashes is stopped where it does" "$output" $'\\[3\\][ \n].*SIGSEGV.*\n#0 .*writes_nowhere .*\n#1 .*crashes '
ok "and the job is ended" until_true 60 no_jobs
begin 2 4 "$clients/mpi_hang" "$go" wrong
in_two_places() {
    says -- bt
    [[ $(grep -c 'in meets_the_others ()' <<<"$output") == 3 && $output == *$'\n[3]\n'*' in in_a_broadcast ()'* ]]
}
ok "who waits in another collective is seen at once" until_true 30 in_two_places
end_jobs
wait "$job_pid"

# Where the site's rules let nobody debug.
configure '[tools]' 'policy = ["deny debug by anyone to jobs of anyone from anywhere"]'
launches "${four[@]}" sleep 75 -- ranks
like "the site's rules may refuse a job that is started for it" "$status $output" \
    '^1 .*the rules for tools do not let it be debugged: [^ ]*pmixhost.conf:[0-9]+ "deny debug '
ok "which is ended at once, $took s" test "$took" -lt 60
ok "and is gone (refused)" until_true 60 no_jobs
nobody_sleeps() {
    local host
    for host in $(hosts_of_cluster); do
        ! at "$host" pgrep -f '^([^ ]*/)?sleep 75$' >/dev/null </dev/null || return 1
    done
}
ok "with all of its processes (refused)" until_true 20 nobody_sleeps
configure

launches srun -n1 "$mpi" /nothing/there -- ranks
like "a program that is not there is an error" "$status $output" '^[1-9].*/nothing/there'
ok "at once, too, $took s" test "$took" -lt 60
launches /nothing/srun -- ranks
like "and so is a command" "$status $output" '^1 pmixhost: error: cannot run /nothing/srun: No such file'
launches sh -c 'srun true' -- ranks
like "or one that may start several" "$status $output" '^2 pmixhost: error: sh is not srun'
launches srun -n1 true : -n1 true -- ranks
like "or a job of several kinds of hosts" "$status $output" '^2 pmixhost: error: a heterogeneous job'
# A rank that nobody may debug, of a job in an allocation with more hosts.
cp "$(type -P true)" "$test_dir/others"
chmod 4755 "$test_dir/others"
printf '%s\n' "0 $test_dir/past.sh $test_dir/past" "1 $test_dir/others" >"$test_dir/two"
begin=$SECONDS status=0
output=$(asks salloc -Q -N3 "$pmixhost" debug -e 'print *(long *)$sp' \
    srun "$mpi" -N2 -n2 --multi-prog "$test_dir/two" 2>&1 </dev/null) || status=$?
like "a rank that cannot be debugged runs on with the others" "$status $output" $'^7 .*\[0\] \$1 = 3'
ok "no later where there are more hosts, $((SECONDS - begin)) s" test $((SECONDS - begin)) -lt 40
launches srun --mpi=none -n1 true -- ranks
like "or one whose job is not served" "$status $output" '^1 pmixhost: error: srun has ended \(0\), and has started no job that'
launches srun --mpi=none -n1 sleep 13 -- ranks
like "which is said as long as one may think that it comes" "$output" 'pmixhost: no job of pmixhost has begun yet: .*next: wait, or end this and say srun --mpi=pmixhost'
launches srun --pty -n1 true -- ranks
like "a terminal is the prompt's" "$status $output" '^2 pmixhost: error: --pty takes the terminal'
launches --no-label srun -n1 "$mpi" echo --pty : -- 'print 6*7'
like "and a job of several is one, wherever its : stands" "$status $output" '^2 pmixhost: error: a heterogeneous job'
launches --no-label srun -n1 "$mpi" echo --pty -- 'thread apply all run' 'print 6*7'
is "what its program is told is not srun's" "$status $(grep -c '^--pty$' <<<"$output")" "0 1"
like "and the prompt is there" "$output" '\[0\] \$1 = 42'
like "nor is it started anew behind another word" "$output" 'the job runs already: it is not started again'
launches --attach 1 srun -n1 true -- ranks
like "a job that runs, or one to start" "$status $output" '^2 pmixhost: error: --attach is for a job that runs'
ok "nothing is left" no_litter 30
done_testing
