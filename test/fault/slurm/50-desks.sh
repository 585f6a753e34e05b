#!/bin/bash
# A stranger on a login host goes for what tools of a job find there: the port of a desk, and the one that srun holds open
# for tools (tools.launchers). Neither says one byte to him, whatever he claims, and the job's own tools go on.
. "$(dirname "$0")/../words.sh"

pmixhost=$PMIXHOST_BUILD/tools/pmixhost
rule='policy = ["allow everything by anyone to jobs of themselves from 10.99.0.0/16"]'
at_login() { as_user pmixuser1 timeout -k 5 60 "$@" 2>&1; }
# under NAME LINE ...: a job of pmixuser1 runs with these lines of [tools]
under() {
    configure '[log]' "file = \"$victims_log/%n.%j.%s\"" '[tools]' "$rule" "${@:2}"
    begin_job 2 1 "$clients/visited"
    ok "$1: a job runs" until_true 30 eval '(($(grep -c "^there" "$out") == 2))'
    nspace=slurm.$(as_user root squeue -h -t R -u pmixuser1 -o %i).0
}
# says_nothing NAME ADDRESS: whoever he says he is, and however he behaves.
says_nothing() {
    local flag way
    nothing_came "$1: every claim of user, name, rank, module and kind" head "tcp:$2" mode=sweep wait=5 \
        "nspace=$nspace" "victim=$victim"
    for flag in 0 3 4 5 8; do
        nothing_came "$1: he proves with munge who he is, and names the victim's process: $flag" head "tcp:$2" \
            psec=munge "cred==$(as_stranger head munge -n)" flag=$flag wait=3 "nspace=$nspace" rank=0 "uid=$victim" "gid=$victim"
    done
    for way in silent half lies rubbish cut reset deaf; do
        nothing_came "$1: he behaves badly: $way" head "tcp:$2" mode=$way times=30 wait=2 \
            "nspace=$nspace" uid=$victim gid=$victim cred=$victim:$victim
    done
}
of_head() { grep '^head ' <<<"$1"; }
settled() { [[ -z $(has_grown "$before" "$(of_head "$(sizes)")" 16384 16) ]]; }

# --------------------------------------------------------------------------- a desk, while its tool runs

under "a desk"
job=${nspace#slurm.}
(cd "$test_dir" && exec timeout -k 5 200 "${on_cluster[@]}" --user pmixuser1 -- "$pmixhost" with "${job%.0}" -- \
    sh -c 'env >"$0"; exec sleep 190' "$test_dir/of-tool") >/dev/null 2>&1 </dev/null &
with_pid=$!
# Its mesh, which job daemons reach, is at all addresses.
desk_port() { on_host head ss -Hltnp | grep pmixhostd | grep -o ' 127.0.0.1:[0-9]*' | sed 's/.*://'; }
ok "its tool runs, and it listens" until_true 20 eval '[[ -s $test_dir/of-tool && -n $(desk_port) ]]'
port=$(desk_port) before=$(of_head "$(sizes)")
says_nothing "a desk's port" "127.0.0.1:$port"
mesh=$(ports head | grep -v ":$port\$")
like "its mesh listens, too" "$mesh" ':[0-9]+'
for address in $mesh; do says_nothing "what the job's daemons dial" "$address"; done
like "its own user's tool comes by that port" "$(at_login "$clients/tool" uri "$nspace.server.0;tcp4://127.0.0.1:$port" who)" "^tool $nspace"
ok "it has not grown by more than 16 MiB or 16 descriptors" until_true 20 settled
on_host head pkill -KILL -u pmixuser1 -x sleep
wait "$with_pid"
like "the log has the stranger" "$(cat "$victims_log"/*)" "a tool was refused: a process of uid $stranger; only uid $victim may connect here"
end_job

# ------------------------------------------------------------------------------- what srun holds open

under "srun's own door" 'launchers = "on"'
starters=/tmp/pmixhost-starters-$victim
door_port() { on_host head find "$starters" -name "pmix.*.tool.$nspace" -exec cat {} ';' -quit 2>/dev/null | sed -nE '1s/.*:([0-9]+)$/\1/p'; }
ok "it is to be found" until_true 10 eval '[[ -n $(door_port) ]]'
port=$(door_port)
says_nothing "srun's door, before a tool came" "127.0.0.1:$port"
like "then its own user's tool comes" "$(at_login "$clients/tool" nspace "$nspace" who namespaces)" "^tool $nspace.*namespace $nspace"
before=$(of_head "$(sizes)")
says_nothing "srun's door, after one came" "127.0.0.1:$port"
like "and the next one" "$(at_login "$clients/tool" nspace "$nspace" who namespaces)" "^tool $nspace.*namespace $nspace"
ok "nothing has grown by more than 16 MiB or 16 descriptors" until_true 20 settled
ok "the job still runs" job_runs
is "no daemon has left a process behind" "$(zombies)" ""
end_job
is "no desk is left" "$(on_host head pgrep -u pmixuser1 -x -c pmixhostd)" 0
configure
ok "nothing is left" no_litter 30
done_testing
