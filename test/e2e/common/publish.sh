#!/bin/bash
# Published data: ranges, persistence, waiting, and what another step of the same allocation finds.
. "$(dirname "${BASH_SOURCE[0]}")/words.sh"
TEST_LIMIT=150 # more than the clients give themselves

for shape in 3x1 4x2; do
# The last rank must be on another host than the first, for what "local" means.
    h=${shape%x*} p=${shape#*x}
    client "$h" "$p" publish rules
    ok "publish, lookup and unpublish keep the rules, $shape" all_ok $((h * p))
done
for shape in 1x2 3x2; do
    h=${shape%x*} p=${shape#*x}
    client "$h" "$p" publish types
    ok "values of all types come back, $shape" all_ok $((h * p))
done
client 3 1 publish more
ok "custom range, and more than publish.max_bytes is refused" all_ok 3
client 2 1 publish owner
ok "the owner of published data is kept, given back and checked" all_ok 2
[[ $backend != slurm ]] || like "also where it is another group of the user's" "$output" 'group 60010'
client 2 1 publish none nobody
ok "what nobody published is not found" all_ok 2
export PMIXHOST_PUBLISH_TIMEOUT=20
client 2 1 publish find nobody x 1
ok "a lookup that waits in vain ends with its timeout" eval 'failed && ! all_ok 2 && grep -q PMIX_ERR_TIMEOUT <<<"$output"'
unset PMIXHOST_PUBLISH_TIMEOUT

if [[ $backend == slurm ]]; then
    cat >"$test_dir/steps.sh" <<'SH'
c=$1
srun --mpi=pmixhost -N1 -n1 "$c" put color blue
srun --mpi=pmixhost -N1 -n1 "$c" put short lived proc
srun --mpi=pmixhost -N2 -n2 -r1 "$c" find color blue
srun --mpi=pmixhost -N1 -n1 "$c" none short
srun --mpi=pmixhost -N3 -n3 "$c" more
srun --mpi=pmixhost -N1 -n1 "$c" none ours
srun --mpi=pmixhost -N1 -n1 "$c" find kept "for ever"
srun --mpi=pmixhost -N1 -n1 "$c" find later yes 20 &
srun --mpi=pmixhost --overlap -N1 -n1 -r2 "$c" put later yes
wait
SH
    rm -f "$CLIENT_DIR"/*
    run salloc -Q -N3 bash "$test_dir/steps.sh" "$clients/publish"
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null || echo "$output")
    ok "a later step finds what an earlier one published, and what ended with its process is gone" all_ok 12
    cp /dev/null "$test_dir/steps.sh"
    rm -f "$CLIENT_DIR"/*
    run salloc -Q -N1 srun "$mpi" -n1 "$clients/publish" none color
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null || echo "$output")
    ok "another allocation does not see it" all_ok 1
    cat >"$test_dir/steps.sh" <<'SH'
c=$1 out=$2
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) # -r0 is another one with Slurm 24.11
srun --mpi=pmixhost -N1 -n1 -r1 "$c" put color blue
srun --mpi=pmixhost -N1 -n1 -r1 "$c" hold color blue >"$out" & waiting=$!
for ((i = 0; i < 300; i++)); do grep -q there "$out" && { sleep 5; break; }; sleep 0.1; done # it looks up after it says so
srun --overlap --mpi=none -N1 -n1 -w "$first" pkill -KILL -f 'pmixhostd --session'
wait $waiting
cat "$out"
srun --mpi=pmixhost -N1 -n1 -r2 "$c" none color
srun --mpi=pmixhost -N1 -n1 -r2 "$c" put color red
srun --mpi=pmixhost -N1 -n1 -r1 "$c" find color red
SH
    rm -f "$CLIENT_DIR"/*
    run salloc -Q -N3 --ntasks-per-node=2 bash "$test_dir/steps.sh" "$clients/publish" "$test_dir/held"
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null || echo "$output")
    ok "the session is killed: who waits gets an error, what was published is lost, the next call finds a new one" \
        so_many_ok 5
    cat >"$test_dir/steps.sh" <<'SH'
c=$1
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
root() { srun --overlap --mpi=none -N1 -n1 -w "$first" pkill "$@" -f 'pmixhostd --session'; }
srun --mpi=pmixhost -N1 -n1 -r1 "$c" put color blue
root -STOP
srun --mpi=pmixhost -N1 -n1 -r1 "$c" put shade dark & putting=$!
# its invitation waits in the socket of the session, which is about to end
until srun --overlap --mpi=none -Q -N1 -n1 -w "$first" sh -c '[ $(grep -c "\.session$" /proc/net/unix) -gt 1 ]'; do sleep 0.2; done
root -KILL
wait $putting
srun --mpi=pmixhost -N1 -n1 -r1 "$c" find shade dark
SH
    rm -f "$CLIENT_DIR"/*
    run salloc -Q -N3 --ntasks-per-node=2 bash "$test_dir/steps.sh" "$clients/publish"
    verdicts=$(cat "$CLIENT_DIR/verdicts" 2>/dev/null || echo "$output")
    ok "an invitation that is lost with a session finds the next one" so_many_ok 3
    ok "nothing is left of the sessions" no_litter 20
fi
done_testing
