#!/bin/bash
# PMIx_Spawn: a step of its own for each call, in the caller's allocation.
. "$(dirname "$0")/../lib.sh"

spawn=$PMIXHOST_CLIENTS/spawn
TEST_LIMIT=120

# The tests name hosts of three; Slurm would give others while one of these still clears up after the last job.
first_three=$(hosts_of_cluster | head -n 3 | paste -sd,)

# in_allocation SALLOC-OPTIONS -- COMMAND-LINE: a shell line on the login host, inside an allocation.
in_allocation() {
    local options=()
    while [[ $1 != -- ]]; do options+=("$1"); shift; done
    shift
    [[ ${options[0]} != -N3 ]] || options+=(-w "$first_three")
    run salloc -Q "${options[@]}" bash -c "S=$spawn; R='srun $mpi'; $*"
}
children() { grep -c '^child ' <<<"$output"; }
# Puts all on one line, in order, without what differs from run to run.
lines() { grep -o "$1" <<<"$output" | sort -V | tr '\n' ' '; }

# --- what runs where

in_allocation -N3 --ntasks-per-node=4 -- '$R -N1 -n1 $S'
ok "one child" eval 'passed && [[ $(children) == 1 ]]'
like "it knows its parent" "$output" 'child 0 of 1 in slurm\.[0-9]*\.[0-9]*, parent slurm\.[0-9]*\.0 0, on n1'
in_allocation -N3 --ntasks-per-node=4 -- '$R -N2 -n4 $S count=4 rank=3'
ok "four children of a rank of another host" eval 'passed && [[ $(children) == 4 ]]'
like "their parent is that rank" "$output" 'parent slurm\.[0-9]*\.0 3'
in_allocation -N3 --ntasks-per-node=4 -- '$R -N1 -n1 $S count=3 pmix.mapby=node'
is "hosts that have no task of the parent's step" "$(lines 'child [0-9]* of 3\|on n[0-9]*')" \
    "child 0 of 3 child 1 of 3 child 2 of 3 on n1 on n2 on n3 "
in_allocation -N3 --ntasks-per-node=4 -- '$R -N1 -n1 $S count=2 pmix.host=n3,n2'
is "hosts that PMIX_HOST names" "$(lines 'on n[0-9]*')" "on n3 on n3 "
in_allocation -N3 --ntasks-per-node=4 -- '$R -N1 -n1 $S count=2 -- $S child -- $S child'
ok "two programs in one job" eval 'passed && [[ $(grep -c "^child [0-9] of 4" <<<"$output") == 4 ]]'
in_allocation -N3 --ntasks-per-node=4 -- '$R -N3 -n3 $S rank=all'
ok "three ranks at the same moment" eval 'passed && [[ $(children) == 3 ]]'
in_allocation -N3 --ntasks-per-node=4 -- '$R -N1 -n1 $S -- $S child 2'
ok "children spawn children" eval 'passed && [[ $(children) == 5 ]]'
in_allocation -N3 --ntasks-per-node=4 -- '$R -N1 -n1 $S times=10'
ok "ten times, one after the other" eval 'passed && [[ $(children) == 10 ]]'
in_allocation -N4 -n64 -- '$R -N1 -n1 $S count=64'
ok "64 children" eval 'passed && [[ $(children) == 64 ]]'
run_srun -n1 "$spawn"
ok "a parent that is the whole of its job" eval 'passed && [[ $(children) == 1 ]]'
in_allocation -N1 -n1 -- '$R -n1 $S count=4 pmix.mapby=slot:oversubscribe'
ok "more than there are CPUs, by the mapping policy" eval 'passed && [[ $(children) == 4 ]]'
in_allocation -N2 -n2 -- '$R -N2 -n2 --exclusive $S count=2'
ok "an allocation whose CPUs are all in use" eval 'passed && [[ $(children) == 2 ]]'

# sbatch --export=NONE leaves this to its job: srun then passes on no variable of the user's.
SLURM_EXPORT_ENV=NONE in_allocation -N2 -n4 -- '$R -N1 -n1 $S count=2'
ok "a job whose environment is not passed on" eval 'passed && [[ $(children) == 2 ]]'
SLURM_EXPORT_ENV=HOME in_allocation -N2 -n4 -- '$R --export=ALL -N1 -n1 $S count=2'
ok "or in part" eval 'passed && [[ $(children) == 2 ]]'
mkdir -m 1777 "$test_dir/names"
in_allocation -N2 -n4 -- "cd $test_dir/names && \$R -N1 -n1 -o out.%t \$S -- /bin/echo written"
ok "output in a file of each task, named from where srun was called" eval 'passed && grep -qx written "$test_dir/names/out.0"'

in_allocation -N2 -n4 -- "ulimit -Sn 333 && \$R -N1 -n1 \$S -- /bin/sh -c 'echo files: \$(ulimit -Sn)'"
like "as many open files as the parent may have" "$output" $'(^|\n)files: 333($|\n)'

# --- where, by every directive

echo "n3 slots=2" >"$test_dir/hostfile"
in_allocation -N3 --ntasks-per-node=4 -- "\$R -N1 -n1 \$S count=2 pmix.hostfile=$test_dir/hostfile"
is "PMIX_HOSTFILE" "$(lines 'on n[0-9]*')" "on n3 on n3 "
in_allocation -N3 --ntasks-per-node=4 -- '$R -N1 -n1 $S pmix.addhost=n2'
ok "PMIX_ADD_HOST of a host that the allocation has" eval 'passed && [[ $(children) == 1 ]]'
in_allocation -N3 --ntasks-per-node=4 -- '$R -N1 -n1 $S count=6 pmix.ppr=2:node'
is "PMIX_PPR" "$(lines 'on n[0-9]*')" "on n1 on n1 on n2 on n2 on n3 on n3 "
like "ranks follow each other on a host" "$output" 'child 1 of 6 [^,]*, parent [^,]*, on n1'
in_allocation -N3 --ntasks-per-node=4 -- '$R -N1 -n1 $S count=6 pmix.mapby=ppr:2:node pmix.rankby=node'
like "PMIX_RANKBY node: ranks go from host to host" "$output" 'child 1 of 6 [^,]*, parent [^,]*, on n2'
in_allocation -N3 --ntasks-per-node=4 -- '$R -N1 -n1 $S count=2 app:pmix.host=n2'
is "information of the program alone" "$(lines 'on n[0-9]*')" "on n2 on n2 "
in_allocation -N1 -n2 -- "srun --mpi=none -n1 --cpu-bind=cores /bin/sh -c 'echo bound to \$SLURM_CPU_BIND_TYPE'"
bound=$(grep -o 'bound to [a-z_:]*' <<<"$output") # "cores", or what task/affinity has made of it
in_allocation -N1 -n2 -- "\$R -n1 \$S pmix.bindto=core -- /bin/sh -c 'echo bound to \$SLURM_CPU_BIND_TYPE'"
is "PMIX_BINDTO is srun's --cpu-bind" "$(grep -o 'bound to [a-z_:]*' <<<"$output")" "${bound:-(Slurm itself did not run)}"
in_allocation -N1 -n2 -- '$R -n1 $S pmix.wdir=/usr -- /bin/pwd'
like "PMIX_WDIR" "$output" $'(^|\n)/usr($|\n)'
in_allocation -N3 --ntasks-per-node=4 -- "cd /usr && \$R -N1 -n1 -w n1 \$S pmix.host=n3 pmix.wdir=lib -- /bin/sh -c 'echo in \$PWD'"
like "one that is named from where the caller is" "$output" $'(^|\n)in /usr/lib($|\n)'
in_allocation -N1 -n2 -- "\$R -n1 \$S pmix.prefix=/nowhere -- /bin/sh -c 'echo \$PATH \$LD_LIBRARY_PATH'"
like "PMIX_PREFIX" "$output" '/nowhere/bin:[^ ]* /nowhere/lib'
printf '#!/bin/sh\necho "agent of: $*"\nexec "$@"\n' >"$test_dir/agent.sh"
chmod 755 "$test_dir/agent.sh"
in_allocation -N1 -n2 -- "\$R -n1 \$S pmix.exec.agnt=$test_dir/agent.sh -- /bin/echo 'a b' c"
is "PMIX_EXEC_AGENT prepares, and becomes the program" "$(grep -E '^(agent of|a b c)' <<<"$output")" $'agent of: /bin/echo a b c\na b c'

# A fork/exec agent of each rank, which starts it and is itself a tool.
agent=$PMIXHOST_CLIENTS/fork_agent
in_allocation -N3 --ntasks-per-node=4 -- "\$R -N1 -n1 \$S count=4 pmix.host=n1,n2 pmix.mapby=node 'pmix.fe.agnt!=$agent' -- $agent child"
is "PMIX_FORKEXEC_AGENT starts each rank of a job on two hosts" "$(grep '^started ' <<<"$output" | sort)" \
    $'started 0 of 4, local 0 of 2 with 0,2\nstarted 1 of 4, local 0 of 2 with 1,3\nstarted 2 of 4, local 1 of 2 with 0,2\nstarted 3 of 4, local 1 of 2 with 1,3'
is "as a tool of its own" "$(sed -nE 's/^agent ([^ ]+\.tool\.[01]\.[0-9]+) starts rank [0-3]$/\1/p' <<<"$output" | sort -u | wc -l)" 4
ok "nobody complains" eval 'passed && ! grep -q FAIL <<<"$output"'
in_allocation -N1 -n2 -- "\$R -n1 \$S env=A='x  y' cwd=/usr pmix.fe.agnt=$agent -- /bin/sh -c 'echo got: \$PWD \"\$A\" \$PMIX_RANK \"\$0\" \"\$@\"' 'one two' '*' ''"
like "with its arguments, environment and directory" "$output" 'got: /usr x  y 0 one two \* '
# Rank 0 fails when rank 1 runs.
began=$test_dir/began
in_allocation -N1 -n3 -- "\$R -n1 \$S count=2 app:pmix.fe.agnt=$agent 'pmix.abnz!=yes' -- \\
    /bin/sh -c 'if [ \$PMIX_RANK = 0 ]; then until [ -e $began ]; do sleep 0.1; done; exit 3; fi; >$began; sleep 60 && echo lived on'"
ok "each runs in the place of its agent" test -e "$began"
unlike "its exit code is the rank's: one that fails ends all" "$output" 'lived on'

in_allocation -N1 -n4 -- "\$R -n1 \$S count=2 last:pmix.cospawn=yes -- \$S child -- \$S child"
is "PMIX_COSPAWN_APP: a job of its own" "$(lines 'child [0-9] of [0-9]')" "child 0 of 2 child 0 of 2 child 1 of 2 child 1 of 2 "
is "which is another one" "$(grep -o 'child . of 2 in [^,]*' <<<"$output" | sort -u -k 6 | wc -l)" 2
first=$(sed -nE 's/^spawned ([^ ]+) after.*/\1/p' <<<"$output")
is "the first one's name is returned" "$(grep -c "^child . of 2 in $first," <<<"$output")" 2
in_allocation -N1 -n4 -- "\$R -n1 \$S status=ERROR last:pmix.cospawn=yes -- /bin/sleep 99 -- /no/such/program"
ok "where one cannot be started neither is" passed

in_allocation -N1 -n2 -- "\$R -n1 \$S 'pmix.spwn.tool!=yes' -- $PMIXHOST_CLIENTS/tool who"
like "PMIX_SPAWN_TOOL: it is a tool" "$output" $'(^|\n)tool slurm\\.[0-9]+\\.[1-9]'
in_allocation -N1 -n2 -- "\$R -n1 \$S 'pmix.job.time!=#1' -- /bin/sh -c 'sleep 60 && echo lived on'"
like "PMIX_JOB_TIMEOUT: the user is told" "$output" 'slurm\.[0-9]+\.[1-9][0-9a-f]*: its time of 1 s is over \(PMIX_JOB_TIMEOUT\); it is ended'
unlike "and the job ends" "$output" 'lived on'
in_allocation -N1 -n2 -- "\$R -n1 \$S 'pmix.job.time!=#60' -- /bin/echo lives"
is "one that is not needed does no harm" "$(grep -c '^lives' <<<"$output") $(grep -c PMIX_JOB_TIMEOUT <<<"$output")" "1 0"

in_allocation -N1 -n2 -- "\$R -n1 \$S 'pmix.nonpmi!=yes' -- /bin/echo plain"
like "PMIX_NON_PMI: a program that never calls PMIx_Init" "$output" $'(^|\n)plain'
# One of two ends with an error, and the other one goes on, or not.
one_fails() { echo "/bin/sh -c '[ \$PMIX_RANK = 1 ] || exit 3; sleep $1 && echo lived on'"; } # SECONDS
in_allocation -N1 -n3 -- "\$R -n1 \$S count=2 'pmix.abnz!=yes' -- $(one_fails 60)"
unlike "PMIX_ABORT_NON_ZERO_TERM: one that fails ends all" "$output" 'lived on'
in_allocation -N1 -n3 -- "\$R -n1 \$S count=2 'pmix.abnz!=no' -- $(one_fails 3)"
like "and not where it says no" "$output" 'lived on'
echo n9 >"$test_dir/elsewhere"
in_allocation -N3 --ntasks-per-node=4 -- "\$R -N1 -n1 \$S status=ERROR pmix.addhostfile=$test_dir/elsewhere -- /bin/true"
ok "PMIX_ADD_HOSTFILE: a host that is not there is refused" passed
echo n2 >"$test_dir/within"
in_allocation -N3 --ntasks-per-node=4 -- "\$R -N1 -n1 \$S pmix.addhostfile=$test_dir/within -- /bin/echo runs"
like "one that is does no harm" "$output" $'(^|\n)runs'

# --- what a child gets

in_allocation -N1 -n2 -- "\$R -n1 --export=ALL,CHILDS=seen \$S -- /bin/sh -c 'echo got: \$CHILDS'"
like "what its parent's srun exports" "$output" 'got: seen'
printf '#!/bin/sh\necho export PROLOGS=word\n' >"$test_dir/prolog.sh"
chmod 755 "$test_dir/prolog.sh"
in_allocation -N1 -n2 -- "\$R -n1 -u --wait=5 --propagate=NONE -k -K --task-prolog=$test_dir/prolog.sh --task-epilog=/bin/true \$S -- /bin/sh -c 'echo got: \$PROLOGS'"
like "and all else that is meant for them, its prolog of tasks among it" "$output" 'got: word'
in_allocation -N1 -n3 -- "\$R -n1 -K1 \$S count=2 -- $(one_fails 60)"
unlike "and its parent's word on what fails" "$output" 'lived on'
in_allocation -N1 -n2 -- "ulimit -Sn 500; env A.B=dotted \$R -n1 --no-kill=off \$S -- /usr/bin/env"
like "what it does not say, and variables that no shell takes" "$output" $'(^|\n)A\\.B=dotted'

in_allocation -N1 -n2 -- "\$R -n1 \$S cwd=/usr env=A='x  y' pmix.envar.set=B=b pmix.envar.prepnd=PATH=/first -- /bin/sh -c 'echo got: \$PWD \"\$A\" \$B \${PATH%%:*} \"\$0\" \"\$@\"' 'one two' '*' ''"
like "arguments, environment and directory" "$output" 'got: /usr x  y b /first one two \* '
in_allocation -N1 -n2 -- "\$R -n1 \$S env=L=b:a pmix.envar.first=L=a -- /bin/sh -c 'echo got: \$L'"
like "PMIX_FIRST_ENVAR: what was there comes first" "$output" 'got: a:b'
in_allocation -N1 -n2 -- "export THERE=was; \$R -n1 \$S pmix.envar.appnd=PATH=/last pmix.envar.unset=THERE pmix.envar.add=HOME=/none pmix.envar.add=FRESH=yes -- /bin/sh -c 'echo got: \${PATH##*:} \${THERE-unset} \$HOME \$FRESH'"
like "PMIX_APPEND_ENVAR, PMIX_UNSET_ENVAR, PMIX_ADD_ENVAR" "$output" 'got: /last unset /[^n][^ ]* yes'
in_allocation -N1 -n2 -- "cp /bin/echo $test_dir/inhere; \$R -n1 \$S cwd=$test_dir -- inhere is it"
like "a program that is in its directory, not in PATH" "$output" 'is it'
in_allocation -N1 -n2 -- '$R -n1 $S pmix.mergeerrout=yes -- /bin/sh -c "echo to stderr >&2" 2>/dev/null'
like "PMIX_MERGE_STDERR_STDOUT" "$output" 'to stderr'
in_allocation -N1 -n2 -- 'echo for the child | $R -n1 --input=none $S pmix.stdin=#0 -- /bin/cat'
like "PMIX_STDIN_TGT" "$output" 'for the child'
in_allocation -N1 -n3 -- 'echo for one | $R -n1 --input=none $S count=2 pmix.mapby=slot:oversubscribe pmix.stdin=#1 -- /bin/sh -c "echo \$PMIX_RANK got \$(cat)"'
ok "PMIX_STDIN_TGT names one rank: it alone gets it" eval 'grep -q "^1 got for one" <<<"$output" && grep -q "^0 got *$" <<<"$output"'
in_allocation -N1 -n3 -- 'echo for all | $R -n1 --input=none $S count=2 pmix.mapby=slot:oversubscribe pmix.stdin=#-2 -- /bin/sh -c "echo \$PMIX_RANK got \$(cat)"'
ok "PMIX_STDIN_TGT wildcard: all get it" eval '(($(grep -c "^[01] got for all" <<<"$output") == 2))'
in_allocation -N1 -n2 -- 'echo for nobody | $R -n1 --input=none $S -- /bin/sh -c "echo got \$(cat)"'
like "without PMIX_STDIN_TGT a child gets nothing" "$output" $'(^|\n)got *($|\n)'
# Its end is not srun's to tell, for output is lost by that (semantics.md).
in_allocation -N1 -n2 -- '$R -n1 $S -- /bin/sh -c "readlink /proc/self/fd/0"'
like "its input is /dev/null, not a pipe of srun's" "$output" $'(^|\n)/dev/null($|\n)'
# stay LINES FILE ...: until that many lines are in the files. srun may lose what a process has written that ends at once
# (semantics.md).
stay=$test_dir/stay
cat >"$stay" <<'STAY'
#!/bin/sh
lines=$1 tries=0
shift
# The last bytes are newlines: else half of a line is there.
all_there() { [ "$(cat "$@" 2>/dev/null | grep -c '[0-9]$')" -ge "$lines" ] && [ -z "$(tail -qc 1 "$@")" ]; }
until all_there "$@" || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
STAY
chmod 755 "$stay"
in_allocation -N1 -n2 -- "\$R -n1 -o $test_dir/out \$S -- /bin/sh -c 'seq 20000; seq 20000 >&2; exec $stay 40000 $test_dir/out'; exit \$?"
is "output goes to the file of --output, all of it" \
    "$(grep -c '^[0-9]*$' "$test_dir/out")" 40000
in_allocation -N1 -n2 -- "\$R -n1 -o $test_dir/out -e $test_dir/err \$S -- /bin/sh -c 'seq 20000; seq 20000 >&2; exec $stay 40000 $test_dir/out $test_dir/err'"
ok "in order, each stream in its file" \
    eval 'diff <(seq 20000) <(grep "^[0-9]*$" "$test_dir/out") && diff <(seq 20000) <(grep "^[0-9]*$" "$test_dir/err")'
in_allocation -N2 -n4 -- "\$R -n1 \$S count=2 pmix.mapby=node -- /bin/sh -c 'i=0; while [ \$((i += 1)) -le 5000 ]; do echo r\$PMIX_RANK \$i; done; exec $stay 10000 $test_dir/terminal' >$test_dir/terminal"
ok "output of each rank on the terminal of the original srun, complete and in order" \
    eval 'for r in 0 1; do diff <(seq 5000) <(sed -n "s/^r$r //p" "$test_dir/terminal") || exit 1; done'
in_allocation -N1 -n2 -- '$R -n1 $S -- /bin/sh -c "exit 3"'
ok "srun's exit code is that of its own step" passed

# --- what cannot be

refused() { # DESCRIPTION STATUS TEXT ARGUMENT ...
    local description=$1 wanted=$2 text=$3
    shift 3
    in_allocation -N1 -n2 -- "\$R -n1 \$S status=ERROR $*"
    like "$description" "$output" "refused $wanted "
    like "$description: the user is told" "$output" "$text"
    ok "$description: the caller lives on" eval 'passed && grep -q "^ok 0" <<<"$output"'
}
refused "a missing program" 'PMIX_ERR_JOB_EXE_NOT_FOUND' 'cannot execute /no/such' -- /no/such
refused "a program that is not in PATH" 'PMIX_ERR_JOB_EXE_NOT_FOUND' 'no program nosuch' -- nosuch
refused "a file that is no program" 'PMIX_ERR_JOB_APP_NOT_EXECUTABLE' 'Permission denied' -- /etc/passwd
refused "a missing directory" 'PMIX_ERR_JOB_WDIR_NOT_FOUND' 'cannot enter the directory /nodir' cwd=/nodir
refused "a directory that may not be entered" 'PMIX_ERR_NO_PERMISSIONS' 'cannot enter the directory /root' cwd=/root
refused "more than the allocation has" 'PMIX_ERR_OUT_OF_RESOURCE' 'find no room' count=100
refused "a host of another allocation" 'PMIX_ERR_NOT_FOUND' 'n9 is not in the allocation' pmix.host=n9
refused "PMIX_ADD_HOST of another one" 'PMIX_ERR_JOB_ALLOC_FAILED' 'no host can be added' pmix.addhost=n9
refused "a required directive that is not known" 'PMIX_ERR_NOT_SUPPORTED' 'my.own is required' "'my.own!=yes'"
refused "a required directive that is not supported" 'PMIX_ERR_NOT_SUPPORTED' 'PMIX_PRELOAD_BIN' "'pmix.preloadbin!=yes'"
refused "an agent that is not there" 'PMIX_ERR_JOB_EXE_NOT_FOUND' 'cannot execute /no/agent' pmix.fe.agnt=/no/agent -- /bin/true
refused "an agent of a program that is not there" 'PMIX_ERR_JOB_EXE_NOT_FOUND' 'cannot execute /no/such' \
    "pmix.fe.agnt=$agent" -- /no/such
refused "an agent of a directory" 'PMIX_ERR_JOB_APP_NOT_EXECUTABLE' 'cannot execute /usr: Permission denied' \
    "pmix.fe.agnt=$agent" -- /usr
refused "two kinds of agent" 'PMIX_ERR_BAD_PARAM' 'cannot be started by two agents' "pmix.fe.agnt=$agent" pmix.exec.agnt=/usr/bin/env
mkdir -p "${PMIXHOST_CONFIG_FILE%/*}"
printf '[tools]\nenabled = "off"\n' >"$PMIXHOST_CONFIG_FILE"
chmod 644 "$PMIXHOST_CONFIG_FILE"
refused "an agent where there are no tools" 'PMIX_ERR_NOT_SUPPORTED' 'tools are switched off \(tools\.enabled\)' \
    "pmix.fe.agnt=$agent" -- /bin/true
printf '[tools]\nmax_connections = 1\n' >"$PMIXHOST_CONFIG_FILE"
refused "more agents than a host lets tools in" 'PMIX_ERR_NOT_SUPPORTED' 'takes 1 \(tools\.max_connections\)' \
    count=2 "pmix.fe.agnt=$agent" -- /bin/true
rm -f "$PMIXHOST_CONFIG_FILE"
refused "PMIX_LAUNCHER_DAEMON" 'PMIX_ERR_NOT_SUPPORTED' 'PMIX_LAUNCHER_DAEMON is not supported' pmix.lnch.dmn=/bin/true
refused "a required PMIX_FWD_STDDIAG" 'PMIX_ERR_NOT_SUPPORTED' 'PMIX_FWD_STDDIAG' "'pmix.fwd.stddiag!=yes'"
in_allocation -N1 -n2 -- '$R -n1 $S "pmix.fwd.stdin!=no" "pmix.preloadbin!=no"'
ok "what is required not to be, is not" passed
in_allocation -N1 -n2 -- '$R -n1 $S my.own=yes'
ok "the same, not required, is ignored" passed
in_allocation -N1 -n2 -- "\$R -n1 \$S status=ERROR cwd=/nodir; \$R -n1 \$S"
ok "a step that starts afterwards can spawn" eval '[[ $(children) == 1 ]]'

# --- MPI

if [[ -x $PMIXHOST_CLIENTS/mpi_spawn ]]; then
    # UCX looks past network namespaces
    export UCX_TLS=tcp,self OMPI_MCA_mpi_yield_when_idle=1
    in_allocation -N3 --ntasks-per-node=4 -- "\$R -N1 -n1 $PMIXHOST_CLIENTS/mpi_spawn 2"
    ok "MPI_Comm_spawn, and MPI_Comm_spawn_multiple after it" \
        eval 'passed && [[ $(grep -c "^child [12] of 3" <<<"$output") == 4 ]]'
    in_allocation -N3 --ntasks-per-node=4 -- "\$R -N2 -n2 $PMIXHOST_CLIENTS/mpi_spawn 8"
    ok "MPI_Comm_spawn of 8 by two ranks on two hosts" \
        eval 'passed && [[ $(grep -c "^child [2-9] of 10" <<<"$output") == 8 ]]'
else
    skip "MPI_Comm_spawn, and MPI_Comm_spawn_multiple after it" "there was no mpicc"
    skip "MPI_Comm_spawn of 8 by two ranks on two hosts" "there was no mpicc"
fi
if /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
    cat >"$test_dir/pool.py" <<'PY'
from mpi4py.futures import MPIPoolExecutor
def square(x):
    return x * x
if __name__ == "__main__":
    with MPIPoolExecutor(5) as pool:
        print("sum", sum(pool.map(square, range(20))), flush=True)
PY
    in_allocation -N3 --ntasks-per-node=2 -- "\$R -N1 -n1 /usr/bin/python3 $test_dir/pool.py"
    like "MPIPoolExecutor of mpi4py" "$output" 'sum 2470'
    in_allocation -N3 --ntasks-per-node=2 -- "\$R -N1 -n1 /usr/bin/python3 -m mpi4py.futures $test_dir/pool.py"
    like "python3 -m mpi4py.futures" "$output" 'sum 2470'
else
    skip "MPIPoolExecutor of mpi4py" "no mpi4py"
    skip "python3 -m mpi4py.futures" "no mpi4py"
fi

# --- ends

in_allocation -N2 -n4 -- '$R -n1 $S quit -- /bin/sh -c "sleep 1; echo the last word"'
like "children go on when the parent has ended well, and srun waits" "$output" 'the last word'

# What ends a step whose children sleep for an hour, while the parent waits.
spawn_and_wait="$spawn keep"
ended_in_time() { [[ -z $too_late ]]; }
# Slurm looks every 30 s, and gives KillWait on top; the parent's own alarm comes later than the limit here.
# It has until the other ends have been seen.
time_limit() {
    TEST_LIMIT=150 run salloc -Q -N2 -n4 bash -c "srun $mpi -n1 -N1 $spawn_and_wait pmix.mapby=node count=2 -- /bin/sleep 3600 & srun=\$!
        until squeue -h -s -j \$SLURM_JOB_ID | grep -q sleep; do sleep 0.1; done
        echo \$SLURM_JOB_ID >$test_dir/running; wait \$srun"
    ended_in_time
}
time_limit &
job=$!
ok "a job whose time will be up runs" until_true 60 test -s "$test_dir/running"
[[ ! -s $test_dir/running ]] ||
    as_user root scontrol update "jobid=$(cat "$test_dir/running")" EndTime=now+1
ended_by() {
    run salloc -Q -N2 -n4 bash -c "
        srun $mpi -n1 -N1 $spawn_and_wait pmix.mapby=node count=2 -- /bin/sleep 3600 & srun=\$!
        until squeue -h -s -j \$SLURM_JOB_ID | grep -q sleep; do sleep 0.1; done
        $2
        wait \$srun
        for i in {1..150}; do
            squeue -h -s -j \$SLURM_JOB_ID | grep -q sleep || exit 0
            sleep 0.1
        done
        echo the children run on; exit 1"
    ok "$1" passed
}
ended_by "scancel of the parent's step takes the children along" 'scancel $SLURM_JOB_ID.0'
ended_by "SIGTERM to srun takes the children along" 'kill -TERM $srun'
ended_by "the end of srun by SIGKILL takes the children along" 'kill -KILL $srun'
run salloc -Q -N2 -n4 bash -c "setsid -w srun $mpi -n1 -N1 $spawn_and_wait pmix.mapby=node count=2 -- /bin/sleep 3600 & 
    until squeue -h -s -j \$SLURM_JOB_ID | grep -q sleep; do sleep 0.1; done
    group=\$! # setsid has become srun
    for try in {1..5}; do
        kill -INT -- -\$group; sleep 0.3; kill -INT -- -\$group
        for i in {1..50}; do kill -0 \$group || break 2; sleep 0.1; done
    done 2>/dev/null # on a busy machine two may come as one, or too far apart
    wait
    for i in {1..150}; do squeue -h -s -j \$SLURM_JOB_ID | grep -q sleep || exit 0; sleep 0.1; done; exit 1"
ok "Ctrl-C takes the children along" passed
ok "the one whose time is up ends before the test's own limit" wait "$job"
ok "a time limit takes the children along" until_true 60 no_jobs
run_srun -n1 "$spawn" keep abort -- /bin/sleep 3600
ok "an abort of the parent takes the children along" failed
like "its exit code is srun's" "$status" '^7$'

ok "nothing is left on any host" no_litter 20
done_testing
