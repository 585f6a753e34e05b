#!/bin/bash
# The gate as a site starts it: by systemd, from the units of this source tree, with all that they take away from it.
. "$(dirname "$0")/../common/words.sh"

# systemd becomes process 1 of namespaces within the head host: with the mounts, the network and munged of that one, an
# /etc and a /run of its own, and a part of the cgroup hierarchies.
mine=pmixhost-unit.$$ booted=''
hierarchies=$(awk '$3 == "cgroup2" || ($3 == "cgroup" && $4 ~ /name=systemd/) { print $3, $2 }' /proc/mounts)
leave() {
    local path
    [[ -z $booted ]] || inside systemctl --no-block poweroff >/dev/null 2>&1
    until_true 20 eval '! kill -0 "$started" 2>/dev/null' || kill -KILL "$started"
    while read -r _ path; do find "$path/$mine" -depth -type d -exec rmdir {} \; 2>/dev/null; done <<<"$hierarchies"
}
cat >"$test_dir/boot" <<'BOOT'
#!/bin/bash
set -e
source=$1 libexec=$2 conf=$3 name=$4 second=$5
mount --make-rprivate /
mount -n -t proc proc /proc
mount -n -t tmpfs tmpfs /mnt
mkdir /mnt/etc /mnt/work /mnt/munge /mnt/home /mnt/homework
for file in passwd group shadow gshadow hosts nsswitch.conf; do [[ ! -f /etc/$file ]] || cp -a "/etc/$file" /mnt/etc/; done
mount -n --bind /run/munge /mnt/munge
mount -n -t overlay -o lowerdir=/etc,upperdir=/mnt/etc,workdir=/mnt/work overlay /etc
# Homes are below /home, as at most sites, and nobody else's.
mount -n -t overlay -o lowerdir=/home,upperdir=/mnt/home,workdir=/mnt/homework overlay /home
for user in pmixuser1 pmixuser2; do
    install -d -m 700 -o "$user" -g "$(id -g "$user")" "/home/$user"
    sed -i -E "s#^($user:.*):[^:]*:([^:]*)\$#\1:/home/$user:\2#" /etc/passwd
done
for path in /run /var/log /var/lib/systemd; do mount -n -t tmpfs -o mode=755 tmpfs "$path"; done
mkdir /run/munge && mount -n --bind /mnt/munge /run/munge
if grep -q ' cgroup .*name=systemd' /proc/mounts; then
    mount -n -t tmpfs -o mode=755 tmpfs /sys/fs/cgroup
    mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
    mount -n -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
    mount -n -t cgroup2 cgroup2 /sys/fs/cgroup/unified
else
    mount -n -t cgroup2 cgroup2 /sys/fs/cgroup
fi
uname -n >/etc/hostname
mkdir -p /etc/slurm
cp "$conf" /etc/slurm/slurm.conf
units=/etc/systemd/system
sed "s|@pmixhostlibexecdir@|$libexec|" "$source/contrib/systemd/pmixhost-gate.service.in" >"$units/pmixhost-gate.service"
cp "$source/contrib/systemd/pmixhost-gate.socket" "$units/"
mkdir "$units/pmixhost-gate.socket.d"
printf '[Socket]\nListenStream=%s\nFreeBind=yes\n' "$second" >"$units/pmixhost-gate.socket.d/other-hosts.conf"
ln -s /dev/null "$units/systemd-tmpfiles-setup.service" # /tmp is the head host's
printf '[Unit]\nWants=pmixhost-gate.service systemd-journald.service\n' >"$units/$name.target"
systemd-sysusers "$source/contrib/systemd/pmixhost-gate.conf"
exec env -i PATH="$PATH" container=other /lib/systemd/systemd --system --unit="$name.target" --log-target=null
BOOT
chmod 755 "$test_dir/boot"
inside() { nsenter -t "$booted" --mount --pid --uts --ipc --net --cgroup -- "$@"; }
# as USER COMMAND ...: on the head host, as it is there for who logs in under systemd
as() {
    nsenter -t "$booted" --mount --uts --ipc --net -- setpriv --reuid "$1" --regid "$(on_host head id -g "$1")" \
        --init-groups env -i PATH="$PATH" HOME=/tmp USER="$1" timeout -k 5 "${as_limit:-30}" "${@:2}" 2>&1 </dev/null
}
first_process() {
    booted=$(pgrep -f "systemd --system --unit=$mine\\.target")
    [[ -n $booted ]] && inside systemctl show --property=Version >/dev/null 2>&1
}
log_of_gate() { inside journalctl --no-pager -q -u pmixhost-gate; }
rules() { # RULE ...
    local IFS=,
    configure '[tools]' "policy = [$*]" '[gate]' 'idle = "2s"'
}
own='"allow everything by anyone to jobs of themselves from anywhere"'
pmixhost=$PMIXHOST_BUILD/tools/pmixhost
head_address=$(on_host head hostname -I | tr ' ' '\n' | grep -m 1 '^10\.')

rules "$own" '"allow observe by pmixuser2 to jobs of pmixuser1 from anywhere"'
(
    # Without a part of its own, systemd would take the machine's.
    [[ -n $hierarchies ]] || { echo "no cgroup hierarchy for it is mounted" >&2; exit 1; }
    while read -r _ path; do
        { mkdir "$path/$mine" && echo "$BASHPID" >"$path/$mine/cgroup.procs"; } || exit 1
    done <<<"$hierarchies"
    exec "${on_cluster[@]}" --host head -- unshare --mount --pid --uts --cgroup --fork --kill-child --propagation private \
        "$test_dir/boot" "$PMIXHOST_SOURCE" "$PMIXHOST_BUILD/inst/libexec/pmixhost" "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf" \
        "$mine" "$head_address:295"
) >"$test_dir/boot.log" 2>&1 </dev/null &
started=$!
trap 'leave; test_end' EXIT
if [[ ! -x /lib/systemd/systemd ]] || ! until_true 20 first_process; then
    skip "the gate's units" "systemd does not start here: $(tail -n 1 "$test_dir/boot.log")"
    done_testing
    exit
fi
ok "systemd starts the gate" until_true 20 inside systemctl is-active -q pmixhost-gate.service
ok "as a user of its own" eval '
    [[ $(inside ps -o uid= -p "$(inside systemctl show --property=MainPID --value pmixhost-gate)" | tr -d " ") == \
        "$(inside id -u pmixhost-gate)" ]]'
exposed=$(inside systemd-analyze security --no-pager pmixhost-gate.service 2>/dev/null | sed -nE 's/.*exposure level.*: ([0-9.]+) .*/\1/p')
ok "and takes from it what it can do without" eval '[[ -n $exposed ]] && awk -v e="$exposed" "BEGIN { exit !(e < 2) }"'
run_in_background() {
    (cd "$test_dir" && exec timeout -k 5 500 "${on_cluster[@]}" --user pmixuser1 -- srun "$mpi" -O -J unit -N2 -n2 "$clients/visited") \
        >"$test_dir/job" 2>&1 </dev/null &
    job_pid=$!
    until_true 60 eval '(($(grep -c "^there" "$test_dir/job") == 2))'
}
ok "a job runs" run_in_background
job=$(as_user root squeue -h -n unit -o %A)
like "a tool finds it" "$(as pmixuser1 "$clients/tool" system yes namespaces)" "^namespace slurm\\.$job\\.0"
like "so does one on another host, where a drop-in gives the socket another address" \
    "$(timeout -k 5 30 "${on_cluster[@]}" --user pmixuser1 --host "$(host_name 3)" -- \
        "$clients/tool" uri "pmixhost-gate.0;tcp4://$head_address:295" namespaces 2>&1)" "^namespace slurm\\.$job\\.0"
like "who may look comes in by the door" "$(as pmixuser2 "$pmixhost" ps "$job")" "slurm\\.$job\\.0 +1 "
like "and may do no more" "$(as pmixuser2 "$pmixhost" kill "$job"; echo "code $?")" 'do not give uid [0-9]+ control.*code 1'
rules "$own"
inside systemctl reload pmixhost-gate
like "a reload takes a rule away" \
    "$(until_true 10 eval '[[ $(log_of_gate) == *"the rules for tools were read again"* ]]'; as pmixuser2 "$pmixhost" ps "$job"; echo "code $?")" \
    'do not give uid [0-9]+ observe.*code 1'
refused=$(on_host head id -u pmixuser2)
journal_has_it() { [[ $(log_of_gate) =~ refused:\ uid\ $refused,\ .*observe\ of\ job\ $job ]]; }
ok "the journal has who was refused" until_true 10 journal_has_it
inside systemctl restart pmixhost-gate
finds_it() { [[ $(as pmixuser1 "$clients/tool" system yes namespaces) == "namespace slurm.$job.0"* ]]; }
ok "a tool finds the job when the gate was restarted" until_true 20 finds_it # systemd does not wait until it serves
inside systemctl stop pmixhost-gate.service
by_address() { [[ $(as pmixuser1 "$clients/tool" uri "pmixhost-gate.0;tcp4://127.0.0.1:294" namespaces) == *"namespace slurm.$job.0"* ]]; }
ok "the socket alone starts it for the next tool" until_true 20 by_address
ok "and it runs" inside systemctl is-active -q pmixhost-gate.service
as_limit=90 as pmixuser1 "$clients/tool" system yes who hold "$test_dir/go_on" namespaces >"$test_dir/held" &
held=$!
ok "a tool stays" until_true 20 grep -q '^held' "$test_dir/held"
reads=$(log_of_gate | grep -c 'the rules for tools were read again')
were_read() { (($(log_of_gate | grep -c 'the rules for tools were read again') > reads)); }
rules '"deny everything by pmixuser1 to jobs of anyone from anywhere"' "$own"
inside systemctl reload pmixhost-gate
ok "a third policy is read" until_true 20 were_read
unlike "which lets the own user in no more" "$(as pmixuser1 "$clients/tool" system yes namespaces)" '(^|
)namespace'
own_uid=$(on_host head id -u pmixuser1)
names_line() { [[ $(log_of_gate) =~ refused:\ uid\ $own_uid,\ .*deny\ everything\ by\ pmixuser1 ]]; }
ok "the journal has that line" until_true 10 names_line
of_gate() { as_limit=60 as "$1" "$pmixhost" doctor --quiet | grep -E '^ *(warning|problem) +gate '; }
of_gate pmixuser2 >"$test_dir/of_other" &
of_other=$!
like "its user, who cannot read that, hears so from pmixhost doctor" "$(of_gate pmixuser1)" \
    "it has refused tools of yours .*from this host: the site's rules \\(tools.policy\\) do not let it, by .*:[0-9]+"
wait "$of_other"
is "and nobody else does" "$(cat "$test_dir/of_other")" ""
touch "$test_dir/go_on"
wait "$held"
like "the tool that was there goes on" "$(cat "$test_dir/held")" "namespace slurm\\.$job\\.0.*finalize: PMIX_SUCCESS"
rules "$own"
inside systemctl reload pmixhost-gate
ok "until it is gone" until_true 20 finds_it
as_user root scancel "$job"
wait "$job_pid" 2>/dev/null
started_here() { [[ $(as pmixuser1 "$clients/tool_spawn" nodes=2 np=2 notify spawn true ended) == *"ended slurm."*" 0"* ]]; }
ok "with all that it takes from it, a tool whose user has no job starts one" until_true 20 started_here
ok "whose allocation goes" until_true 20 no_jobs
inside systemctl stop pmixhost-gate.service pmixhost-gate.socket
ok "what it has started ends with it" until_true 10 eval '[[ -z $(on_host head pgrep -f "[p]mixhostd --gate-desk") ]]'
is "and its file goes" "$(on_host head find /tmp -maxdepth 1 -name 'pmix.sys.*')" ""
done_testing
