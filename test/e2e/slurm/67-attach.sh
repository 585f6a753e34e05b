#!/bin/bash
# pmixhost output and pmixhost attach: people follow a running job, and type to it.
. "$(dirname "$0")/../common/words.sh"

pmixhost=$PMIXHOST_BUILD/tools/pmixhost
host=$(host_name 1)
# at_host COMMAND ...: does not keep the input of srun open
at_host() { "${on_cluster[@]}" --user pmixuser1 --host "$host" -- timeout -k 5 60 "$@" 8>&- 9>&-; }

# start OPTION ... PROGRAM: sets $job; standard input is a pipe that stays open, descriptor 9 writes to it.
start() {
    until_true 30 none_clears_up # else the job gets other hosts than $host
    rm -f "$test_dir/typed"
    mkfifo "$test_dir/typed"
    exec 9<>"$test_dir/typed"
    (cd "$test_dir" && exec timeout -k 5 300 "${on_cluster[@]}" --user pmixuser1 -- srun "$mpi" "$@") \
        >"$test_dir/out" 2>"$test_dir/err" <"$test_dir/typed" 9>&- &
    job_pid=$!
    until_true 30 eval 'job=$(as_user root squeue -h -t R -u pmixuser1 -o %i); [[ -n $job ]]'
    until_true 30 eval 'at_host "$pmixhost" servers 2>/dev/null | grep -q "^slurm\.$job\.0 "'
}
end() {
    exec 9>&-
    wait "$job_pid"
}
waits_for() { echo "until [ -e $test_dir/$1 ]; do sleep 0.05; done"; } # FILE
said() { grep -q "$2" "$test_dir/$1"; }                                 # FILE TEXT

log=$test_dir/daemons.log
configure_logged '[io]' 'capture = "on"'
pulls() { (($(grep -c 'is pulled' "$log") >= $1)); } # COUNT
rm -f "$test_dir"/go*
start -N2 -n4 sh -c "echo early \$SLURM_PROCID; $(waits_for go_fresh); echo fresh \$SLURM_PROCID; $(waits_for go_on)
    echo more \$SLURM_PROCID; $(waits_for go); echo line \$SLURM_PROCID; echo error \$SLURM_PROCID >&2; printf last"
# Another tool that stays, and pulls nothing.
at_host "$pmixhost" events "$job" >/dev/null 2>&1 9>&- &
bystander=$!
# Each that comes when the one before has gone has it.
for reader in first second third; do
    at_host "$pmixhost" output -r 1 --stdout "$job" >"$test_dir/reader.$reader" 2>&1 9>&- &
    reads=$!
    ok "what was written before comes to the $reader reader" until_true 20 said "reader.$reader" 'early 1'
    early=${early:-$SECONDS}
    on_host "$host" pkill -INT -u pmixuser1 -f "^$pmixhost output"
    wait "$reads"
done
# Also where that one said nothing: for a time, which only who is the first can have.
at_host "$pmixhost" output -r 1 --stdout "$job" >"$test_dir/reader.killed" 2>&1 9>&- &
reads=$!
ok "and to one that is killed then" until_true 20 said reader.killed 'early 1'
on_host "$host" pkill -KILL -u pmixuser1 -f "^$pmixhost output"
wait "$reads" 2>/dev/null
at_host "$pmixhost" output --since 5m -r 1 --stdout "$job" >"$test_dir/reader.after" 2>&1 9>&- &
reads=$!
ok "and to who comes after one that was killed" until_true 20 said reader.after 'early 1'
at_host "$pmixhost" output --since 5m -r 0 --stdout "$job" >"$test_dir/reader.beside" 2>&1 9>&- &
beside=$!
ok "what another one does not follow was kept for who does" until_true 20 said reader.beside 'early 0'
like "what one of them follows is not to be had again" "$(at_host "$pmixhost" output --since 5m "$job" 2>&1)" \
    'somebody else follows it at the same host'
on_host "$host" pkill -INT -u pmixuser1 -f "^$pmixhost output"
wait "$reads"
wait "$beside"
is "and once" "$(grep -c 'early 1' "$test_dir/reader.after") $(grep -c 'early 0' "$test_dir/reader.beside")" "1 1"
on_host "$host" pkill -INT -u pmixuser1 -f "^$pmixhost events"
wait "$bystander"
# In the background, the terminal is not the command's to change: it would be stopped.
screen=$(at_host script -qec "sh -mc 'timeout --foreground 10 $pmixhost output -r 1 --stdout $job & wait; echo waited'" /dev/null \
    2>&1 </dev/null 9>&- | tr -d '\r')
is "one in the background of a terminal goes on, too" \
    "$(grep -c '^early 1' <<<"$screen") $(grep -c '^waited' <<<"$screen") $(grep -c -i stopped <<<"$screen")" "1 1 0"
diag "$screen"
# What is old and what is new are more seconds apart than are asked for (SECONDS may be one late), and what is asked for is
# more than a reader takes to come.
until_true 20 eval '((SECONDS - early >= 10))'
age=$((SECONDS - early - 2))
touch "$test_dir/go_fresh"
until_true 20 eval '(($(grep -c fresh "$test_dir/out") == 4))'
at_host "$pmixhost" output --since "$age" "$job" >"$test_dir/since" 2>&1 9>&- &
reads=$!
ok "--since: what was written since then comes" until_true 20 eval '(($(grep -c fresh "$test_dir/since") == 4))'
is "--since: and nothing older, from either host" "$(sort "$test_dir/since" | tr '\n' ' ')" "fresh 0 fresh 1 fresh 2 fresh 3 "
is "--since: who is not the first is told that it is not to be had" \
    "$(at_host "$pmixhost" output --since 5m "$job" 2>&1; echo $?)" \
    "pmixhost: error: job $job: somebody else follows it at the same host, and has had what was written before; next: leave --since out, or say --since 0, for what comes
1"
on_host "$host" pkill -INT -u pmixuser1 -f "^$pmixhost output"
wait "$reads"
at_host "$pmixhost" output --since 0 "$job" >"$test_dir/since" 2>&1 9>&- &
reads=$!
until_true 20 pulls 9
touch "$test_dir/go_on"
ok "--since 0: what comes is there" until_true 20 eval '(($(grep -c more "$test_dir/since") == 4))'
is "--since 0: and nothing of before" "$(sort "$test_dir/since" | tr '\n' ' ')" "more 0 more 1 more 2 more 3 "
on_host "$host" pkill -INT -u pmixuser1 -f "^$pmixhost output"
wait "$reads"
for wrong in 5d -1 1m30s 745h; do
    like "--since $wrong is refused" "$(at_host "$pmixhost" output --since="$wrong" "$job" 2>&1; echo $?)" \
        "--since is '$wrong'; allowed: .* at most 744h.*
2"
done
at_host "$pmixhost" output -l "$job" >"$test_dir/labelled" 2>"$test_dir/labelled.err" 9>&- &
labelled=$!
ok "it shows what was written before" until_true 20 said labelled 'early 3'
at_host "$pmixhost" output -l -r 1,3 --stdout "$job" >"$test_dir/some" 2>&1 9>&- &
some=$!
until_true 20 pulls 11
touch "$test_dir/go"
wait "$labelled"
is "pmixhost output ends with the job" "$?" 0
wait "$some"
is "and so does the other one" "$?" 0
end
is "each line has its rank" "$(sort "$test_dir/labelled" | tr '\n' ' ')" \
    "$(for ((i = 0; i < 4; i++)); do printf "$i: %s " "early $i" "fresh $i" last "line $i" "more $i"; done)"
is "standard error is that" "$(sort "$test_dir/labelled.err" | tr '\n' ' ')" "0: error 0 1: error 1 2: error 2 3: error 3 "
is "of some ranks, and one stream, there is no other" "$(sort "$test_dir/some" | tr '\n' ' ')" "1: last 1: line 1 3: last 3: line 3 "
is "srun has it all" "$(wc -c <"$test_dir/out")" "$((4 * (8 + 8 + 7 + 7 + 4)))"

start -N2 -n2 sh -c 'sed -u "s/^/$SLURM_PROCID got /"; echo over'
mkfifo "$test_dir/keys"
at_host "$pmixhost" attach -i 1 --eof "$job" >"$test_dir/attached" 2>&1 <"$test_dir/keys" 9>&- &
attached=$!
exec 8>"$test_dir/keys"
echo hello >&8
ok "what is typed comes to the rank, and its answer back" until_true 20 said attached '^1 got hello'
exec 8>&-
ok "the end of the input is the rank's" until_true 20 said out over
echo typed at srun >&9
ok "the other one still has srun's" until_true 20 said attached '^0 got typed at srun'
end
wait "$attached"
is "pmixhost attach ends with the job" "$?" 0
unlike "nobody else got it" "$(cat "$test_dir/out")" '0 got hello'

# A rank that ends with its input open takes nothing more, while another one of its host goes on.
start -N1 -n2 sh -c "echo \$\$ >$test_dir/open.\$SLURM_PROCID; $(waits_for "go_open.\$SLURM_PROCID")"
until_true 20 eval '[[ -s $test_dir/open.1 ]]'
touch "$test_dir/go_open.1"
ok "a rank ends with its input open" until_true 20 eval '! on_host "$host" kill -0 "$(<"$test_dir/open.1")" 2>/dev/null'
at_host "$pmixhost" attach -i 1 "$job" >"$test_dir/attached" 2>&1 <<<"typed too late" 9>&- &
attached=$!
ok "what is typed for it goes nowhere, and attach says so" until_true 20 said attached \
    '^pmixhost: input goes nowhere: their standard input is closed$'
touch "$test_dir/go_open.0"
end
wait "$attached"
is "and ends with the job" "$?" 0

# attach OPTION ...: on a terminal, in the background; descriptor 8 types, "screen" has what is shown.
attach() {
    : >"$test_dir/screen"
    at_host script -qec "PAGER=$test_dir/pager \"$pmixhost\" attach $* $job" /dev/null >"$test_dir/screen" 2>&1 <"$test_dir/keys" 9>&- &
    screen=$!
    exec 8>"$test_dir/keys"
}
detached() { # NAME
    wait "$screen"
    is "$1" "$?" 0
    exec 8>&-
}
# One that is no terminal's: it takes all, hears Ctrl-C, and stays until it may go.
printf '%s\n' '#!/bin/sh' "trap ': >$test_dir/stopped' INT" "cat >$test_dir/paged" "$(waits_for go_pager)" >"$test_dir/pager"
chmod 755 "$test_dir/pager"
start -N1 -n1 cat
attach
echo mark >&9
ok "it shows what is typed at srun" until_true 20 said screen mark
printf '~v\n' >&8
ok "~v: a pager has what was shown" until_true 20 said paged '^mark$'
printf '\003' >&8
ok "~v: Ctrl-C is the pager's" until_true 20 eval '[[ -e $test_dir/stopped ]]'
echo meanwhile >&9
until_true 20 said out meanwhile
unlike "~v: what comes meanwhile is not on the terminal" "$(cat "$test_dir/screen")" meanwhile
touch "$test_dir/go_pager"
ok "~v: it is when the pager has ended" until_true 20 said screen meanwhile
printf '~.\n' >&8
detached "~. detaches"
attach
echo again >&9
ok "it can be attached to again" until_true 20 said screen again
printf 'typed before\035' >&8
detached "Ctrl-] detaches"
attach --take-over
ok "another takes it over" until_true 20 eval 'grep -q "taken over" "$log"'
echo for one >&9
ok "it shows that" until_true 20 said screen 'for one'
on_host "$host" pkill -INT -u pmixuser1 -f "^$pmixhost attach"
detached "an interrupt detaches"
unlike "srun has not got it" "$(cat "$test_dir/out")" 'for one'
echo still there >&9
ok "and the job goes on" until_true 20 said out 'still there'
like "what was typed before Ctrl-] is the job's" "$(cat "$test_dir/out")" 'typed before'
attach
echo mark >&9
until_true 20 said screen mark
on_host "$host" pkill -KILL -n -u pmixuser1 -x pmixhostd
detached "it ends when the job's daemon does"
end

# pastes LINES END ERRORS COMMAND ...: numbered lines of 32 bytes and END, as quickly as a terminal takes them; ERRORS is a
# file. It says the exit code, and how much the terminal has not taken.
pastes='
import os, pty, select, sys
lines, end, errors, *command = sys.argv[1:]
child, terminal = pty.fork()
if child == 0:
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT, 0o644), 2)
    os.execv(command[0], command)
os.set_blocking(terminal, False)
left = "".join(f"line {i:06} that is pasted here\n" for i in range(int(lines))).encode() + end.encode()
while True:
    readable, writable, _ = select.select([terminal], [terminal] if left else [], [])
    try:
        if writable:
            left = left[os.write(terminal, left[:1000]):]
        if readable:
            os.read(terminal, 65536)
    except BlockingIOError:
        pass
    except OSError: # it has ended
        break
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(left))'
pastes() { at_host python3 -c "$pastes" "$@"; }
# Half a MiB for a job that does not read, and then a word for the command.
start -N1 -n1 sh -c "$(waits_for go_deaf)"
is "where the job does not read, ~. detaches" "$(pastes 16000 $'~.\n' "$test_dir/in_vain" "$pmixhost" attach "$job")" "0 0"
like "what it does not take is told" "$(<"$test_dir/in_vain")" 'what is typed now does not come to the job, which does not read it'
like "also at the end" "$(<"$test_dir/in_vain")" 'not all that was typed has come to the job'
touch "$test_dir/go_deaf"
end
is "and that job ends as ever" "$?" 0
# One that reads some 30 KiB a second is slow, not deaf, though all that waits on its way takes it far more than a second.
start -N1 -n1 python3 -c "import os, time
with open('$test_dir/taken', 'wb') as taken:
    while got := os.read(0, 4096):
        taken.write(got)
        time.sleep(0.13)"
is "a job that reads slowly is given all that is pasted" \
    "$(pastes 14000 $'\x04' "$test_dir/slowly" "$pmixhost" attach --eof "$job")" "0 0"
end
is "it has each line" "$(cksum <"$test_dir/taken")" "$(seq -f 'line %06.0f that is pasted here' 0 13999 | cksum)"
unlike "and nobody is told that it does not read" "$(<"$test_dir/slowly")" 'does not come to the job'

# A job that has not begun.
until_true 30 none_clears_up
printf '#!/bin/sh\nsrun %s sh -c "echo begun; %s"\n' "$mpi" "$(waits_for go_later)" >"$test_dir/later.sh"
job=$(cd "$test_dir" && as_user pmixuser1 sbatch --parsable --hold -N1 -n1 -o "$test_dir/later.out" "$test_dir/later.sh" 2>&1)
at_host "$pmixhost" output --wait 50 "$job" >"$test_dir/later" 2>&1 9>&- &
later=$!
like "without --wait it is not there" "$(at_host "$pmixhost" output "$job" 2>&1; echo $?)" "no PMIx server of job $job.*
1"
as_user root scontrol release "$job"
ok "with it the command waits for it" until_true 50 said later '^begun$' ||
    diag "$(<"$test_dir/later") $(cat "$test_dir/later.out") $(as_user root squeue)"
touch "$test_dir/go_later"
wait "$later"
is "and ends with the job" "$?" 0
is "for so long" "$(at_host "$pmixhost" output --wait 1 999999 >/dev/null 2>&1; echo $?)" 1
# It may be typed to as well, on a terminal: what was typed before is the job's when it has begun.
until_true 30 none_clears_up
exec 9<>"$test_dir/typed" # else the step's input ends at once
cat >"$test_dir/typed_to.sh" <<EOF
#!/bin/sh
srun $mpi sh -c 'echo begun; read -r one; read -r other; echo "has \$one, \$other"' <$test_dir/typed
EOF
job=$(cd "$test_dir" && as_user pmixuser1 sbatch --parsable --hold -N1 -n1 -o "$test_dir/typed_to.out" "$test_dir/typed_to.sh" 2>&1)
attach --wait 50
printf 'typed early\n' >&8
ok "attach waits for a job that has not begun" until_true 20 said screen 'typed early'
like "which has not" "$(as_user root squeue -h -j "$job" -o %T)" PENDING
as_user root scontrol release "$job"
ok "and shows it when it has" until_true 50 said screen begun ||
    diag "$(cat "$test_dir/screen" "$test_dir/typed_to.out") $(as_user root squeue)"
printf 'typed late\n' >&8
ok "what was typed before and after is the job's" until_true 20 said screen 'has typed early, typed late'
detached "and attach ends with it"
exec 9>&-

# What is not all is no whole to whoever reads it.
configure_logged '[io]' 'capture = "on"' 'kept = 2000'
rm -f "$test_dir"/go*
start -N1 -n1 sh -c "seq -f 'line %06.0f' 1000; : >$test_dir/go_wrote; $(waits_for go); yes | head -c 8000000; echo the last one; $(waits_for go_on)"
until_true 20 eval '[[ -e $test_dir/go_wrote ]]'
for since in "" "--since 5m"; do
    # shellcheck disable=SC2086 # two words
    at_host "$pmixhost" output -l $since "$job" >"$test_dir/cut" 2>&1 9>&- &
    reads=$!
    ok "$since: of what was written before the end is there" until_true 20 said cut '^0: line 001000$'
    on_host "$host" pkill -INT -u pmixuser1 -f "^$pmixhost output"
    wait "$reads"
    like "$since: a line of which the begin is missing says so" "$(grep ^0: "$test_dir/cut" | head -n 1)" '^0: \.\.\.'
    is "$since: whoever asked for a time hears that there was more" "$(grep -c 'not all that was written in that time is kept' "$test_dir/cut")" \
        "$([[ -n $since ]] && echo 1 || echo 0)"
done
mkfifo "$test_dir/slow"
(code=0; at_host "$pmixhost" output -l --since 0 "$job" >"$test_dir/slow" 2>"$test_dir/missing" 9>&- || code=$?; echo "$code" >"$test_dir/code") &
reads=$!
exec 7<"$test_dir/slow"
until_true 20 pulls 3
touch "$test_dir/go"
ok "a reader that stops holds up no job" until_true 60 said out '^the last one'
cat <&7 >"$test_dir/read" &
touch "$test_dir/go_on"
end
wait "$reads"
exec 7<&-
like "it says what it misses" "$(cat "$test_dir/missing")" '^pmixhost: [0-9]+ bytes of the standard output of rank 0 are missing here'
is "and so does its exit code" "$(cat "$test_dir/code")" 3

# A job whose streams are Slurm's own is seen in a copy; its input is srun's.
configure_logged
start -N1 -n1 cat
attach --since 1m
echo mark >&9
ok "a plain job shows what it writes" until_true 20 said screen mark
ok "and of what was before, that it has no times" until_true 20 said screen 'before somebody first followed this job has no times'
printf 'typed\n' >&8
ok "and says that it takes no input" until_true 20 said screen 'input goes nowhere: the input of this job stays with the resource manager'
echo more >&9
ok "which is no end" until_true 20 said screen more
printf '~.\n' >&8
detached "it is left in the same way"
is "its output cannot be taken over" "$(at_host "$pmixhost" output --take-over "$job" 2>&1; echo $?)" \
    "pmixhost: error: job $job: its output is the resource manager's and cannot be taken over; next: start the job with PMIXHOST_IO_CAPTURE=on in the environment, or leave --take-over out for a copy
1"
echo the end >&9
ok "the job goes on" until_true 20 said out 'the end'
unlike "without what was typed elsewhere" "$(cat "$test_dir/out")" typed
end
configure '[io]' 'copy = "off"'
start -N1 -n1 cat
is "a job whose streams are its own says how they are had" \
    "$(at_host "$pmixhost" output "$job" 2>&1; echo $?)" \
    "pmixhost: error: job $job: of this output there is nothing to be had: its processes write it to files of their own or to a terminal, or it stays with the resource manager; next: look there; what goes to no file comes from a job that is started with PMIXHOST_IO_CAPTURE=on in the environment
1"
attaches() { at_host "$pmixhost" attach "$job" 2>&1; echo "exit code $?"; }
like "attach says so, too" "$(attaches </dev/null)" 'there is nothing to be had.*exit code 1$'
like "and that nothing is typed to it" "$(echo typed | attaches)" 'input goes nowhere.*exit code 1$'
like "ranks that are none are refused" "$(at_host "$pmixhost" output -r 1- "$job" 2>&1; echo $?)" "--rank is '1-'; allowed: ranks and ranges.*
2"
end
# A job that writes to files of its own has nothing to show, but it reads.
configure '[io]' 'capture = "on"'
mkdir -m 1777 "$test_dir/files"
start -N1 -n1 -o "$test_dir/files/of.%t" cat
like "what is typed is all that attach has to do where there is no output" "$(echo typed | attaches)" 'exit code 0$'
ok "and the job has it" until_true 20 grep -qx typed "$test_dir/files/of.0"
# It stays until the job has read it all.
head -c 300000 /dev/zero | tr '\0' x >"$test_dir/much"
kill_reader() { on_host "$host" pkill "-$1" -u pmixuser1 -x cat; }
kill_reader STOP
(attaches <"$test_dir/much" >"$test_dir/attached") &
reads=$!
ok "what has not been read yet is waited for" until_true 20 eval 'grep -q nothing "$test_dir/attached"'
until_true 5 eval '! kill -0 "$reads" 2>/dev/null' # behind what somebody who interrupts it waits for
ok "for longer than two seconds" kill -0 "$reads"
kill_reader CONT
wait "$reads"
like "and well" "$(<"$test_dir/attached")" 'exit code 0$'
is "all of it" "$(stat -c %s "$test_dir/files/of.0")" $((300000 + 6))
like "with nothing typed either it has done nothing" "$(attaches </dev/null)" 'exit code 1$'
end
is "that job ends as ever" "$?" 0
like "so is a job that is not there" "$(at_host "$pmixhost" output 999999 2>&1; echo $?)" 'no PMIx server of job 999999'
ok "nothing is left" no_litter 30
done_testing
