# A gate on the head host that serves tools of other hosts as well: what the tests of it share. After common/words.sh, on
# Slurm; $log is the file of configure_logged.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the tests

gate=$PMIXHOST_BUILD/server-glue/pmixhost-gate gate_log=$test_dir/gate.log gate_port=295
h1=$(host_name 1) h2=$(host_name 2) h3=$(host_name 3) h4=$(host_name 4)
address_of() { on_host "$1" ip -4 -o addr show dev eth0 | awk '{sub("/.*", "", $4); print $4; exit}'; }
head_address=$(address_of head)
remote_uri="pmixhost-gate.0;tcp4://$head_address:$gate_port"
own_jobs='by anyone to jobs of themselves from'
logged() { until_true 10 grep -qE "$1" "$gate_log"; } # which a thread of its own writes
# As a service manager has it: with sockets, as a user, with two capabilities.
# shellcheck disable=SC2016
with_sockets=(python3 -c '
import os, socket, sys
count = int(sys.argv[1])
for i in range(count):
    host, port = sys.argv[2 + i].split(":")
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, int(port)))
    kept = os.dup(listener.fileno()) if listener.fileno() > 3 + i else listener.detach()
    if kept != 3 + i:
        os.dup2(kept, 3 + i)
    os.set_inheritable(3 + i, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(count))
os.execvp(sys.argv[2 + count], sys.argv[2 + count:])')
as_service=(setpriv --reuid nobody --regid nogroup --clear-groups --no-new-privs --inh-caps=-all,+setuid,+setgid
    --bounding-set=-all,+setuid,+setgid --ambient-caps=-all,+setuid,+setgid)
start_gate() { # ADDRESS:PORT ...
    : >"$gate_log"
    on_host head "${with_sockets[@]}" $# "$@" "${as_service[@]}" "$gate" >"$gate_log" 2>&1 </dev/null &
    gate_job=$!
}
open_gate() {
    start_gate 127.0.0.1:294 "$head_address:$gate_port"
    until_true 20 logged 'tools of other hosts are served'
}
close_gate() {
    on_host head pkill -TERM -x pmixhost-gate
    wait "$gate_job"
}
rules() { # RULE ...
    local IFS=,
    configure_logged '[tools]' "policy = [$*]" '[gate]' 'door = ""' 'spawn = "off"'
}
reload() { # after rules; they hold for tools that come
    local before
    before=$(grep -c 'read again' "$gate_log")
    on_host head pkill -HUP -x pmixhost-gate
    until_true 20 eval '(($(grep -c "read again" "$gate_log") > before))'
}
at() { # USER HOST COMMAND ...
    "${on_cluster[@]}" --user "$1" --host "$2" -- timeout -k 5 60 "${@:3}" 2>&1
}
# begin USER NAME HOST: a job of one process there, in the background; sets $nspace.
job_pids=()
begin() {
    (cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user "$1" -- env PMIXHOST_IO_CAPTURE=on \
        srun "$mpi" -O -J "$2" -w "$3" -N1 -n1 "${job_program[@]}") >"$test_dir/of-$2" 2>&1 </dev/null &
    job_pids+=($!)
    until_true 60 grep -q '^there 0' "$test_dir/of-$2"
    nspace=slurm.$(as_user root squeue -h -n "$2" -o %A).0
}
end_gate_jobs() {
    as_user root scancel -u pmixuser1
    as_user root scancel -u pmixuser2
    wait "${job_pids[@]}" 2>/dev/null
    end_jobs
}
job_program=("$clients/visited")
