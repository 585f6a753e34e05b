# Jobs whose tasks write and read as they are told, and tools that follow them (clients/io_tool.c): what the tests of
# I/O forwarding share. After common/words.sh, on Slurm.
# shellcheck shell=bash disable=SC2034,SC2154 # variables of the tests

pmixhost=$PMIXHOST_BUILD/tools/pmixhost log=$test_dir/daemons.log task=$test_dir/task data=$test_dir/data
logged=('[log]' "file = \"$log\"" 'level = "info"')
ranks=(0 1 2 3 4 5 6 7)

# --- what the jobs do and write ----------------------------------------------------------------------

# task STEP ...: a program of the jobs. The files are in the directory it runs in.
cat >"$task" <<'TASK'
#!/bin/bash
me=$SLURM_PROCID
wait_for() { until [[ -e $1 ]]; do sleep 0.05; done; }
for step; do
    argument=${step#*=}
    case $step in
        there) : >"there.$me" ;;
        await=*) wait_for "${argument/\%t/$me}" ;;
        write=*) # FILES: FILES.out.RANK and FILES.err.RANK, at once
            cat "$argument.err.$me" >&2 &
            cat "$argument.out.$me"
            wait
            ;;
        lines=*) for ((i = 0; i < 50; i++)); do echo "$argument $me $i"; done ;;
        much=*) yes "$(printf %099d 0)" | head -c "$argument" ;; # srun manages 2.6 MB a second of lines like y
        steps=*) # a hundred lines of a hundred bytes, one after the other
            python3 -c 'import sys, time
for i in range(100):
    print(f"{sys.argv[1]} {sys.argv[2]} {i} ".ljust(99, "."), flush=True)
    time.sleep(0.01)' "$argument" "$me"
            ;;
        wrote) : >"wrote.$me" ;;
        closes) exec >&- 2>&- ;;
        read)
            cat >"read.$me"
            : >"ended.$me"
            ;;
        slowly)
            python3 -c 'import os, time
while piece := os.read(0, 20000):
    os.write(1, piece)
    time.sleep(0.002)' >"read.$me"
            : >"ended.$me"
            ;;
        code=*) exit "$argument" ;;
        brief=*) # of each two tasks the second one writes and ends
            ((me % 2 == 0)) || exec cat "$argument"
            ;;
    esac
done
TASK
chmod 755 "$task"
mkdir "$data"
# text: lines; bytes: any bytes (slurmstepd keeps a line without its end until the task ends); early: less than a daemon
# keeps (TaskStreams); brief: a last line without its end.
python3 - "$data" <<'MAKE'
import random, sys
some = random.Random(66)
for rank in range(8):
    for channel in ("out", "err"):
        def put(name, content):
            open(f"{sys.argv[1]}/{name}.{channel}.{rank}", "wb").write(content)
        lines = "".join(f"{channel} {rank} {i:05} {'x' * some.randrange(120)}\n" for i in range(2700))
        put("text", lines.encode())
        put("bytes", some.randbytes(200_000) + b"\n")
        put("early", f"early {channel} of {rank}\n".encode() * 40)
        put("brief", some.randbytes(4000) + b"no end of line")
MAKE
chmod -R a+rX "$data"
size_of() { cat "$@" | wc -c; }

# --- jobs and tools ----------------------------------------------------------------------------------

# start NAME SRUN-ARGUMENT ...: a job in the background, in a directory of its own ($dir), its output in out and err
# there and its standard input that of the caller; $job, $nspace and $job_pid are set.
start() {
    until_true 30 none_clears_up # what still clears up is not given to this job
    dir=$test_dir/$1
    mkdir -m 1777 "$dir"
    : >"$log"
    chmod 666 "$log"
    (cd "$dir" && exec timeout -k 5 100 "${on_cluster[@]}" --user pmixuser1 -- srun "$mpi" -J "$1" "${@:2}") \
        >"$dir/out" 2>"$dir/err" <&0 9>&- &
    job_pid=$!
}
all_there() { # COUNT
    (($(find "$dir" -name 'there.*' | wc -l) == $1))
}
# running COUNT: the job that was started has so many tasks, which run.
running() {
    ok "${dir##*/}: the job runs" until_true 40 all_there "$1"
    job=$(as_user root squeue -h -n "${dir##*/}" -o %i)
    nspace=slurm.$job.0
}
make_file() { : >"$dir/$1"; }
# beside HOSTS TASKS: a job that no tool follows, which ends together with the one that was started last. How long its
# srun takes ($plain_end, in ms) is what a job takes on a machine that is just as busy.
beside_pid=
beside() {
    local hosts=$1 tasks=$2 followed=$dir dir=$dir-beside
    mkdir -m 1777 "$dir"
    (
        cd "$dir" && timeout -k 5 100 "${on_cluster[@]}" --user pmixuser1 -- \
            srun "$mpi" -J "${dir##*/}" -N"$hosts" -n"$tasks" "$task" there await=end
        echo "${EPOCHREALTIME/[.,]/}" >"$dir/over"
    ) >"$dir/out" 2>&1 </dev/null 9>&- &
    beside_pid=$!
    ok "${followed##*/}: so does one beside it without a tool" until_true 40 all_there "$tasks"
}
end() { # sets $code, and $end_ms, how long srun took
    local begin=${EPOCHREALTIME/[.,]/}
    make_file end
    [[ -z $beside_pid ]] || : >"$dir-beside/end"
    code=0
    wait "$job_pid" || code=$?
    end_ms=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
    [[ -n $beside_pid ]] || return 0
    wait "$beside_pid"
    plain_end=$((($(<"$dir-beside/over") - begin) / 1000))
    beside_pid=
}
# as_soon DESCRIPTION: after end. A reader of which slurmstepd waits in vain for an answer delays srun's end by more than
# two seconds (plugins/slurm/shim/attach_output.h); a job without one takes $plain_end.
as_soon() {
    diag "srun ended after $end_ms ms, without a tool after $plain_end ms"
    ok "$1" test "$end_ms" -lt $((plain_end + 1500))
}
# at HOST COMMAND ...: a command of the job's user
at() { (cd "$dir" && exec timeout -k 5 60 "${on_cluster[@]}" --user pmixuser1 --host "$1" -- "${@:2}" 2>&1); }
tool() { at "$1" "$clients/io_tool" "$nspace" "${@:2}"; } # HOST WORD ...
# follow NAME HOST WORD ...: a tool in the background; what it says is in NAME.said.
declare -A tools=()
follow() {
    : >"$dir/$1.said"
    tool "${@:2}" >"$dir/$1.said" 2>/dev/null & # what the shell says of one that is killed
    tools[$1]=$!
}
said() { grep -q "^$2" "$dir/$1.said"; } # NAME TEXT
said_number() { sed -n "s/^$2 //p" "$dir/$1.said"; } # NAME WORD
has_said() { until_true "${3:-30}" said "$1" "$2" || { diag "$1 has said: $(tail -n 20 "$dir/$1.said")"; false; }; }
over() { wait "${tools[$1]}"; } # NAME
# same DIRECTORY FILES ...: a tool has what all ranks wrote, byte for byte, of FILES one after the other.
same() {
    local into=$1 rank channel
    shift
    for rank in "${ranks[@]}"; do
        for channel in out err; do
            cmp "$dir/$into/$rank.$channel" <(for files; do cat "$data/$files.$channel.$rank"; done) || return 1
        done
    done 2>&1 | sed 's/^/# /'
    ((PIPESTATUS[0] == 0))
}
srun_has() { (($(size_of "$dir/out") == $1)); } # BYTES
h1=$(host_name 1) h2=$(host_name 2) h3=$(host_name 3) h4=$(host_name 4)
# largest_daemon HOST ...: the most KiB that a daemon of theirs has had
largest_daemon() {
    local host
    for host; do
        # shellcheck disable=SC2016 # for the shell there
        on_host "$host" bash -c 'for pid in $(pgrep -x pmixhostd); do cat /proc/$pid/status; done' || true
    done | awk '$1 == "VmHWM:" && $2 > most {most = $2} END {print most + 0}'
}
# stopped_and_killed KIB: a tool that is stopped in the middle, as by Ctrl-Z, and then killed; no daemon grows by so much, and the job
# ends as soon as one without it.
stopped_and_killed() {
    local before most limit=$1
    start halted -N2 -n2 "$task" there await=go much=15000000 wrote await=end </dev/null
    running 2
    beside 2 2
    follow tool "$h1" pull pulled all out bytes 2000000 hold "$dir/never"
    ok "a tool reads" has_said tool 'pull: PMIX_SUCCESS'
    before=$(largest_daemon "$h1" "$h2")
    make_file go
    ok "and is stopped" eval 'has_said tool got && on_host "$h1" pkill -STOP -x io_tool'
    ok "the job with it writes on" until_true 60 eval '(($(find "$dir" -name "wrote.*" | wc -l) == 2))'
    ok "srun has all" until_true 30 srun_has 30000000
    on_host "$h1" pkill -KILL -x io_tool
    pkill -CONT -x nsenter # one stops when what it runs does, and would not see its end
    over tool 2>/dev/null
    most=$(largest_daemon "$h1" "$h2")
    ok "no daemon grew" eval '((before > 1000 && most < before + limit))'
    end
    is "it ends as ever" "$code" 0
    as_soon "in time"
}
