# shellcheck shell=bash
# The words in which the end-to-end tests are written. A test is a script that sources this file,
# says "plan N" or ends with "done_testing", and prints TAP through "ok", "is", "like" and "skip".
#
# For the tests on a real cluster (test/e2e/slurm), which run-slurm starts with this environment:
#   PMIXHOST_CLUSTER, PMIXHOST_CLUSTER_DIR   the cluster script and its --dir
#   PMIXHOST_SOURCE, PMIXHOST_BUILD          the trees
#   PMIXHOST_CLIENTS                         the directory of the compiled clients
#   PMIXHOST_CONFIG_FILE                     where the daemons look for pmixhost.conf; there is none
# Every command on the cluster runs under a time limit, as an ordinary user unless said otherwise.

set -uo pipefail

TEST_LIMIT=${TEST_LIMIT:-60} # seconds that one command on the cluster may take
TEST_USER=${TEST_USER:-pmixuser1}
output=      # what the last command on the cluster printed, both streams
status=0     # and its exit code
too_late=    # yes when it took too long and was ended
test_count=0
test_plan=
test_failures=0

plan() { # N
    test_plan=$1
    echo "1..$1"
}

done_testing() { plan "$test_count"; }

# Ends all jobs, waits until they are gone, and takes back what the controller holds against nodes: the next script is
# judged by itself. What does not go is shown, with who traces it: that is the fault to be found.
free_the_nodes() {
    local slurm=(as_user root timeout -k 5 30) host held
    "${slurm[@]}" scancel --user="$TEST_USER" >/dev/null 2>&1 </dev/null || true
    if ! until_true 60 no_jobs; then
        diag "left after scancel: $("${slurm[@]}" squeue -h -o '%i %j %T %N' 2>&1 </dev/null)"
        for host in $(hosts_of_cluster); do
            diag "on $host: $(on_host "$host" ps -eo pid,ppid,pgid,user,stat,wchan:20,args 2>&1 </dev/null | grep -v ' \[' | tail -n 40)"
            diag "traced there: $(on_host "$host" sh -c 'grep -H "^TracerPid:.*[1-9]" /proc/[0-9]*/status' 2>/dev/null </dev/null)"
        done
    fi
    held=$("${slurm[@]}" sinfo -h -N -t drain,down -o %N 2>/dev/null </dev/null | sort -u | paste -sd,)
    if [[ -n $held ]]; then
        diag "not to be used, and taken back: $held: $("${slurm[@]}" sinfo -h -R 2>&1 </dev/null)"
        "${slurm[@]}" scontrol update nodename="$held" state=resume >/dev/null 2>&1 </dev/null || true
    fi
}
no_jobs() { [[ -z $(as_user root timeout -k 5 30 squeue -h -u "$TEST_USER" 2>/dev/null </dev/null) ]]; }

# A script that ends early must not look like one that was content. What has failed may have left jobs, for which those
# of the scripts after it would wait.
test_end() {
    local code=$?
    if [[ -n ${PMIXHOST_CLUSTER_DIR:-} ]] && ((code != 0 || test_failures > 0)); then
        free_the_nodes
    fi
    if [[ $test_plan != "$test_count" ]]; then
        echo "# the script ended after $test_count tests with exit code $code, its plan was: ${test_plan:-none}"
        exit 1
    fi
    ((test_failures == 0)) || exit 1
}
trap test_end EXIT

diag() { echo "#   ${*//$'\n'/$'\n'#   }"; }

# Tests that are known not to work yet are listed in the file not-yet, and those that do not on one release of Debian
# in not-yet.NAME, "SCRIPT: DESCRIPTION<TAB>REASON" each; the failure of such a test is TAP's TODO. Prints the reason;
# false when the test is not listed.
not_yet_files=("${BASH_SOURCE[0]%/*}/not-yet")
release_file=${not_yet_files[0]}.$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
[[ ! -f $release_file ]] || not_yet_files+=("$release_file")
not_yet_reason() { # DESCRIPTION
    local script=${0##*/} entry reason
    while IFS=$'\t' read -r entry reason; do
        [[ $entry != "${script%.sh}: $1" ]] || { echo "$reason"; return 0; }
    done < <(cat "${not_yet_files[@]}")
    return 1
}

# patience DESCRIPTION SECONDS: prints how long that test waits for what is to come: SECONDS, which are for a machine
# that is busy, or few of them when the test is known not to work yet, since nothing comes then.
patience() {
    local seconds=$2
    ! not_yet_reason "$1" >/dev/null || ((seconds <= 5)) || seconds=5
    echo "$seconds"
}

test_result() { # STATUS DESCRIPTION
    local reason
    test_count=$((test_count + 1))
    if (($1 == 0)); then
        echo "ok $test_count - $2"
    elif reason=$(not_yet_reason "$2"); then
        echo "not ok $test_count - $2 # TODO $reason"
    else
        test_failures=$((test_failures + 1))
        echo "not ok $test_count - $2"
    fi
    return "$1"
}

# ok DESCRIPTION COMMAND ...: COMMAND succeeds. When not, shows what it put into $why, the last output, and where what took
# too long stood.
why='' stood_at=''
ok() {
    local description=$1 result=0
    shift
    why=
    "$@" || result=1
    test_result "$result" "$description" && return
    diag "failed: $*"
    [[ -z $why ]] || diag "$(head -n 120 <<<"$why")"
    diag "the last command on the cluster: exit code $status, output:"
    diag "$(head -n 60 <<<"$output")"
    [[ -z $stood_at ]] || diag "where its processes stood:"$'\n'"$(head -n 400 <<<"$stood_at")"
    return 1
}

is() { # DESCRIPTION GOT WANTED
    test_result "$([[ $2 == "$3" ]]; echo $?)" "$1" && return
    diag "got:"
    diag "$2"
    diag "wanted:"
    diag "$3"
    if ((status != 0)) && [[ $2 != "$output" ]]; then
        diag "the last command on the cluster: exit code $status, output:"
        diag "$(head -n 60 <<<"$output")"
    fi
    return 1
}

like() { # DESCRIPTION GOT EXTENDED-REGEX
    test_result "$([[ $2 =~ $3 ]]; echo $?)" "$1" && return
    diag "got:"
    diag "$(head -n 60 <<<"$2")"
    diag "wanted something like: $3"
    return 1
}

unlike() { # DESCRIPTION GOT EXTENDED-REGEX
    test_result "$([[ ! $2 =~ $3 ]]; echo $?)" "$1" && return
    diag "got:"
    diag "$(head -n 60 <<<"$2")"
    diag "wanted nothing like: $3"
    return 1
}

skip() { # DESCRIPTION REASON
    test_count=$((test_count + 1))
    echo "ok $test_count - $1 # SKIP $2"
}

# until_true SECONDS COMMAND ...: polls a condition; false when it did not come true in time.
until_true() {
    local deadline=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
    shift
    until "$@"; do
        ((${EPOCHREALTIME/[.,]/} < deadline)) || return 1
        sleep 0.1
    done
}

# The test's own variables would only confuse the program under test.
on_cluster=(env -u PMIXHOST_BUILD -u PMIXHOST_SOURCE -u PMIXHOST_CLIENTS -u PMIXHOST_CLUSTER
    -u PMIXHOST_CLUSTER_DIR -u PMIXHOST_CONFIG_FILE
    "${PMIXHOST_CLUSTER:-}" exec --dir "${PMIXHOST_CLUSTER_DIR:-}")

# on_host HOST COMMAND ...: as root, without limit or capture; for looking at a host.
on_host() {
    local host=$1
    shift
    "${on_cluster[@]}" --host "$host" -- "$@"
}

# as_user USER COMMAND ...: on the login host, in the current directory
as_user() {
    local user=$1
    shift
    "${on_cluster[@]}" --user "$user" -- "$@"
}

# run COMMAND ...: on the login host as $TEST_USER, from the directory $test_dir; sets $output and
# $status. What takes too long is ended, with its jobs, so that the next test finds free hosts.
run() {
    local begin=$SECONDS watcher stood=$test_dir/stood.$BASHPID
    status=0 too_late=
    where_they_stand $((TEST_LIMIT - 10 - TEST_LIMIT / 10)) >"$stood" 2>&1 &
    watcher=$!
    output=$(cd "$test_dir" && timeout -k 5 "$TEST_LIMIT" \
        "${on_cluster[@]}" --user "$TEST_USER" -- "$@" 2>&1 </dev/null) || status=$?
    kill "$watcher" 2>/dev/null && wait "$watcher" 2>/dev/null
    stood_at=$(cat "$stood")
    rm -f "$stood"
    # what Slurm's scheduler says of a job whose hosts still clear up behind another one: no test means it
    [[ $output != *" queued and waiting for resources"* ]] || output=$(LC_ALL=C sed -E \
        '/^(srun|salloc): job [0-9]+ (queued and waiting for|has been allocated) resources$/d' <<<"$output")
    # 137 alone says nothing: it is srun's own code for a task that was killed
    if ((SECONDS - begin >= TEST_LIMIT && (status == 124 || status == 137))); then
        too_late=yes
        output+=$'\n'"(ended after $TEST_LIMIT s)"
        end_jobs
    fi
    return 0
}

# The lines of evidence that tell the most, as an expression of grep.
telling='^load|found: |traced by|^thread |state: |waits in|^calls of|^  #[0-9] |unread'
# where_they_stand SECONDS: then, where the test's processes and their daemons stand on each host: when what takes too
# long has been ended, nobody can tell any more what it waited for. In a process of its own, which is ended before then if
# all goes well. What has had its limit and does not even end (an srun that waits for a step which cannot be killed) is
# killed: "run" waits for whatever has its output.
where_they_stand() {
    local never host
    (($1 >= 20)) || return 0
    exec {never}<> <(:)
    ! read -rt "$1" -u "$never" || return 0
    for host in $(hosts_of_cluster); do
        # shellcheck disable=SC2016 # for the shell inside
        on_host "$host" bash -c '
            for process in $(pgrep -u "$2" | grep -vxF "$(pgrep pmixhostd)") $(pgrep -u "$2" pmixhostd); do
                echo "$3, process $process: $(tr "\0" " " <"/proc/$process/cmdline" | cut -c 1-160)"
                timeout -k 2 8 "$1" pid="$process" | grep -E "$4" | cut -c 1-140 | head -n 60
            done' stand "$PMIXHOST_BUILD/inst/libexec/pmixhost/pmixhost-evidence" "$TEST_USER" "$host" "$telling" 2>/dev/null </dev/null
    done
    read -rt $((TEST_LIMIT - $1 + 20)) -u "$never" || on_host head pkill -KILL -u "$TEST_USER"
}

# TEST_MPI names another plugin to run the same tests with, to see what is Slurm's doing and what ours.
mpi=--mpi=${TEST_MPI:-pmixhost}
run_srun() { run srun "$mpi" "$@"; }

no_jobs() { [[ -z $(as_user root squeue -h 2>&1) ]]; }

end_jobs() {
    as_user root scancel -s KILL --user=pmixuser1 --user=pmixuser2 2>/dev/null || true
    as_user root bash -c 'squeue -h -o %i | xargs -r scancel' 2>/dev/null || true
    until_true 40 no_jobs || echo "# jobs do not end: $(as_user root squeue -h 2>&1)"
}

passed() { ((status == 0)); }
failed() { [[ $status != 0 && -z $too_late ]]; }

clears_up() { as_user root timeout -k 5 30 sinfo -h -N -t comp -o %N </dev/null; }
none_clears_up() { [[ -z $(clears_up) ]]; }
hosts_of_cluster() { as_user root sinfo -h -N -o %N | sort -Vu; }

# Prints everything of ours on a host: processes, files in the places that each host has of its own, and abstract
# sockets. Prints nothing when nothing runs.
litter() { # HOST
    # shellcheck disable=SC2016 # awk's $8
    on_host "$1" bash -c '
        ps -eo comm,pid,user,stat | grep -E "^(pmixhost|slurmstepd)" | sed "s/^/process /"
        find /tmp /run /dev/shm -mindepth 1 \( -path /run/munge -o -path "/run/slurm*" -o -path /run/mount '"$(prunes)"' \) \
            -prune -o \( -type d -empty -o ! -type d \) -print 2>/dev/null
        awk "\$8 ~ /^@.*pmix/ { print \"socket \" \$8 }" /proc/net/unix'
}

# own_cluster NAME OPTION ...: from here on the script's cluster is a small one of its own, two hosts brought up
# with OPTIONs, which goes when the script ends. False, with the reason in $said, when it does not start.
own_cluster() {
    local name=$1 plugin_dir own
    shift
    plugin_dir=$(sed -n 's/^PluginDir=//p' "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf")
    own=$(mktemp -d "${TMPDIR:-/tmp}/pmixhost-$name.XXXXXX")
    chmod 755 "$own"
    if ! said=$("$PMIXHOST_CLUSTER" up --dir "$own" --hosts 2 --plugin-dir "$plugin_dir" --share "$PMIXHOST_BUILD" \
        --share "$PMIXHOST_SOURCE" --share "${plugin_dir%/lib/slurm*}" "$@" 2>&1); then
        "$PMIXHOST_CLUSTER" down --dir "$own" >/dev/null 2>&1 || true
        rmdir "$own" 2>/dev/null || true
        return 1
    fi
    PMIXHOST_CLUSTER_DIR=$own
    on_cluster[-1]=$own
    test_dir=$own/work
    trap end_own_cluster EXIT
}
end_own_cluster() {
    local code=$?
    "$PMIXHOST_CLUSTER" down --dir "$PMIXHOST_CLUSTER_DIR" 2>&1 | sed 's/^/# /'
    (exit "$code")
    test_end
}
said=

# Directories that all hosts share and that happen to lie under /tmp are not the host's own.
prunes() {
    local path
    for path in "$PMIXHOST_CLUSTER_DIR" "$PMIXHOST_BUILD" "$PMIXHOST_SOURCE" /run/slurm; do
        printf ' -o -path %q' "$path"
    done
}

no_litter_now() {
    local host
    for host in head $(hosts_of_cluster); do [[ -z $(litter "$host") ]] || return 1; done
}

# no_litter SECONDS: nothing of ours is left on any host, now or in at most so many seconds. What is left is told, and
# cleared away: it is the failure of this test, not of each one after it.
no_litter() {
    until_true "$1" no_litter_now && return
    local host
    why=
    for host in head $(hosts_of_cluster); do why+=$(litter "$host" | sed "s/^/left on $host: /")$'\n'; done
    why=${why//$'\n\n'/$'\n'}
    why+=$(for host in $(hosts_of_cluster); do evidence_of "$host"; done)
    sweep
    return 1
}

# What a daemon left that hung on HOST: how that was found, and where its threads stood, without the rest of the file.
evidence_of() { # HOST
    # shellcheck disable=SC2016 # for the shell inside
    on_host "$1" bash -c '
        for file in /tmp/pmixhost-evidence-*.txt; do
            [[ ! -f $file ]] || { echo "in $file:"; grep -E "$1" "$file" | cut -c 1-160 | head -n 100; }
        done' evidence "$telling" </dev/null
}

# Ends the processes and removes the files that "litter" prints. Whose directories all hosts share are not among them.
sweep() {
    local host kind what
    no_litter_now && return
    for host in head $(hosts_of_cluster); do
        while read -r kind what; do
            case $kind in
                process) on_host "$host" kill -KILL "$(awk '{print $2}' <<<"$what")" ;;
                /*) on_host "$host" rm -df -- "$kind${what:+ $what}" ;;
            esac </dev/null
        done < <(litter "$host")
    done 2>/dev/null
    # A directory is litter only once it is empty.
    ((${1:-0} >= 5)) || sweep $((${1:-0} + 1))
}

# A directory that all hosts see and all users may write to, for this script; gone at its end with
# the cluster.
if [[ -n ${PMIXHOST_CLUSTER_DIR:-} ]]; then
    test_dir=$(mktemp -d "$PMIXHOST_CLUSTER_DIR/work/${0##*/}.XXXXXX")
    chmod 1777 "$test_dir"
    # Those which still clear up after the last script's jobs are not given to this one's, that take the first for theirs.
    until_true 30 none_clears_up || diag "these hosts still clear up: $(clears_up)"
fi
