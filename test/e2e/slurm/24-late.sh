#!/bin/bash
# The PMIx library of a daemon is not started for programs that do not use it (daemon.library), and in time for those that
# do. Where clients look for its store before they connect (libpmix 4.2), a script is not such a program, unless each
# client has its own store (modex.store).
. "$(dirname "$0")/../common/words.sh"

log=$test_dir/log
configure '[log]' 'level = "debug"' "file = \"$log\"" '[modex]' 'store = "own"'
# Why daemons of the last job have started the library, a line for each reason with how many did.
reasons() { sed -n 's/.*the PMIx library is started: //p' "$log" 2>/dev/null | sort | uniq -c | sed 's/^ *//'; }
# A job, with a log of its own.
logged() {
    rm -f "$log"
    job "$@"
}

# A task may run for longer than a daemon waits, on a busy machine.
never_started() {
    logged 2 2 "${@:-true}"
    [[ $status == 0 && -e $log && -z $(reasons) ]]
}
ok "a program without PMIx does not have the library started" until_true 60 never_started
ok "nor does one that cannot come to it and runs for a moment" until_true 60 never_started sleep 0.2
logged 2 2 "$clients/hello"
ok "one that is linked with it finds the job" says_ok 4
like "and the library is started at once" "$(reasons)" '^2 a program names it$'
is "its answers have the short way, and its connections are counted" "$(grep -c \
    "answers go to libpmix' thread directly; its closed connections are counted" "$log")" 2
# shellcheck disable=SC2016 # of the task
script='exec "$0" "$@"'
logged 2 2 sh -c "$script" "$clients/hello"
ok "a script that executes it, too" says_ok 4
like "whose library starts when somebody comes, or after a while" "$(reasons)" \
    '^[12] (somebody connects|tasks have run for a while)(.[12] (somebody connects|tasks have run for a while))?$'
logged 2 2 sh -c 'sleep 2; exec "$0"' "$clients/hello"
ok "one that comes late finds the library" says_ok 4
is "which was started after a while" "$(reasons)" "2 tasks have run for a while"
# Rank 0 alone comes to PMIx.
# shellcheck disable=SC2016 # of the task
alone='[ "$SLURM_PROCID" = 0 ] && exec "$@"; exit 0'
job_options=(-w "$(host_name 1),$(host_name 2)") # what they say is compared
logged 2 2 sh -c "$alone" - "$clients/hello"
said=$output
PMIXHOST_DAEMON_LIBRARY=early logged 2 2 sh -c "$alone" - "$clients/hello"
job_options=()
is "a process whose peers never come sees what it would see" "$said" "$output"
like "which is the job" "$said" 'rank 0 of 4'

# What tasks are told is the same, but for numbers of processes and ports, and names that are made up.
told() {
    rm -f "$log"
    run_srun -w "$(host_name 1)" -N1 -n2 -l sh -c 'sleep 2; env | grep -E "^(PMIX_|NS_|OMPI)"'
    sed -E 's/[0-9]+\.[0-9]+\.server/JOB.server/; s/slurm\.[0-9]+\.[0-9]+/JOB/; s/:[0-9]+$/:PORT/; s/_[0-9]+$/_PID/; s/pmixhost-([0-9]+)\.[A-Za-z0-9]*/pmixhost-\1/g' <<<"$output" | sort
}
early=$(PMIXHOST_DAEMON_LIBRARY=early told)
is "with early it is started at once" "$(reasons)" "1 daemon.library is early"
is "and tasks are told just the same" "$(told)" "$early"
like "which is where the server is" "$early" '0: PMIX_SERVER_URI4=.*tcp4://127.0.0.1:PORT'
is "when tasks have run for a while" "$(reasons)" "1 tasks have run for a while"

if [[ ! -x $clients/mpi_dynamic ]]; then
    skip "MPI programs in scripts" "no mpicc"
else
    logged 2 2 sh -c "$script" "$clients/mpi_ring"
    is "an MPI program in a script runs" "$status" 0
    dynamic 1 1 sh -c "$script" "$clients/mpi_dynamic" spawn 3 1
    ok "and spawns" eval 'passed && (($(grep -c "^child ok$" <<<"$output") == 3))'
fi

# What the library will give is not known where it has other settings.
settings=$PMIXHOST_CLUSTER_DIR/home/$TEST_USER/.pmix/mca-params.conf
mkdir -p "${settings%/*}"
echo "# psec_base_verbose = 5" >"$settings"
ok "a file of settings without any changes nothing" until_true 60 never_started
echo "psec_base_verbose = 0" >"$settings"
logged 2 2 true
like "one with settings has the library started at once" "$(reasons)" "^2 the PMIx library has other settings in $settings"
rm -r "${settings%/*}"

configure '[log]' 'level = "debug"' "file = \"$log\""
if [[ $("$PMIXHOST_BUILD/tools/pmixhost" version) == *"PMIx library 4."* ]]; then
    ok "with a store that clients look for, a program that cannot come to PMIx goes at once" until_true 60 never_started
    logged 1 1 sh -c true
    like "and one that can waits for the library" "$(reasons)" '^1 a program may come to it, and then look for its store$'
fi
configure
done_testing
