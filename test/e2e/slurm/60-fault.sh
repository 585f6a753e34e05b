#!/bin/bash
# What breaks under a running job - a daemon, a host, a link, a process - ends it soon, with a line
# that says what it was, and leaves Slurm's own daemons and the hosts as they were.
. "$(dirname "$0")/../common/words.sh"

job_pid=
out=$test_dir/linger

all_there() { (($(grep -c '^there' "$out") == 4)); }
job_ended() { ! kill -0 "$job_pid" 2>/dev/null; }

# A job of one rank on each of four hosts that would wait for ever: the first for data of rank OWNER,
# the others in a fence.
begin_job() { # [OWNER]
    : >"$out"
    (cd "$test_dir" && exec timeout -k 5 170 "${on_cluster[@]}" --user "$TEST_USER" -- \
        srun "$mpi" -N4 -n4 "$clients/linger" "$@") >"$out" 2>&1 </dev/null &
    job_pid=$!
    until_true 30 all_there
}

# end_of_job SECONDS: it ends by itself; sets $output and $status.
end_of_job() {
    local result=0
    until_true "$1" job_ended || {
        result=1
        end_jobs
    }
    status=0
    wait "$job_pid" || status=$?
    output=$(cat "$out")
    return $result
}

all_idle() { [[ -z $(as_user root sinfo -h -N -t drain,drng,down,comp,fail,unk -o %N) ]] && no_jobs; }
# The next job is as if nothing had been.
well_again() { # WHAT
    # slurmctld looks for hosts that missed the end of a job once a minute, and asks them again when
    # it has not heard of that job for 25 s (KillWait and twice MessageTimeout).
    ok "$1: all hosts are idle again" until_true 150 all_idle
    client 4 1 hello
    ok "$1: the next job runs" all_ok 4
    ok "$1: nothing is left" no_litter 30
}

# Only what the job's user owns is a step's: the directories that all hosts share may lie in /tmp too, and their names
# may begin as ours do.
remove_step_files() { # HOST
    # shellcheck disable=SC2016 # the user is an argument
    on_host "$1" sh -c 'find /tmp -mindepth 1 -maxdepth 1 -user "$1" \
        \( -name "pmixhost-*" -o -name ".pmixhost-*" \) -exec rm -rf {} +' sh "$TEST_USER"
}

victim=$(host_name 3)
processes() { on_host "$victim" pgrep -x pmixhostd; }

# The server is the child, the supervisor the parent.
server() { on_host "$victim" ps -o pid=,ppid= -C pmixhostd | awk '{p[$1]=$2} END {for (i in p) if (p[i] in p) print i}'; }
supervisor() { on_host "$victim" ps -o pid=,ppid= -C pmixhostd | awk '{p[$1]=$2} END {for (i in p) if (!(p[i] in p)) print i}'; }

ended() { # WHAT SECONDS REGEX
    ok "$1: the step ends in $2 s" end_of_job "$2"
    ok "$1: srun reports failure" failed
    like "$1: a line says why" "$output" "$3"
}
broken() { # WHAT SECONDS REGEX
    ended "$@"
    well_again "$1"
}

# The file that the line names is on the victim, for the user alone, and says of each of THREADS what it is and in
# which calls. The file is then removed.
evidence_is_there() { # WHAT THREADS
    local path text thread missing=
    path=$(sed -n "s|.*where it stood is in $victim:\\(/[^ ;]*\\).*|\\1|p" <<<"$output" | head -n 1)
    like "$1: the line names a file beside the log" "$path" "^$test_dir/pmixhost-evidence-[0-9]+-$victim-.*\.txt$"
    is "$1: it is the user's alone" "$(on_host "$victim" stat -c '%U %a' "$path")" "$TEST_USER 600"
    text=$(on_host "$victim" cat "$path")
    like "$1: it says how that was found" "$text" 'found: .*stood still for 6 s'
    for thread in $2; do
        grep -qE "^thread $thread \"[^\"]+\" " <<<"$text" || missing+=" $thread"
        # Of a stripped library not every step has a name.
        grep -A4 "^calls of thread $thread \"" <<<"$text" | grep -qE '^  #[0-3] +[^ ]+\+0x[0-9a-f]+ [^ ]' ||
            missing+=" calls-of-$thread"
    done
    is "$1: it has each thread with its calls" "$missing" ""
    like "$1: one of them is the event loop" "$text" '#[0-9]+ .*event_base_loop'
    like "$1: it has the connections to the other daemons" "$text" 'TCP [0-9.]+:[0-9]+ to .* unread'
    ok "$1: it is not too long" test "${#text}" -le 262144
    like "$1: the log has each thread in short" "$(cat "$test_dir/$victim.log")" "thread [0-9]+ \"[^\"]+\" was stopped by a signal"
    on_host "$victim" rm -f "$path"
}
threads_of() { on_host "$victim" ls "/proc/$1/task" | xargs; } # PID

begin_job
on_host "$victim" kill -KILL "$(server)"
broken "the server is killed" 20 "pmixhost:.*$victim"

# Its pmixhost has been exchanged for another one in the meantime, as an upgrade does.
plugins=$(sed -n 's/^PluginDir=\([^:]*\).*/\1/p' "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf")
module=$(find "${plugins%/lib/slurm}" -name backend_slurm.so)
: >"$test_dir/no-module"
begin_job
cover "$victim" "$module" "$test_dir/no-module"
on_host "$victim" kill -KILL "$(server)"
ended "the server is killed after an upgrade" 20 "pmixhost:.*$victim"
uncover "$victim" "$module"
well_again "the server is killed after an upgrade"

# One server cannot wait for events any more, as when a library closes a number twice. The daemons of this
# job are started through a script that makes it so.
cat >"$test_dir/pmixhostd" <<EOF
#!/bin/sh
BREAK_LOOP=$CLIENT_DIR/break LD_PRELOAD=$clients/break_loop.so exec ${plugins%/lib/slurm}/libexec/pmixhost/pmixhostd "\$@"
EOF
chmod 755 "$test_dir/pmixhostd"
echo "$test_dir/pmixhostd" >"$plugins/pmixhostd.path"
begin_job
rm -f "$plugins/pmixhostd.path"
as_user "$TEST_USER" touch "$CLIENT_DIR/break"
broken "an event loop fails" 20 'pmixhost:.* the event loop cannot wait for events any more: Bad file descriptor'

begin_job
on_host "$victim" kill -KILL "$(supervisor)"
broken "the supervisor is killed" 20 "pmixhost:.*$victim"

# Nobody is left on that host to end the step. But nobody waits for it in vain: neither in a fence,
# nor for data of its rank, nor its rank itself, whose server is gone.
all_told() { (($(grep -c '^told' "$out") == 4)); }
begin_job 2 # the victim's rank
# shellcheck disable=SC2046 # both
on_host "$victim" kill -KILL $(processes)
ok "server and supervisor are killed: every waiting call returns in 20 s" until_true 20 all_told
output=$(cat "$out")
unlike "server and supervisor are killed: with an error" "$output" 'told [0-9]: PMIX_SUCCESS|PMIX_ERR_TIMEOUT'
end_jobs
end_of_job 30
well_again "server and supervisor are killed"

export PMIXHOST_DAEMON_HANG_TIMEOUT=6s
mkdir -p "${PMIXHOST_CONFIG_FILE%/*}"
printf '[log]\nfile = "%s/%%n.log"\n' "$test_dir" >"$PMIXHOST_CONFIG_FILE"
begin_job
hung=$(server)
threads=$(threads_of "$hung")
on_host "$victim" kill -STOP "$hung"
ended "the server hangs" 40 "pmixhost:.*$victim hung for 6 s"
evidence_is_there "the server hangs" "$threads"
rm -f "$PMIXHOST_CONFIG_FILE"
well_again "the server hangs"

# As scontrol suspend does it, for longer than the hang timeout; then they have as long again to be
# found out.
begin_job
# shellcheck disable=SC2046 # both
on_host "$victim" kill -STOP $(processes)
sleep 9
# shellcheck disable=SC2046
on_host "$victim" kill -CONT $(processes)
sleep 9
ok "server and supervisor are stopped and continued: the step goes on" eval '! job_ended'
output=$(cat "$out")
unlike "server and supervisor are stopped and continued: nobody noticed" "$output" 'told|pmixhost'
end_jobs
end_of_job 30
well_again "server and supervisor are stopped and continued"
unset PMIXHOST_DAEMON_HANG_TIMEOUT

begin_job
rank=$(on_host "$victim" pgrep -x linger)
on_host "$victim" kill -KILL "$rank"
until_true 15 grep -q '^told' "$out"
output=$(cat "$out")
like "a rank is killed: the others are told" "$output" 'told [0-9]: PMIX_ERR_(PROC|LOST|NOT)'
end_jobs
end_of_job 30
well_again "a rank is killed"

begin_job
stepd=$(on_host "$victim" pgrep -x slurmstepd | head -n 1)
on_host "$victim" kill -KILL "$stepd"
ok "slurmstepd is killed: the daemon beside it ends" \
    until_true 40 eval "[[ -z \$(on_host $victim pgrep -x pmixhostd) ]]"
ok "slurmstepd is killed: so do the tasks of its host" \
    until_true 10 eval "[[ -z \$(on_host $victim pgrep -x linger) ]]"
end_of_job 20 || end_jobs
well_again "slurmstepd is killed"

begin_job
"$PMIXHOST_CLUSTER" cut "$victim" --dir "$PMIXHOST_CLUSTER_DIR"
ok "a host is cut off: the step ends in 60 s" end_of_job 60
ok "a host is cut off: srun reports failure" failed
like "a host is cut off: a line says which" "$output" "$victim"
"$PMIXHOST_CLUSTER" mend "$victim" --dir "$PMIXHOST_CLUSTER_DIR"
well_again "a host was cut off"

begin_job
"$PMIXHOST_CLUSTER" crash "$victim" --dir "$PMIXHOST_CLUSTER_DIR"
ok "a host loses power: the step ends in 60 s" end_of_job 60
ok "a host loses power: srun reports failure" failed
like "a host loses power: a line says which" "$output" "$victim"
"$PMIXHOST_CLUSTER" boot "$victim" --dir "$PMIXHOST_CLUSTER_DIR"
remove_step_files "$victim" # nobody can have cleaned it up
well_again "a host had lost power"

done_testing
