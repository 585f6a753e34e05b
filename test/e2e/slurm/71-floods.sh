#!/bin/bash
# A stranger floods what listens for a job: srun's listener and the daemons' ports. The job starts, spawns and ends as
# if nobody were there.
. "$(dirname "$0")/../common/words.sh"

spawn=$clients/spawn
first=$(host_name 1) second=$(host_name 2)
floods=()
# flood HOST TARGET PORT COUNT: connections of pmixuser2 on HOST to TARGET, made again when they are closed.
flood() {
    "${on_cluster[@]}" --user pmixuser2 --host "$1" -- timeout 170 "$clients/knock" flood "$2" "$3" "$4" \
        >"$test_dir/flood.$1.$2.$3" 2>&1 </dev/null &
    floods+=($!)
}
raging() { (($(cat "$test_dir"/flood.* 2>/dev/null | grep -c 'at once') >= $1)); }
# ports_of HOST PROGRAM: our own, which take IPv4 and IPv6 ("*:PORT"); srun has others, for Slurm
ports_of() {
    on_host "$1" ss -Hltnp | grep "\"$2\"" | awk '{print $4}' | sed -n 's/^\*://p' | sort -u
}
take_turns() { for flood in "${floods[@]}"; do kill "$flood" 2>/dev/null; done; wait "${floods[@]}" 2>/dev/null; floods=(); }

# ------------------------------------------------------ a job that runs, spawns on other hosts, and ends

out=$test_dir/job
there() { (($(grep -c '^there' "$out") == 2)); }
begin_job() {
    rm -f "$test_dir/go"
    : >"$out"
    (cd "$test_dir" && exec timeout -k 5 120 "${on_cluster[@]}" --user pmixuser1 -- \
        salloc -Q -N2 --ntasks-per-node=4 bash -c "srun $mpi -N2 -n2 sh -c 'echo there; until [ -e $test_dir/go ]; do sleep 0.1; done; exec $spawn count=4 pmix.mapby=node times=3'") >"$out" 2>&1 </dev/null &
    job_pid=$!
}
begin_job
ok "a job of pmixuser1 runs" until_true 60 there
begin=$SECONDS
touch "$test_dir/go"
wait $job_pid
undisturbed=$((SECONDS - begin))
ok "it spawns, and all ends well" eval '(($(grep -c "^child " "$out") == 12))'
begin_job
ok "another one runs" until_true 60 there

listeners=$(ports_of head srun)
meshes=$(ports_of "$first" pmixhostd)
ok "srun and the daemon listen" test -n "$listeners" -a -n "$meshes"
for port in $listeners; do flood head localhost "$port" 1100; done
for port in $meshes; do flood "$second" "$first" "$port" 2000; done
ok "1,100 silent connections with srun, and 2,000 with a daemon" until_true 60 raging 2

begin=$SECONDS
touch "$test_dir/go"
(
    # srun of each spawned step has a listener of its own
    known=" $listeners "
    while kill -0 $job_pid 2>/dev/null; do
        for port in $(ports_of head srun); do
            [[ $known == *" $port "* ]] && continue
            known+="$port "
            flood head localhost "$port" 1100
        done
        sleep 0.2
    done
    take_turns
) &
watcher=$!
job_status=0
wait $job_pid || job_status=$?
took=$((SECONDS - begin))
wait $watcher
output=$(cat "$out") status=$job_status
ok "it spawns meanwhile, and all ends well" eval '((job_status == 0)) && (($(grep -c "^child " "$out") == 12))'
diag "that took $took s, undisturbed $undisturbed s"
ok "in good time" eval '((took <= 2 * undisturbed + 10))'
take_turns
ok "nothing of it is left" until_true 40 no_jobs

# -------------------------------------------------- jobs that start while every port that opens is flooded

(
    known=" "
    end=$((SECONDS + 100))
    while ((SECONDS < end)) && [[ ! -e $test_dir/enough ]]; do
        for host in "$first" "$second"; do
            for port in $(ports_of "$host" pmixhostd); do
                [[ $known == *" $host:$port "* ]] && continue
                known+="$host:$port "
                flood "$first" "$host" "$port" 2000
            done
        done
        sleep 0.1
    done
    take_turns
) &
watcher=$!
for i in 1 2 3; do
    run_srun -N2 -n4 "$clients/fence_data"
    ok "job $i starts and fences meanwhile" passed
done
touch "$test_dir/enough"
wait $watcher
ok "nothing is left" no_litter 30

done_testing
