# shellcheck shell=bash
# The words of the fault tests, beside those of test/e2e: pmixuser1 is the victim, whose job runs;
# pmixuser2 is the stranger, with an account on all hosts.
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/common/words.sh"

strangers=$PMIXHOST_BUILD/test/fault
victims_log=$test_dir/log # one file per daemon
chmod 1777 "$test_dir"
mkdir -p "$victims_log"
chmod 1777 "$victims_log"

# ----------------------------------------------------------------------------- on either backend

if [[ $backend == slurm ]]; then
    victim=60001 stranger=60002
    attacked_hosts() { hosts_of_cluster; }
    as_stranger() { # HOST COMMAND ...
        local host=$1
        shift
        "${on_cluster[@]}" --user pmixuser2 --host "$host" -- timeout 100 "$@" 2>&1
    }
    as_root() { # HOST COMMAND ...
        on_host "$@"
    }
    all_hosts() { echo head; hosts_of_cluster; }
else
    # The local backend needs no accounts. These uids are not those of the cluster's users, since whose daemons are
    # whose is seen by their uid.
    victim=60101 stranger=60102
    attacked_hosts() { echo here; }
    as_stranger() { # HOST COMMAND ...
        shift
        setpriv --reuid "$stranger" --regid "$stranger" --clear-groups --inh-caps=-all timeout 100 "$@" 2>&1
    }
    as_root() { # HOST COMMAND ...
        shift
        "$@"
    }
    all_hosts() { echo here; }
    printf '#!/bin/sh\nexec setpriv --reuid %s --regid %s --clear-groups --inh-caps=-all env HOME=%s %s "$@"\n' \
        "$victim" "$victim" "$test_dir" "$PMIXHOST_RUN" >"$test_dir/run"
    chmod 755 "$test_dir/run"
    PMIXHOST_RUN=$test_dir/run
fi

# attack HOST WORD ...: the stranger's program there; sets $said and prints nothing.
said=
attack() {
    local host=$1
    shift
    said=$(as_stranger "$host" "$strangers/stranger" "$@") || true
}

# nothing_came DESCRIPTION HOST WORD ...: it attacks and no byte comes back. That each connection could be
# made is part of the result: a stranger who reaches nobody proves nothing.
nothing_came() {
    local description=$1
    shift
    attack "$@"
    like "$description" "$said" '^tried [0-9]+: 0 refused, [0-9]+ closed, [0-9]+ open to the end, 0 answered'
}

# The victim's daemons on HOST: servers, not their supervisors, which have no sockets.
daemons() { # HOST
    as_root "$1" sh -c 'for p in $(pgrep -x pmixhostd -u "$0"); do
        [ -z "$(pgrep -x pmixhostd -P $p)" ] && echo $p; done' "$victim"
}

# The ports that daemons of the victim listen at on HOST, "ADDRESS:PORT" each.
ports() { # HOST
    as_root "$1" ss -Hltnp | grep -E "$(daemons "$1" | sed 's/.*/pid=&,/' | paste -sd '|' || true)" |
        grep pmixhostd | awk '{print $4}' | sed -E 's/^\*:/0.0.0.0:/; s/^\[?(::ffff:)?([^]]*)\]?:([0-9]+)$/\2:\3/; s/^0\.0\.0\.0:/127.0.0.1:/; s/^:::/::1:/' |
        sort -u
}

# KiB and descriptors of each of the victim's daemons on all hosts: "HOST PID KIB DESCRIPTORS".
sizes() {
    local host
    for host in $(all_hosts); do
        as_root "$host" sh -c 'for p in $(pgrep -x pmixhostd -u "$1"); do
            kib=$(awk "/^VmRSS/ {print \$2}" /proc/$p/status 2>/dev/null) || continue
            echo "$0 $p ${kib:-0} $(ls /proc/$p/fd 2>/dev/null | wc -l)"; done' "$host" "$victim"
    done
}

# has_grown BEFORE AFTER KIB DESCRIPTORS: prints the daemons that are more than so much bigger after than
# before, and those that are gone.
has_grown() {
    awk -v kib="$3" -v fds="$4" 'NR == FNR { k[$1 " " $2] = $3; f[$1 " " $2] = $4; next }
        { seen[$1 " " $2] = 1 }
        ($1 " " $2) in k && ($3 - k[$1 " " $2] > kib || $4 - f[$1 " " $2] > fds) {
            print $0, "was", k[$1 " " $2], f[$1 " " $2] }
        END { for (d in k) if (!(d in seen)) print d, "is gone" }' <(echo "$1") <(echo "$2")
}

zombies() { # processes of the victim that nobody waits for, of daemons
    local host
    for host in $(all_hosts); do
        as_root "$host" ps -eo stat=,comm=,uid= | awk -v u="$victim" '$1 ~ /^Z/ && $2 ~ /^pmixhost/ && $3 == u'
    done
}

log_lines() { cat "$victims_log"/* 2>/dev/null | wc -l; }

# The median of the numbers on standard input.
median() { sort -n | awk '{n[NR] = $1} END {print NR % 2 ? n[(NR + 1) / 2] : (n[NR / 2] + n[NR / 2 + 1]) / 2}'; }
milliseconds() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# --------------------------------------------------------------------------- a job under attack

out=$test_dir/out
job_pid=
# begin_job HOSTS RANKS-PER-HOST PROGRAM [ARGUMENT ...]: as "job", but does not wait; prints into $out.
begin_job() {
    local hosts=$1 per=$2
    shift 2
    : >"$out"
    if [[ $backend == slurm ]]; then
        (cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user pmixuser1 -- \
            srun "$mpi" -O -N "$hosts" -n $((hosts * per)) "$@") >"$out" 2>&1 </dev/null &
    else
        (cd "$test_dir" && exec timeout -k 5 500 "$PMIXHOST_RUN" run --hosts "$hosts" -n $((hosts * per)) \
            "${job_options[@]}" "$@") >"$out" 2>&1 </dev/null &
    fi
    job_pid=$!
}
end_job() {
    if [[ $backend == slurm ]]; then as_user root scancel --user=pmixuser1; else kill "$job_pid"; fi
    wait "$job_pid"
}
job_runs() { kill -0 "$job_pid"; }

# steal_environment HOST PROGRAM: of a task that runs PROGRAM, as one may find it in a careless user's
# output; into $test_dir/stolen.
steal_environment() {
    # shellcheck disable=SC2016 # for the inner shell
    as_root "$1" sh -c 'cat "/proc/$(pgrep -x "$0" -u "$1" | head -n 1)/environ"' "$2" "$victim" | tr '\0' '\n' |
        grep -E '^PMIX|^SLURM' >"$test_dir/stolen"
    chmod 644 "$test_dir/stolen"
}
stolen() { sed -n "s/^$1=//p" "$test_dir/stolen"; }

# disguised HOST PROGRAM [ARGUMENT ...]: what libpmix' own client does with that environment, only that
# it takes itself for the victim.
disguised() {
    local host=$1
    shift
    # shellcheck disable=SC2016 # for the inner shell
    as_stranger "$host" sh -c 'while IFS= read -r l; do export "$l"; done <"$1"; shift
        export PMIX_MCA_psec=native CLIENT_LIMIT=15 CLAIM_UID='"$victim CLAIM_GID=$victim"'
        LD_PRELOAD="$1"; export LD_PRELOAD; shift; exec "$@"' \
        sh "$test_dir/stolen" "$strangers/.libs/claim_uid.so" "$@"
}
disguised_is_kept_out() { # HOST
    local said
    said=$(disguised "$1" "$clients/hello")
    output=$said
    unlike "a libpmix client that says it is the victim's rank does not get through PMIx_Init" "$said" \
        $'(^|\n)(ok|rank) [0-9]+'
    said=$(disguised "$1" "$clients/spawn" rank=all quit pmix.mapby=node:oversubscribe -- \
        /bin/touch "$test_dir/was-here")
    output=$said
    unlike "and spawns nothing" "$said" $'(^|\n)spawned'
    ok "nothing ran in the victim's name" eval '! until_true 2 test -e "$test_dir/was-here"'
}

# begin_siege WORD ...: strangers on all compute hosts go for whatever the victim listens at there, from
# the moment when it is there, but for Slurm's own sockets of srun (run-slurm).
sieges=()
besiegers=0 # connections that were tried in the sieges up to now
begin_siege() {
    local host
    sieges=()
    rm -f "$test_dir/relieved" "$test_dir"/ready.*
    for host in $(attacked_hosts); do
        as_stranger "$host" "$strangers/stranger" "uid:$victim" victim="$victim" \
            but="${PMIXHOST_SRUN_PORTS:-1-0}" \
            until="$test_dir/relieved" ready="$test_dir/ready.$host" "$@" >"$test_dir/siege.$host" 2>&1 &
        sieges+=($!)
    done
    until_true 30 laid
}
laid() { [[ $(compgen -G "$test_dir/ready.*" | wc -l) == "${#sieges[@]}" ]]; }
end_siege() {
    : >"$test_dir/relieved"
    wait "${sieges[@]}" 2>/dev/null
    sieges=()
    besiegers=$((besiegers + $(cat "$test_dir"/siege.* | sed -n 's/^tried \([0-9]*\):.*/\1/p' | paste -sd +)))
}

# took FILE HOSTS RANKS-PER-HOST: appends the time of a job that only starts and ends, in ms.
took() {
    local begin
    begin=$(milliseconds)
    client "$2" "$3" hello
    echo $(($(milliseconds) - begin)) >>"$1"
    all_ok $(($2 * $3))
}

# starts_in_time HOSTS RANKS-PER-HOST: by turns alone and under either siege, so that a machine whose
# speed changes is as fast for each.
starts_in_time() {
    local bad=0 alone besieged silent
    : >"$test_dir/alone" >"$test_dir/besieged" >"$test_dir/silent"
    client "$1" "$2" hello # nobody's first time counts
    for _ in 1 2 3 4 5; do
        took "$test_dir/alone" "$1" "$2" || bad=$((bad + 1))
        begin_siege mode=all seconds=90 at_once=64 pace=100 wait=20
        took "$test_dir/besieged" "$1" "$2" || bad=$((bad + 1))
        end_siege
        begin_siege mode=silent seconds=90 at_once=300 pace=300 wait=60
        took "$test_dir/silent" "$1" "$2" || bad=$((bad + 1))
        end_siege
    done
    ok "strangers came while jobs started" test "$besiegers" -gt 100
    echo "# they came $besiegers times"
    is "of five jobs alone and ten under siege all end well" "$bad" 0
    alone=$(median <"$test_dir/alone")
    besieged=$(median <"$test_dir/besieged") silent=$(median <"$test_dir/silent")
    echo "# start to end: alone $alone ms, besieged $besieged ms, by silent ones $silent ms"
    ok "under siege a job starts and ends within twice the time that it takes alone" \
        test "${besieged%.*}" -le $((2 * ${alone%.*} + 1000))
    ok "so it does when 300 connections of a host say nothing" test "${silent%.*}" -le $((2 * ${alone%.*} + 1000))
}
