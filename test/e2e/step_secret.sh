# shellcheck shell=bash
# What a cluster has to show on which srun finds no munge: the hosts of a step prove with a secret that srun makes and
# Slurm carries. For own_cluster, of two hosts.
. "$(dirname "${BASH_SOURCE[0]}")/common/words.sh"

# The processes of a task's host see no secret, in whatever they may look at, and nobody finds one in a log.
cat_all() { cat "$test_dir"/seen.* 2>/dev/null || true; }
six_have_looked() { [[ $(find "$test_dir" -name 'seen.*' | wc -l) == 6 ]]; }
no_secret_is_seen() { # DESCRIPTION OPTION ...: of srun
    local description=$1
    shift
    rm -f "$test_dir"/seen.*
    run_srun -N2 -n2 --task-prolog="$test_dir/look" --task-epilog="$test_dir/look" "$@" "$test_dir/look"
    ok "$description: two tasks, their prologs and their epilogs have looked" \
        eval 'passed && until_true 20 six_have_looked'
    is "$description: none has seen a secret" "$(cat_all | grep -aoE 'PMIXHOST_SECRET|[0-9a-f]{64}' | head -n 3)" ""
    ok "$description: but what srun sets" eval '[[ $(cat_all | grep -ac "^SLURM_PROCID=") -ge 2 ]]'
}
write_look() {
    cat >"$test_dir/look" <<'TXT'
#!/bin/sh
name=$(hostname).$$
cd "$(dirname "$0")" || exit
{ env; for p in /proc/self/environ /proc/[0-9]*/cmdline; do tr '\0' '\n' <$p; done; } >new.$name 2>/dev/null
mv new.$name seen.$name
TXT
    chmod 755 "$test_dir/look"
}

apart() { # one step publishes, another one looks it up
    echo "srun $mpi -N1 -n1 $clients/publish put apart.key text && srun $mpi -N2 -n2 $clients/publish find apart.key text 3"
}

# A Hello with a proof of nothing, and noise, to each port of the daemons and of srun's listener.
strangers_at_a_step() {
    local port host answers='' seen=0
    cat >"$test_dir/dial" <<'TXT'
#!/bin/bash
for what in 'PX\x02\x01\x00\x00\x00\x44\x00\x00\x00\x40' 'GET / HTTP/1.0\r\n\r\n' 'PMXR\x00\x00\x00\x03\x00\x00\x00\x40'; do
    exec 3<>"/dev/tcp/$1/$2" || { echo "not reached"; continue; }
    printf "$what" >&3
    head -c 64 /dev/urandom >&3
    echo "$(timeout 8 cat <&3 | wc -c) bytes"
done 2>/dev/null
TXT
    chmod 755 "$test_dir/dial"
    (cd "$test_dir" && exec timeout -k 5 100 "${on_cluster[@]}" --user pmixuser1 -- \
        srun "$mpi" -N2 -n2 "$clients/linger") >"$test_dir/out" 2>&1 </dev/null &
    until_true 40 daemons_listen || true
    for host in n1 n2; do
        for port in $(mesh_ports $host); do
            seen=$((seen + 1))
            answers+=$("${on_cluster[@]}" --user pmixuser2 --host head -- "$test_dir/dial" $host "$port")$'\n'
        done
    done
    is "a stranger at a port of a daemon gets no byte" "$((seen >= 2)) $(sort -u <<<"$answers" | paste -sd ' ')" "1  0 bytes"
    answers='' seen=0
    for port in $(on_host head ss -Hltnp | grep '"srun"' | awk '$4 ~ /^\*:/ {print $4}' | tr -d '*:'); do
        seen=$((seen + 1))
        answers+=$("${on_cluster[@]}" --user pmixuser2 --host n1 -- "$test_dir/dial" head "$port")$'\n'
    done
    is "nor at srun's listener" "$((seen >= 1)) $(sort -u <<<"$answers" | paste -sd ' ')" "1  0 bytes"
    end_jobs
    wait
}
daemons_listen() { [[ -n $(mesh_ports n1) && -n $(mesh_ports n2) ]]; }
mesh_ports() { on_host "$1" ss -Hltnp | grep pmixhostd | awk '{print $4}' | grep -v '^127\.\|^\[::1\]' | sed 's/.*://' | sort -u; }

# On a cluster of two hosts without munge where pmixhost looks for it.
by_secret() {
    each_way
    run_srun --export=NONE -N2 -n4 "$clients/fence_data"
    ok "with --export=NONE" says_ok 4
    run salloc -Q -N2 --ntasks-per-node=6 srun "$mpi" -N2 -n2 "$clients/spawn" count=4 pmix.mapby=node:oversubscribe
    is "children on two hosts, with fences among them" \
        "$(grep -o '^child [0-3] of 4.* on [^ ]*$' <<<"$output" | grep -o '[^ ]*$' | sort -u | wc -l)" 2
    run salloc -Q -N2 --ntasks-per-node=8 srun "$mpi" -N2 -n2 "$clients/spawn" -- "$clients/spawn" child 1
    is "children of children" "$(grep -c '^child ' <<<"$output")" 3
    run salloc -Q -N2 --ntasks-per-node=8 srun "$mpi" -N2 -n2 "$clients/family" 2 pmix.mapby=node:oversubscribe
    ok "parents, children and siblings read each other's data and connect" says_ok 6
    if [[ -x $clients/mpi_spawn ]]; then
        run salloc -Q -N2 --ntasks-per-node=8 srun "$mpi" -N2 -n2 "$clients/mpi_spawn" 2
        ok "MPI_Comm_spawn: parents and children connect, and add up a number" \
            eval 'passed && (($(grep -c "^child" <<<"$output") >= 2))'
    else
        skip "MPI_Comm_spawn: parents and children connect, and add up a number" "no mpicc"
    fi
    run_srun -N1 -n2 "$clients/abort" all 43 words
    is "on one host, an abort comes to srun" "$status" 43
    run salloc -Q -N1 -n2 : -N1 -n2 srun "$mpi" --het-group=0,1 "$clients/fence_data"
    ok "the components of a heterogeneous step have one secret" says_ok 4
    strangers_at_a_step
    run salloc -Q -N2 --ntasks-per-node=4 bash -c "$(apart)"
    like "steps that were started apart do not find each other, and srun says why" "$output" \
        'pmixhost: without munge a step meets only those .* start munged on all hosts'
    ok "that comes to an end" ended_in_time
    write_look
    no_secret_is_seen "a step"
    no_secret_is_seen "a step with --export=NONE" --export=NONE
    configure '[log]' 'level = "debug"' "file = \"$test_dir/daemon.%n.%j.%s.log\""
    run salloc -Q -N2 --ntasks-per-node=6 srun "$mpi" -N2 -n2 "$clients/spawn" count=2
    run_srun -N2 -n3 "$clients/publish" rules
    configure
    ok "our daemons have written logs" test "$(cat "$test_dir"/daemon.*.log | wc -l)" -gt 10
    is "no log of Slurm's or ours has a secret" "$({ cat "$PMIXHOST_CLUSTER_DIR"/hosts/*/*.log "$test_dir"/daemon.*.log && echo "$output"; } |
        grep -aE 'PMIXHOST_SECRET=.|(^|[^0-9a-f])[0-9a-f]{64}([^0-9a-f]|$)' | head -n 3)" ""
}
