#!/bin/bash
# Debuggers that others have written: OpenPMIx' examples (package libpmix-dev), and, where their sources are, PRRTE's
# (PMIXHOST_PRRTE, a checkout of v3.0.0) and OpenPMIx' shim between MPIR and PMIx (PMIXHOST_MPIR_SHIM, a checkout of
# openpmix/mpir-to-pmix-guide). No package has the latter two.
. "$(dirname "$0")/../words.sh"
examples=/usr/share/doc/libpmix-dev/examples
needs $examples/tool.c libpmix-dev
user=$TEST_USER pmixhost=$PMIXHOST_BUILD/tools/pmixhost
h1=$(hosts_of_cluster | sed -n 1p) h2=$(hosts_of_cluster | sed -n 2p)
chmod 1777 "$test_dir"

# shellcheck disable=SC2046 # a list of options
build() { # NAME OPTION ...
    gcc -w -o "$test_dir/$1" "${@:2}" $(pkg-config --cflags --libs pmix) -lpthread 2>"$test_dir/gcc.out" ||
        diag "$1 does not compile: $(<"$test_dir/gcc.out")"
}
# by_user HOST WORD ...: sets $output and $status.
by_user() {
    status=0
    output=$(cd "$test_dir" &&
        timeout -k 5 60 "${on_cluster[@]}" --user "$user" --host "$1" -- "${@:2}" 2>&1 </dev/null) || status=$?
}
# A job of four processes on two hosts, that waits: sets $job.
begin_job() {
    (cd "$test_dir" && exec timeout -k 5 150 "${on_cluster[@]}" --user "$user" -- \
        srun "$mpi" -N2 -n4 -w "$h1,$h2" sh -c 'echo there; exec sleep 140') >"$test_dir/job.out" 2>&1 </dev/null &
    job_pid=$!
    ok "a job runs" until_true 40 eval '(($(grep -c ^there "$test_dir/job.out") == 4))'
    job=$(as_user root squeue -h -t R -u "$user" -o %i)
}
end_job() {
    as_user root scancel -u "$user"
    wait "$job_pid" || true
    end_jobs
}

configure() { # LINE ...
    printf '%s\n' "$@" >"$PMIXHOST_CONFIG_FILE"
    chmod 644 "$PMIXHOST_CONFIG_FILE"
}
mkdir -p "${PMIXHOST_CONFIG_FILE%/*}"
configure '[tools]' 'launchers = "on"' 'policy = ["allow everything by anyone to jobs of themselves from 10.99.0.0/16"]'

# ------------------------------------------------------------------------------------------------ OpenPMIx' own

for name in tool debugger; do
    build $name -I "$PMIXHOST_SOURCE/test/strangers" -include examples.h "$examples/$name.c"
done
begin_job
by_user "$h1" "$pmixhost" with "$job.0" -- ./tool # it takes all that it is told for texts, and crashes at a number
is "tool lists the job" "$(grep -c "slurm.$job.0" <<<"$output")" 1
by_user "$h1" "$pmixhost" with "$job.0" -- ./tool --nspace "slurm.$job.0"
like "tool asks how large the job is" "$output" "JOB SIZE FOR NSPACE slurm.$job.0: 4"
by_user head "$pmixhost" with "$job.0" -- ./debugger --attach "slurm.$job.0"
like "debugger attaches to it, from the login host" "$status $output" "^0 .*Query returned slurm.$job.0"

# ------------------------------------------------------------------------------------------------ the MPIR shim

if [[ -e ${PMIXHOST_MPIR_SHIM:-}/src/mpirshim.c ]]; then
    # What its configure would find out; and an event of a draft, that libpmix 4 has no name for any more.
    printf '#define PACKAGE_VERSION ""\n#define mpirshim_RELEASE_DATE ""\n#define PMIX_LAUNCH_DIRECTIVE -3999\n' \
        >"$test_dir/mpirshim_config.h"
    build mpirc -g -I "$test_dir" -I "$PMIXHOST_MPIR_SHIM/src/include" -include mpirshim_config.h \
        "$PMIXHOST_MPIR_SHIM"/src/mpir{c,shim}.c
    cat >"$test_dir/table.gdb" <<'GDB'
set pagination off
set debuginfod enabled off
break MPIR_Breakpoint
run
set var $i = 0
while $i < MPIR_proctable_size
    set var $row = MPIR_proctable[$i]
    printf "row %d %s %d %s\n", $i, $row.host_name, $row.pid, $row.executable_name
    set var $i = $i + 1
end
kill
GDB
    shown=$(as_user "$user" timeout -k 5 60 "$pmixhost" ps --json "$job" | python3 -c 'import json, sys
for p in json.load(sys.stdin)[0]["processes"]: print("row", p["rank"], p["host"], p["pid"], p["executable"])')
    for where in head "$h1"; do
        # Of srun's two processes the first, of the daemon's, one of which watches over the other, the second.
        # shellcheck disable=SC2046 # an option and a name
        process=$(on_host "$where" pgrep -u "$user" $([[ $where == head ]] && echo -ox srun || echo -nx pmixhostd))
        by_user "$where" gdb -nx -batch -x table.gdb --args ./mpirc --attach "$process"
        is "the MPIR shim has the table of pmixhost ps, on $where" "$(grep '^row' <<<"$output")" "$shown"
    done
    is "which has all processes" "$(grep -c '^row [0-3] n[0-9]* [0-9]* /.*sleep$' <<<"$shown")" 4
else
    skip "the MPIR shim has the table of pmixhost ps, on head" "there is no PMIXHOST_MPIR_SHIM"
fi

# ------------------------------------------------------------------------------------------------ PRRTE's

if [[ -e ${PMIXHOST_PRRTE:-}/examples/debugger/direct.c ]]; then
    from=$PMIXHOST_PRRTE/examples
    for name in direct indirect attach daemon hello stdincheck; do
        build $name -I "$from" -I "$from/debugger" "$from/debugger/$name.c"
    done
    printf '#!/bin/sh\nexec srun --mpi=pmixhost "$@"\n' >"$test_dir/prterun" # a launcher that indirect knows
    chmod 755 "$test_dir/prterun"
    # It waits for its daemon, and that for the end of the job.
    steps_run() { (($(as_user root squeue -h -s -j "$job" -o %i | grep -c "^$job\.[0-9]*$") > $1)); } # MORE-THAN
    before=$(as_user root squeue -h -s -j "$job" -o %i | grep -c "^$job\.[0-9]*$")
    (until_true 40 steps_run "$before" && as_user root scancel -u "$user") &
    by_user "$h1" "$pmixhost" with "$job.0" -- stdbuf -oL ./attach "slurm.$job.0"
    end_job
    like "attach finds the job" "$output" "Application namespace is 'slurm.$job.0'"
    like "and starts its daemon beside it" "$output" "Debugger daemon namespace 'slurm.$job.[1-9]"

    by_user head salloc -Q -N3 --ntasks-per-node=4 srun "$mpi" -N1 -n1 ./direct ./hello
    like "direct: the job stops and has a table" "$status $output" '^0 .*Received proc table for 2 procs'
    is "direct: its daemon lets both go" "$(grep -c 'PMIx_Finalize successfully completed' <<<"$output")" 2
    is "direct: both ends are heard" "$(grep -c 'DEBUGGER NOTIFIED THAT JOB .* TERMINATED' <<<"$output")" 2

    by_user head ./indirect ./prterun -N2 -n4 ./hello
    like "indirect: the job launches" "$status $output" '^0 .*APPLICATION HAS LAUNCHED: slurm'
    is "indirect: daemons let it go" "$(grep -c 'Client ns .*PMIx_Finalize successfully completed' <<<"$output")" 4
    by_user head sh -c 'echo some words | ./indirect ./prterun -N2 -n4 ./stdincheck'
    is "indirect: the debugger's input goes to rank 0" "$(grep -c '^some words$' <<<"$output")" 1
    is "indirect: to its end" "$status $(grep -c '^Proc .* finalizing$' <<<"$output")" "0 4"
    by_user head ./indirect ./prterun -N2 -n4 ./stdincheck
    is "indirect: also where there is none" "$status $(grep -c '^Proc .* finalizing$' <<<"$output")" "0 4"
else
    end_job
    skip "direct: the job stops and has a table" "there is no PMIXHOST_PRRTE"
fi
rm -f "$PMIXHOST_CONFIG_FILE"
done_testing
