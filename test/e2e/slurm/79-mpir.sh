#!/bin/bash
# srun's own interface for debuggers (MPIR) beside pmixhost: gdb on srun in the place of such a debugger sees the table of
# processes as ever, and the job goes on; who asks for stops of ours as well is told that it is one or the other.
. "$(dirname "$0")/../common/words.sh"

if [[ -z $(type -P gdb) ]]; then
    echo "1..0 # SKIP there is no gdb"
    trap - EXIT
    exit 0
fi
pmixhost=$PMIXHOST_BUILD/tools/pmixhost
h1=$(host_name 1) h2=$(host_name 2)
chmod 1777 "$test_dir"
# srun has no debugging information: a row is two pointers and an int.
cat >"$test_dir/mpir.gdb" <<'GDB'
set pagination off
set confirm off
set debuginfod enabled off
set print inferior-events off
starti
set var *(int *) &MPIR_being_debugged = 1
break MPIR_Breakpoint
continue
set var $i = 0
printf "\nsize %d\n", *(int *) &MPIR_proctable_size
while $i < *(int *) &MPIR_proctable_size
    set var $row = *(char **) &MPIR_proctable + 24 * $i
    printf "row %d %s %d %s\n", $i, *(char **) $row, *(int *) ($row + 16), *(char **) ($row + 8)
    set var $i = $i + 1
end
shell : >shown; until [ -e go ]; do sleep 0.05; done
continue
GDB
sed '/^shell /d' "$test_dir/mpir.gdb" >"$test_dir/plain.gdb"
in_gdb() { run gdb -nx -batch -x "$1.gdb" --args "${@:2}"; } # SCRIPT PROGRAM ...: sets $output

# shows_table: while srun is at its breakpoint, what pmixhost knows of the job.
shows_table() {
    until_true 40 test -e "$test_dir/shown" || return
    local job
    job=$(as_user root squeue -h -u "$TEST_USER" -o %i)
    (cd "$test_dir" && "${on_cluster[@]}" --user "$TEST_USER" --host "$h1" -- timeout -k 5 40 "$pmixhost" ps --json "$job") >"$test_dir/ps" 2>&1
    states_of hello >"$test_dir/states"
    : >"$test_dir/go"
}
states_of() { # NAME
    local host
    for host in "$h1" "$h2"; do
        on_host "$host" sh -c "for p in \$(pgrep -x $1); do sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' /proc/\$p/status; done"
    done | sort | uniq -c | tr -s ' \n' ' '
}
rows() { sed -n 's/^row //p' <<<"$output" | awk '{ sub(/\..*/, "", $2); print $1, $2, $3 }' | sort -n; }
ps_rows() {
    python3 -c 'import json, sys
for p in json.load(sys.stdin)[0]["processes"]: print(p["rank"], p["host"].split(".")[0], p["pid"])' <"$test_dir/ps" | sort -n
}

shows_table &
looker=$!
in_gdb mpir srun "$mpi" -O -N2 -w "$h1,$h2" -n4 --ntasks-per-node=2 "$clients/hello"
wait "$looker"
is "a debugger sees srun's table" "$(grep -oE '^size [0-9]+' <<<"$output")" "size 4"
is "with the program's name" "$(sed -n 's/^row [0-9]* [^ ]* [0-9]* //p' <<<"$output" | sort -u)" "$clients/hello"
is "its processes are those of pmixhost ps" "$(rows)" "$(ps_rows)"
like "and all four are" "$(rows)" $'^0 .* [0-9]+\n1 .* [0-9]+\n2 .* [0-9]+\n3 .* [0-9]+$'
is "they stand, as Slurm has it" "$(cat "$test_dir/states")" " 4 T "
is "and go on when the debugger lets srun go on" "$(grep -c '^rank [0-3] of 4 on' <<<"$output")" 4
like "to the end" "$output" 'exited normally'

# ------------------------------------------------------------------------------------- one debugger, not two

# The debugger's program is srun itself, so gdb has the variable.
PMIXHOST_DEBUG_STOP=exec in_gdb plain srun "$mpi" -n2 "$clients/hello"
refusal='pmixhost: srun is under a debugger that uses MPIR .*unset PMIXHOST_DEBUG_STOP'
like "stops of ours are refused beside it" "$output" "$refusal"
is "at once, and once" "$(grep -oE '^srun: [a-z]+|^rank' <<<"$output")" "srun: error"
PMIX_LAUNCHER_RNDZ_URI='nobody.0;tcp4://127.0.0.1:1' in_gdb plain srun "$mpi" -n2 "$clients/hello"
like "and so is a debugger that has started srun by PMIx_Spawn" "$output" \
    'MPIR .*and has been started by one that uses PMIx \(PMIX_LAUNCHER_RNDZ_URI\): one of the two only'
run env PMIXHOST_DEBUG_STOP=init srun "$mpi" --debugger-test -n2 "$clients/hello"
like "srun's own test of debuggers is such a one, too" "$status $output" "^[1-9].*$refusal"
output=$(cd "$test_dir" && "${on_cluster[@]}" --user "$TEST_USER" --host "$h1" -- timeout -k 5 60 "$pmixhost" debug -e ranks \
    srun "$mpi" --debugger-test -n2 "$clients/hello" 2>&1 </dev/null)
like "pmixhost debug is refused there, too" "$output" "$refusal"
configure '[debug]' 'stop = "exec"'
in_gdb plain srun "$mpi" -n2 "$clients/hello"
is "what a configuration file says does not hold there" "$(grep -c '^rank [01] of 2 on' <<<"$output")" 2
configure
ok "nothing is left" no_litter 30
done_testing
