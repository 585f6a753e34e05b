#!/bin/bash
# The site's rules for tools are in force at a job's daemons: the switch, who may come, and what who has come may do.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"

out=$test_dir/visited log=$test_dir/daemons.log
if [[ $backend == slurm ]]; then
    host=$(host_name 1) other=$(host_name 2) servers=/tmp
    owner() { "${on_cluster[@]}" --user pmixuser1 --host "$host" -- timeout -k 5 60 "$@" 2>&1; }
    there() { on_host "$host" "$@"; } # as who may look at its processes
    job_of_two() {
        (cd "$test_dir" && exec timeout -k 5 120 "${on_cluster[@]}" --user pmixuser1 -- \
            srun "$mpi" -N2 -n2 -w "$host,$other" "$clients/visited") >"$out" 2>&1 </dev/null &
    }
    name_job() { nspace=slurm.$(as_user root squeue -h -u pmixuser1 -o %i).0; }
    kill_tasks() {
        on_host "$host" pkill -KILL -x visited
        on_host "$other" pkill -KILL -x visited
    }
    listening() { there ss -Hltnp | grep pmixhostd; }
else
    servers=$test_dir/servers directory=$test_dir
    mkdir "$servers"
    # Both servers are on this machine, and libpmix gives up where it finds two: tools look where one of them is.
    owner() { env PMIX_SYSTEM_TMPDIR="$directory" timeout -k 5 60 "$@" 2>&1; }
    there() { "$@"; }
    job_of_two() {
        (cd "$test_dir" && exec timeout -k 5 120 "$PMIXHOST_RUN" run --tmpdir "$servers" --hosts 2 -n 2 \
            "${job_options[@]}" "$clients/visited") >"$out" 2>&1 </dev/null &
    }
    # The daemons are the children of "pmixhost run", which is that of timeout.
    daemons() { pgrep -P "$(pgrep -P "$job_pid" | head -n 1)" -x pmixhostd; }
    listening() { ss -Hltnp | grep -F "pid=$(daemons | head -n 1),"; }
    name_job() { # a job without tools needs none
        local file
        nspace=local.1.1
        for file in "$servers"/*/pmix.*.tool; do
            [[ -f $file && $(head -n 1 "$file") == *.server.0\;* ]] || continue
            directory=${file%/*} nspace=$(sed -n '1s/\.server.*//p' "$file")
        done
    }
    kill_tasks() {
        local daemon
        for daemon in $(daemons); do pkill -KILL -P "$daemon" -x visited; done
    }
fi
tool() { owner "$clients/tool" nspace "$nspace" "$@"; }
said() { (($(grep -c "^$1" "$out") == $2)); } # TEXT TIMES
user=$(owner id -un) uid=$(owner id -u)

# under NAME RULE ...: a job of $user runs with these lines of [tools]
under() {
    configure_logged '[tools]' "${@:2}"
    : >"$out"
    job_of_two
    job_pid=$!
    ok "$1: the job runs" until_true 30 said there 2
    name_job
}
# The daemon's log has the line, or soon will: a tool hears of its refusal first.
logged() { # DESCRIPTION PATTERN
    ok "$1" until_true 10 grep -qE "$2" "$log" || diag "the log: $(cat "$log")" "the tool: ${output-}"
}
end_job() {
    kill_tasks
    wait "$job_pid"
}

under "switched off" 'enabled = "off"'
is "there is nothing for a tool to find" "$(there find "$servers" -maxdepth 2 -name 'pmix.*.tool*')" ""
unlike "and none gets in" "$(tool who)" '^tool'
port=$(listening | grep -o '127.0.0.1:[0-9]*' | head -n 1)
unlike "nor one that knows the address" "$(owner "$clients/tool" uri "$nspace.server.0;tcp4://$port" who)" '^tool'
logged "the log says why" 'was refused: tools are switched off here \(tools.enabled\)'
end_job

under "no control" "policy = [\"deny control, spawn by $user to jobs of themselves from here\"]"
like "a tool may look" "$(tool namespaces)" "^namespace $nspace"
like "but signal nobody" "$(tool signal 10 "$nspace")" '^signal: PMIX_ERR_NO_PERMISSIONS'
tool abort "$nspace" >/dev/null # libpmix does not tell the tool
like "nor spawn" "$(tool spawn /bin/true)" '^spawn: PMIX_ERR_NO_PERMISSIONS'
like "nor get a credential of its user" "$(tool credential)" '^credential: PMIX_ERR_NO_PERMISSIONS'
tool notify 7201 "$nspace" >/dev/null
ok "what it notifies comes to its own host" until_true 10 said 'heard 0 7201' 1
ok "one of the job's own overtakes nothing" until_true 10 said 'heard 1 7203' 1
is "nor abort" "$(grep -c -E '^(srun|pmixhost): error' "$out")" 0
unlike "and what the tool notifies comes no further" "$(cat "$out")" 'heard 1 7201'
is "no process was signalled" "$(grep -c ^signalled "$out")" 0
logged "the log has what was allowed" "tools: allowed: uid $uid, pid [0-9]+, from this host: observe of job [^ ]+ of uid $uid"
logged "and what was refused, by which line" "tools: refused: uid $uid, pid [0-9]+, from this host: control of job .*pmixhost.conf:5 \"deny control, spawn"
end_job

under "nobody may look" 'policy = ["deny observe by anyone to jobs of anyone from anywhere"]'
output=$(tool who)
unlike "no tool gets in" "$output" '^tool'
logged "the log names the line" 'was refused: the rules for tools refuse it: .*pmixhost.conf:5 "deny observe'
end_job

under "a rule that makes no sense" 'policy = ["allow observe by nobodyofthatname to jobs of anyone from here"]'
unlike "keeps every tool out" "$(tool who)" '^tool'
logged "the log says what is wrong" 'pmixhost.conf:5: .*nobodyofthatname'
end_job

# The user's file is in the home directory, which is nothing to be changed on this machine.
if [[ $backend == slurm ]]; then
    # shellcheck disable=SC2016 # for the user's shell
    users_file() { # TEXT
        owner sh -c 'mkdir -p ~/.config/pmixhost && printf "%s\n" "$1" >~/.config/pmixhost/tools.policy' sh "$1"
    }
    users_file "deny spawn by anyone to jobs of anyone from anywhere"
    under "the user's own file" 'user_policy = "tighten"'
    like "a tool signals" "$(tool signal 10 "$nspace")" '^signal: PMIX_(SUCCESS|OPERATION_SUCCEEDED)'
    like "but does not spawn" "$(tool spawn /bin/true)" '^spawn: PMIX_ERR_NO_PERMISSIONS'
    logged "the log names the user's line" 'tools: refused: .*: spawn of job .*tools.policy:1 "deny spawn'
    end_job
    users_file "deny spawning"
    under "a slip in the user's own file" 'user_policy = "tighten"'
    unlike "keeps the tools of that user out" "$(tool who)" '^tool'
    logged "the log says where it is" 'tools.policy:1: '
    end_job
    under "a user's file that the site does not want" 'user_policy = "off"'
    like "is not read" "$(tool who)" '^tool'
    like "who may spawn has a credential, too" "$(tool credential)" '^credential: PMIX_SUCCESS'
    end_job
    owner sh -c 'rm -r ~/.config/pmixhost'
fi

under "one tool at a time" 'max_connections = 1'
touch "$test_dir/hold"
tool hold "$CLIENT_DIR/go" >"$test_dir/hold" &
holder=$!
ok "one is here" until_true 20 grep -q '^held' "$test_dir/hold"
unlike "a second one is not let in" "$(tool who)" '^tool'
touch "$CLIENT_DIR/go"
wait "$holder"
let_in() { [[ $(tool who) == tool* ]]; }
ok "until the first one has gone" until_true 10 let_in
end_job
configure
done_testing
