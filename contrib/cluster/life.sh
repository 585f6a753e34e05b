# shellcheck shell=bash
# How a cluster comes up and goes down, and all that "cluster" does but exec: the hosts' namespaces, networks, files and
# daemons. For sourcing by cluster, whose words it uses.
: "${dir=}" "${me:?}" "${slurm_port_ctld:?}" "${cgroup_mount:?}" "${cgroup_controllers:?}" "${ip4_net:?}" "${ip6_net:?}" \
    "${test_users[*]:?}" "${test_group:?}"

# until_true SECONDS COMMAND ...: polls a condition; false when it did not come true in time.
until_true() {
    local deadline=$((${EPOCHREALTIME/[.,]/} + $1 * 1000000))
    shift
    until "$@"; do
        ((${EPOCHREALTIME/[.,]/} < deadline)) || return 1
        sleep 0.05
    done
}

# ------------------------------------------------------------------------------- what must be so

need_programs() {
    local program_package program package
    for program_package in unshare:util-linux nsenter:util-linux setpriv:util-linux script:bsdutils \
        ip:iproute2 munged:munge slurmctld:slurmctld slurmd:slurmd srun:slurm-client; do
        program=${program_package%:*} package=${program_package#*:}
        command -v "$program" >/dev/null ||
            die "$program is missing; next: apt-get install $package"
    done
}

# Prints the directory of the distribution's Slurm plugins.
slurm_plugin_dir() {
    local dir
    for dir in /usr/lib/*/slurm-wlm /usr/lib/*/slurm /usr/lib64/slurm /usr/lib/slurm \
        /usr/local/lib/slurm; do
        [[ -e $dir/auth_munge.so ]] && { echo "$dir"; return; }
    done
    die "Slurm's plugins (auth_munge.so) were not found; next: apt-get install slurm-wlm-basic-plugins"
}

# Test users must be able to enter D, so every directory on the way to it must let them.
need_reachable() {
    local dir=$1
    while [[ $dir != / ]]; do
        dir=$(dirname "$dir")
        [[ ! -e $dir || $(stat -c %A "$dir") == *[xt] ]] ||
            die "ordinary users cannot enter $dir; next: choose another directory with --dir"
    done
}

# ------------------------------------------------------------------------------------- processes

compute_names() { host_names | grep -v '^head$'; }

is_gone() { ! pid_of "$1" >/dev/null; }

kill_host() {
    local pid
    pid=$(pid_of "$1") || return 0
    kill -KILL "$pid" 2>/dev/null || true
    until_true 20 is_gone "$1" || die "process $pid of $1 does not end; next: see /proc/$pid/stack"
}

in_net_of() { # HOST COMMAND ...: only the network of HOST, the machine's files
    local pid
    pid=$(pid_of "$1") || return 1
    shift
    nsenter -t "$pid" --net -- "$@"
}

in_host() { # HOST COMMAND ...: root, a clean environment
    local pid cgroup=() join=() join_inside=() conf=()
    pid=$(pid_of "$1") || return 1
    ! has_conf "$1" || conf=("SLURM_CONF=$dir/etc/slurm.conf")
    # A daemon starts in its host's part of the cgroups, as it would after a boot.
    if has_cgroups; then
        # shellcheck disable=SC2016 # for the inner shell
        join=(bash -c 'for file in $0; do echo $$ >"$file"; done; exec "$@"' "$(cgroup_files "$1")")
        cgroup=(--cgroup)
    fi
    # Of version 2 Slurm wants to see no process of other hosts there, as nsenter itself is.
    if has_cgroup2; then
        join=()
        # shellcheck disable=SC2016 # for the inner shell
        join_inside=(bash -c 'echo $$ >"$0"; exec "$@"' "$cgroup_mount/cgroup.procs")
    fi
    shift
    ${join[@]+"${join[@]}"} nsenter -t "$pid" --mount --root --wdns=/ --uts --ipc --net --pid \
        ${cgroup[@]+"${cgroup[@]}"} -- \
        env -i PATH="$PATH" HOME=/root LANG=C.UTF-8 ${conf[@]+"${conf[@]}"} \
        ${join_inside[@]+"${join_inside[@]}"} "$@" 9<&-
}


# ---------------------------------------------------------------------------------------- cgroups

# Each host has one directory in each hierarchy of the machine, which a cgroup namespace shows it as
# the top: its Slurm finds there what it would find on a machine of its own.
has_cgroups() { [[ -s $dir/etc/cgroup ]]; }

cgroup_dirs() { # HOST, or nothing for those of all hosts
    local controller name
    name=$(cat "$dir/etc/cgroup")
    if has_cgroup2; then
        echo "$(mounted_cgroup2)/$name${1:+/$1}"
        return
    fi
    for controller in $cgroup_controllers; do
        echo "$cgroup_mount/$controller/$name${1:+/$1}"
    done
}

cgroup_files() { cgroup_dirs "$1" | sed 's/$/\/cgroup.procs/' | tr '\n' ' '; }

has_cgroup2() { [[ -e $dir/etc/cgroup2 ]]; }

mounted_cgroup2() { awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts; }

has_version_1_too() { grep -q '^[^ ]* [^ ]* cgroup ' /proc/mounts; }

# Prints why there can be none.
cgroup_trouble() {
    local controller
    if [[ $cgroup == 2 ]]; then
        if [[ -z $(mounted_cgroup2) ]]; then
            echo "no cgroup hierarchy of version 2 is mounted"
        elif has_version_1_too && ! command -v cc >/dev/null; then
            echo "there is no cc for only_cgroup2.c"
        fi
        return
    fi
    for controller in $cgroup_controllers; do
        [[ $(stat -f -c %T "$cgroup_mount/$controller" 2>/dev/null) == cgroupfs ]] ||
            { echo "$cgroup_mount/$controller is no mounted cgroup hierarchy (of version 1)"; return; }
    done
    unshare --cgroup true 2>/dev/null || echo "the kernel has no cgroup namespaces"
}

# A cpuset without CPUs and memory takes no process.
make_cgroups() { # HOST
    local path parent file
    for path in $(cgroup_dirs "$1"); do
        parent=$(dirname "$path")
        mkdir -p "$path"
        ! has_cgroup2 || mkdir -p "$path/system.slice" # where Slurm makes its own
        for file in cpuset.cpus cpuset.mems; do
            [[ ! -e $path/$file ]] || {
                cat "$(dirname "$parent")/$file" >"$parent/$file"
                cat "$parent/$file" >"$path/$file"
            }
        done
    done
}

# Those that wait for the host's first process and are not of the host.
leave_cgroup2() { # HOST
    local path pid of_host all
    path=$(cgroup_dirs "$1")
    of_host=$(readlink "/proc/$(pid_of "$1")/ns/pid")
    mapfile -t all <"$path/cgroup.procs"
    for pid in "${all[@]}"; do
        [[ $(readlink "/proc/$pid/ns/pid") == "$of_host" ]] || echo "$pid" >"${path%/*}/cgroup.procs"
    done
}

cgroups_are_gone() { # [HOST]
    local path
    for path in $(cgroup_dirs "${1:-}"); do
        [[ ! -d $path ]] || find "$path" -depth -type d -exec rmdir {} + 2>/dev/null || return 1
    done
}

# What has just been killed may still be in them.
remove_cgroups() { # [HOST]
    has_cgroups || return 0
    until_true 20 cgroups_are_gone "${1:-}" || say "some of these cgroups remain: $(cgroup_dirs "${1:-}" | tr '\n' ' ')"
}

# ---------------------------------------------------- the init process of a host (runs inside it)

# Runs in new namespaces, in which it is process 1, but still with the machine's /proc: so
# /proc/self gives the number by which the machine knows this process.
hold() { # DIR HOST
    local dir=$1 host=$2 pid stat
    read -r stat </proc/self/stat
    pid=${stat%% *} stat=${stat##*) }
    # shellcheck disable=SC2086 # the fields of stat are to be split
    set -- $stat
    local record="$pid ${20}"
    if [[ $host == switch ]]; then
        mount -n -t proc proc /proc
    else
        own_files "$dir" "$host"
    fi
    hostname "$host"
    ip link set lo up
    echo "$record" >"$dir/hosts/$host/pid.new"
    mv "$dir/hosts/$host/pid.new" "$dir/hosts/$host/pid"
    # Process 1 inherits every orphan: that ignores SIGCHLD makes the kernel reap them.
    exec env --ignore-signal=CHLD sleep infinity
}

# Gives a host its own /proc, /sys, /dev/shm, /dev/pts, /tmp, /run and files in /etc.
own_files() { # DIR HOST
    local dir=$1 host=$2 path fd file i paths=() held=()
    while IFS= read -r path; do
        exec {fd}<"$path"
        paths+=("$path") held+=("$fd")
    done <"$dir/etc/shared"

    for file in hosts passwd group nsswitch.conf resolv.conf; do
        [[ ! -f /etc/$file ]] || mount -n --bind "$dir/etc/$file" "$(readlink -f "/etc/$file")"
    done
    mount -n -t sysfs sysfs /sys
    if [[ -e $dir/etc/cgroup2 ]]; then
        mount -n -t cgroup2 cgroup2 "$cgroup_mount"
    elif [[ -s $dir/etc/cgroup ]]; then
        mount -n -t tmpfs -o mode=755 tmpfs "$cgroup_mount"
        for path in $cgroup_controllers; do
            mkdir "$cgroup_mount/$path"
            mount -n -t cgroup -o "$path" cgroup "$cgroup_mount/$path"
        done
    fi
    mount -n -t tmpfs -o mode=1777 tmpfs /dev/shm
    mount -n -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts /dev/pts
    [[ -L /dev/ptmx ]] || mount -n --bind /dev/pts/ptmx /dev/ptmx
    mount -n --bind "$dir/hosts/$host/tmp" /tmp
    mount -n -t tmpfs -o mode=755 tmpfs /run
    mkdir -m 755 /run/munge

    # What is shared but was hidden by these mounts comes back by its descriptor; only mount's -c
    # leaves that name alone. They are sorted: the outer one first if one lies within another.
    for i in "${!paths[@]}"; do
        path=${paths[i]} fd=${held[i]}
        if [[ ! $path -ef /proc/self/fd/$fd ]]; then
            mkdir -p "$path"
            mount -n -c --bind "/proc/self/fd/$fd" "$path"
        fi
        exec {fd}<&-
    done
    mount -n -t proc proc /proc
}

# --------------------------------------------------------------------------------- files for a D

write_passwd() {
    local user name id
    cat /etc/passwd >"$dir/etc/passwd"
    cat /etc/group >"$dir/etc/group"
    for user in "${test_users[@]}"; do
        name=${user%:*} id=${user#*:}
        echo "$name:x:$id:$id:pmixhost test user:$dir/home/$name:/bin/bash" >>"$dir/etc/passwd"
        echo "$name:x:$id:" >>"$dir/etc/group"
        mkdir -p "$dir/home/$name"
        chown "$id:$id" "$dir/home/$name"
    done
    echo "${test_group%%:*}:x:${test_group#*:}" >>"$dir/etc/group"
    printf '%s: files\n' passwd group shadow gshadow hosts services protocols networks rpc \
        >"$dir/etc/nsswitch.conf"
    : >"$dir/etc/resolv.conf"
}

write_hosts() {
    echo "127.0.0.1 localhost" >"$dir/etc/hosts"
    [[ -z $ipv6 ]] || echo "::1 localhost ip6-localhost" >>"$dir/etc/hosts"
    local i name
    for ((i = 0; i <= hosts; i++)); do
        name=$(host_name $i)
        [[ $ipv6 == only ]] || echo "$ip4_net.$((i + 1)) $name" >>"$dir/etc/hosts"
        [[ -z $ipv6 ]] || echo "$ip6_net:$((i + 1)) $name" >>"$dir/etc/hosts"
        echo "$name" >>"$dir/etc/names"
        mkdir -p "$dir/hosts/$name" "$dir/hosts/$name/spool"
        mkdir -p "$dir/hosts/$name/munge" "$dir/hosts/$name/tmp"
        chmod 1777 "$dir/hosts/$name/tmp"
        chmod 700 "$dir/hosts/$name/munge"
    done
}

# Of the hosts from 0 (head); line by line in etc/names.
host_name() { # NUMBER
    local given=()
    IFS=, read -r -a given <<<"$names"
    if (($1 == 0)); then echo head; else echo "${given[$1 - 1]:-n$1}"; fi
}
host_number() { echo $(($(grep -nFx "$1" "$dir/etc/names" | cut -d: -f1) - 1)); } # HOST
compute_list() { tail -n +2 "$dir/etc/names" | paste -s -d ,; }

write_slurm_conf() {
    local cgroup_not='' tasks=task/none
    case $cgroup in
        '') cgroup_not=yes ;;
        1) tasks=task/affinity,task/cgroup ;;
        2) tasks=task/affinity ;;
    esac
    cat >"$dir/etc/slurm.conf" <<TXT
# Made by "$me up"; ends with "$me down".
ClusterName=pmixhost
SlurmctldHost=head
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
PluginDir=${plugin_dir:+$plugin_dir:}$(slurm_plugin_dir)
MpiDefault=none

# A process namespace per host does what a cgroup would; the CPUs are claimed, not there.
ProctrackType=${cgroup:+proctrack/cgroup}${cgroup_not:+proctrack/linuxproc}
TaskPlugin=$tasks
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU

# Jobs start at once; het jobs wait for the backfill scheduler.
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,bf_interval=1,bf_hetjob_immediate
CompleteWait=0

# A host that is cut off is noticed in half a minute; a host busy with 128 tasks is not. Newer Slurm wants
# UnkillableStepTimeout to be 5 times MessageTimeout.
SlurmctldTimeout=30
SlurmdTimeout=20
MessageTimeout=10
TCPTimeout=2
InactiveLimit=0
KillWait=5
UnkillableStepTimeout=50
ReturnToService=2

SlurmctldPort=$slurm_port_ctld
SlurmdPort=6818
StateSaveLocation=$dir/hosts/head/spool
SlurmdSpoolDir=$dir/hosts/%n/spool
SlurmctldPidFile=$dir/hosts/head/slurmctld.pid
SlurmdPidFile=$dir/hosts/%n/slurmd.pid
SlurmctldLogFile=$dir/hosts/head/slurmctld.log
SlurmdLogFile=$dir/hosts/%n/slurmd.log
SlurmctldDebug=info
SlurmdDebug=info
TmpFS=/tmp
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none

NodeName=$(compute_list) CPUs=$cpus Boards=1 SocketsPerBoard=1 CoresPerSocket=$cpus ThreadsPerCore=1 RealMemory=4096 ${gpus:+Gres=gpu:$gpus }State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
TXT
    # Without --cgroup no plugin uses cgroups, but slurmd loads one; this one touches nothing before it
    # is used. Of claimed CPUs that are not there no cpuset can be made.
    cat >"$dir/etc/cgroup.conf" <<TXT
CgroupPlugin=cgroup/v1
CgroupAutomount=no
CgroupMountpoint=$cgroup_mount
ConstrainCores=$( ((cpus <= $(nproc))) && echo yes || echo no)
ConstrainRAMSpace=yes
ConstrainDevices=yes
TXT
    if [[ $cgroup == 2 ]]; then
        sed -i -e 's/v1$/v2/' -e 's/^\(Constrain.*\)=.*/\1=no/' -e '$aIgnoreSystemd=yes' "$dir/etc/cgroup.conf"
    fi
    if [[ -n $job_tmp ]]; then
        conf+=(JobContainerType=job_container/tmpfs PrologFlags=Contain)
        printf 'AutoBasePath=true\nBasePath=%s\n' "$dir/jobs" >"$dir/etc/job_container.conf"
    fi
    if [[ -n $gpus ]]; then # any devices will do: nobody uses them
        conf+=(GresTypes=gpu)
        printf 'Name=gpu File=/dev/%s\n' zero full null random | head -n "$gpus" >"$dir/etc/gres.conf"
    fi
    if [[ -n $configless ]]; then
        conf+=(SlurmctldParameters=enable_configless)
        : >"$dir/etc/configless"
    fi
    local line
    for line in "${conf[@]}"; do
        sed -i "/^${line%%=*}=/d" "$dir/etc/slurm.conf"
        echo "$line" >>"$dir/etc/slurm.conf"
    done
}

write_files() {
    chmod 755 "$dir"
    : >"$dir/.pmixhost-cluster"
    mkdir -p "$dir/etc" "$dir/hosts" "$dir/hosts/switch" "$dir/home"
    mkdir -p "$dir/work"
    chmod 1777 "$dir/work"
    echo "hosts=$hosts ipv6=$ipv6" >"$dir/etc/cluster"
    # The name in the machine's cgroups; empty: there are none.
    if [[ -n $cgroup ]]; then
        echo "pmixhost-$(stat -c %d-%i "$dir")"
    fi >"$dir/etc/cgroup"
    if [[ $cgroup == 2 ]]; then
        : >"$dir/etc/cgroup2"
        ! has_version_1_too ||
            cc -shared -fPIC -o "$dir/etc/only_cgroup2.so" "$(dirname "$(realpath "$0")")/only_cgroup2.c" -ldl ||
            die "up: --cgroup2: only_cgroup2.c could not be compiled; next: install gcc and libc6-dev"
    fi
    printf '%s\n' "$dir" "${shared[@]}" | sort -u >"$dir/etc/shared"
    (umask 077 && head -c 1024 /dev/urandom | tee "$dir/etc/munge.key" >"$dir/etc/slurm.key")
    write_passwd
    write_hosts
    write_slurm_conf
}

# -------------------------------------------------------------------------------------------- up

# The switch first: all other processes are inside its process namespace.
start_switch() {
    setsid unshare --net --mount --uts --ipc --pid --fork --propagation private \
        bash "$0" _hold "$dir" switch </dev/null >"$dir/hosts/switch/log" 2>&1 9<&- &
    disown
    until_true 10 pid_of switch >/dev/null ||
        die "namespaces could not be made: $(tail -n 1 "$dir/hosts/switch/log"); next: try 'unshare --net --pid --mount --fork true' (a container needs to be privileged, and the root of a chroot a mount point: mount --bind DIR DIR)"
    in_net_of switch ip link add bridge type bridge
    in_net_of switch ip link set bridge up
}

start_holder() { # HOST
    local switch
    switch=$(pid_of switch)
    rm -f "$dir/hosts/$1/pid"
    local cgroup=() join=(env)
    if has_cgroups; then
        make_cgroups "$1"
        # shellcheck disable=SC2016 # for the inner shell
        join=(bash -c 'for file in $0; do echo $$ >"$file"; done; exec "$@"' "$(cgroup_files "$1")")
        cgroup=(--cgroup)
    fi
    setsid "${join[@]}" nsenter -t "$switch" --pid -- \
        unshare --net --mount --uts --ipc --pid ${cgroup[@]+"${cgroup[@]}"} --fork \
        --propagation private bash "$0" _hold "$dir" "$1" </dev/null >"$dir/hosts/$1/log" 2>&1 9<&- &
    disown
}

connect_host() { # HOST
    local host=$1 pid number
    until_true 10 pid_of "$host" >/dev/null ||
        die "host $host did not start: $(tail -n 1 "$dir/hosts/$host/log"); next: see what follows, mend it, and run 'up' again"
    pid=$(pid_of "$host")
    ! has_cgroup2 || leave_cgroup2 "$host"
    number=$(($(host_number "$host") + 1))
    # A veth of an earlier life of this host goes away with its namespace, but not at once.
    in_net_of switch ip link del "$host" 2>/dev/null || true
    in_net_of switch ip link add "$host" type veth peer name eth0 netns "$pid"
    in_net_of switch ip -batch - <<TXT
link set $host master bridge
link set $host up
TXT
    [[ $ipv6 == only ]] || in_net_of "$host" ip addr add "$ip4_net.$number/24" dev eth0
    in_net_of "$host" ip link set eth0 up
    [[ -z $ipv6 ]] || in_net_of "$host" ip addr add "$ip6_net:$number/64" dev eth0 nodad
}

start_munged() { # HOST
    local own=$dir/hosts/$1/munge socket
    ! grep -qx AuthType=auth/slurm "$dir/etc/slurm.conf" || return 0
    socket=$(sed -n 's/^AuthInfo=socket=//p' "$dir/etc/slurm.conf")
    in_host "$1" munged --force ${socket:+"--socket=$socket"} --key-file="$dir/etc/munge.key" --pid-file="$own/munged.pid" \
        --log-file="$own/munged.log" --seed-file="$own/munged.seed" >"$own/start.log" 2>&1 ||
        die "munged did not start on $1: $(tail -n 1 "$own/start.log"); next: see $own/munged.log"
}

ctld_listens() { in_host head bash -c "exec 3<>/dev/tcp/head/$slurm_port_ctld" 2>/dev/null; }

last_words() { # HOST DAEMON
    tail -qn 3 "$dir/hosts/$1/start.log" "$dir/hosts/$1/$2.log" 2>/dev/null | tr '\n' ' '
}

start_slurmctld() {
    if in_host head slurmctld -i -f "$dir/etc/slurm.conf" >"$dir/hosts/head/start.log" 2>&1; then
        ! until_true 15 ctld_listens || return 0
    fi
    die "slurmctld did not start: $(last_words head slurmctld); next: see what follows, mend it, and run 'up' again"
}

start_slurmd() { # HOST [OPTION ...]
    local from=(-f "$dir/etc/slurm.conf") preload=()
    has_conf "$1" || from=(--conf-server "head:$slurm_port_ctld")
    [[ ! -e $dir/etc/only_cgroup2.so ]] || preload=(env "LD_PRELOAD=$dir/etc/only_cgroup2.so")
    # shellcheck disable=SC2016 # for the inner shell to expand
    in_host "$1" bash -c 'ulimit -n "$(ulimit -Hn)"; ulimit -l unlimited 2>/dev/null; exec "$@"' start \
        ${preload[@]+"${preload[@]}"} slurmd -N "$1" "${from[@]}" "${@:2}" >"$dir/hosts/$1/start.log" 2>&1 ||
        die "slurmd did not start on $1: $(last_words "$1" slurmd); next: see what follows, mend it, and run 'up' again"
}

hosts_are_idle() {
    local idle
    idle=$(in_host head sinfo -h -N -t idle -o %N 2>/dev/null | sort -u | wc -l) || return 1
    ((idle >= $1))
}

cmd_up() {
    local hosts='' names='' plugin_dir='' cpus=64 ipv6='' cgroup='' job_tmp='' configless='' gpus='' shared=() conf=() path
    while (($#)); do
        case $1 in
            --hosts) hosts=${2:-}; shift ;;
            --plugin-dir) plugin_dir=${2:-}; shift ;;
            --names) names=${2:-}; shift ;;
            --cpus) cpus=${2:-}; shift ;;
            --gpus) gpus=${2:-}; shift ;;
            --share) shared+=("$(realpath -e "${2:-}")") || die "--share: there is no '${2:-}'"; shift ;;
            --conf) conf+=("${2:-}"); shift ;;
            --ipv6) ipv6=yes ;;
            --ipv6-only) ipv6=only conf+=(CommunicationParameters=EnableIPv6,DisableIPv4) ;;
            --cgroup) cgroup=1 ;;
            --cgroup2) cgroup=2 ;;
            --job-tmp) job_tmp=yes ;;
            --configless) configless=yes ;;
            *) die "up: unknown option '$1'; see $me --help" ;;
        esac
        shift || die "up: the last option needs a value; see $me --help"
    done
    [[ $hosts =~ ^[1-9][0-9]?$ ]] || die "up: --hosts wants a number from 1 to 99"
    [[ -z $names || ${names//[^,]/}, =~ ^,{$hosts}$ && $names =~ ^[a-z][-a-z0-9]{0,14}(,[a-z][-a-z0-9]{0,14})*$ ]] ||
        die "up: --names wants as many names as hosts, each of at most 15 of a-z, 0-9 and -"
    [[ -z $(printf '%s\n' head switch ${names//,/ } | sort | uniq -d) ]] ||
        die "up: --names: each name once, and not head or switch"
    [[ $cpus =~ ^[1-9][0-9]{0,3}$ ]] || die "up: --cpus wants a number from 1 to 9999"
    [[ -z $gpus || $gpus =~ ^[1-4]$ ]] || die "up: --gpus wants a number from 1 to 4"
    need_root
    need_programs
    slurm_plugin_dir >/dev/null
    [[ -z $cgroup || -z $(cgroup_trouble) ]] ||
        die "up: --cgroup${cgroup#1}: $(cgroup_trouble); next: leave it out"
    for path in ${plugin_dir//:/ }; do
        [[ -d $path ]] || die "up: --plugin-dir: there is no directory $path; next: build first"
        shared+=("$(realpath "$path")")
    done
    need_reachable "$dir"
    [[ -z $job_tmp || $dir != /tmp/* ]] ||
        die "up: --job-tmp: jobs would not see $dir; next: choose a --dir that is not in /tmp"
    ((${#dir} <= 60)) || die "up: the path $dir is too long for the sockets in it; next: choose a shorter --dir"
    [[ ! -e $dir || -e $dir/.pmixhost-cluster || -z $(ls -A "$dir") ]] ||
        die "up: $dir has files that are not a cluster's; next: choose another --dir"
    [[ -d $dir ]] || mkdir "$dir" || die "up: $dir cannot be made; next: choose another --dir"
    exec 9<"$dir"
    flock -n 9 || die "up: another 'up' works on $dir; next: wait for it"
    ! is_up || die "up: a cluster runs in $dir already; next: $0 down --dir $dir"
    find "$dir" -mindepth 1 -xdev -delete

    trap 'up_failed' EXIT
    trap 'exit 130' INT TERM HUP
    write_files
    start_switch
    local host
    for host in $(host_names); do start_holder "$host"; done
    for host in $(host_names); do connect_host "$host"; done
    for host in $(host_names); do start_munged "$host"; done
    start_slurmctld
    for host in $(compute_names); do start_slurmd "$host"; done
    until_true 30 hosts_are_idle "$hosts" ||
        die "the hosts did not become idle: $(in_host head sinfo -h -N -o '%N %T (%E)' 2>&1 | tr '\n' ' ')"
    exec 9<&-
    trap - EXIT INT TERM HUP
    say "up: head and $hosts hosts with $cpus CPUs each in $dir"
}

# Whatever was half done goes away; what the daemons said is shown first.
up_failed() {
    local status=$? words
    trap - EXIT
    trap '' INT TERM HUP PIPE
    words=$(cmd_logs '' || true)
    exec 9<&-
    cmd_down
    if ((status == 130)); then
        say "up was interrupted"
    else
        echo "$words" >&2
        say "up failed; the first line above that begins with '$me:' says why"
    fi
    exit "$status"
}

# -------------------------------------------------------------------------------- other commands

# A terminal of the host's own, as the caller's belongs to another set of process numbers.
cmd_shell() {
    local options=()
    while (($#)); do
        case $1 in
            --user | --host) options+=("$1" "${2:-}"); shift 2 ;;
            *) die "shell: unknown argument '$1'; see $me --help" ;;
        esac
    done
    cmd_exec ${options[@]+"${options[@]}"} -- script -q -c "bash -i" /dev/null
}

cmd_status() {
    local host pid
    is_up || { echo "no cluster runs in $dir"; exit 3; }
    echo "cluster in $dir (process $(pid_of switch) holds it)"
    for host in $(host_names); do
        if pid=$(pid_of "$host"); then
            echo "$host: process $pid, link $(link_state "$host")"
        else
            echo "$host: has no power"
        fi
    done
    in_host head sinfo -N -o '%8N %10T %5c %E' || true
}

link_state() {
    in_net_of switch cat "/sys/class/net/$1/operstate" 2>/dev/null ||
        in_net_of switch ip -o link show "$1" | sed 's/.* state \([A-Z]*\) .*/\L\1/'
}

cmd_logs() {
    local host=${1:-} log
    for log in "$dir"/hosts/${host:-*}/{log,start.log,slurmctld.log,slurmd.log,munge/start.log}; do
        [[ -s $log ]] || continue
        echo "==> ${log#"$dir/hosts/"}"
        tail -n "${PMIXHOST_LOG_LINES:-20}" "$log"
    done
}

set_link() { # HOST up|down
    need_root
    need_up
    need_host "$1"
    in_net_of switch ip link set "$1" "$2"
}

cmd_crash() { # the others see silence, not closed connections, as when power fails
    set_link "$1" down
    kill_host "$1"
    remove_cgroups "$1"
}

cmd_boot() {
    local host=$1 hosts ipv6
    need_root
    need_up
    [[ -d $dir/hosts/$host && $host != head && $host != switch ]] || die "boot: there is no host '$host'"
    is_gone "$host" || die "boot: $host runs"
    # shellcheck source=/dev/null # written by write_files
    . "$dir/etc/cluster"
    start_holder "$host"
    connect_host "$host"
    start_munged "$host"
    start_slurmd "$host" -b # the machine's own uptime says nothing of the host's
}

cmd_down() {
    need_root
    [[ -e $dir/.pmixhost-cluster ]] || { [[ ! -d $dir ]] || rmdir "$dir" 2>/dev/null || true; return 0; }
    kill_host switch
    remove_cgroups
    rm -rf --one-file-system "$dir"
}
