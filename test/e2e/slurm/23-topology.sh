#!/bin/bash
# Whence daemons know their host: root keeps what hwloc has found, once, and what is not right is not used (topology_file.h).
. "$(dirname "$0")/../common/words.sh"

host=$(host_name 1)
file=$PMIXHOST_CLUSTER_DIR/hosts/$host/spool/pmixhost_topology
log=$test_dir/log
configure '[log]' 'level = "debug"' "file = \"$log\""
# One that has started late would write its own over what a test has spoiled.
none_looks() { ! pgrep -f "pmixhost-topology $file" >/dev/null; }
# A step on that host, for which daemon.topology is $1: $finds is how its daemon has found the topology, $told what a task is
# told of it, without what hwloc says of itself. Nothing is kept meanwhile: it might be before the daemon looks.
step() {
    rm -f "$log"
    exec 9>"$file.new"
    flock 9
    run env PMIXHOST_DAEMON_TOPOLOGY="${1:-kept}" srun -Q "$mpi" -w "$host" -N1 -n1 "$clients/topology"
    until_true 20 none_looks
    exec 9>&-
    [[ ${1:-kept} == look ]] || until_true 20 grep -q 'the topology of this host' "$log"
    finds="$(grep -c 'loaded hwloc' <<<"$output") $(sed -n 's/.*the topology of this host //p' "$log")"
    told=$(grep -vE '<support|"ProcessName"' <<<"$output")
}
made_anew() {
    run_srun -w "$host" -N1 -n1 true
    until_true 20 is_right "$right" && until_true 20 none_looks
}
state() { sed '/^$/q' "$file"; }
is_right() { [[ -s $file && $(stat -c '%u %a' "$file") == "0 644" && $(state) == "$1" ]]; }

rm -f "$file"
step
like "before it is kept, hwloc looks" "$finds" '^1 is looked for: .*pmixhost_topology'
run_srun -w "$host" -N1 -n1 true
ok "a step has it kept" until_true 20 test -s "$file"
until_true 20 none_looks
right=$(state)
ok "by root, for all to read" is_right "$right"
if [[ $(sed '1,/^$/d' "$file") == $'\nend' ]]; then
    echo "# what this machine's graphics cards are depends on who asks: nothing can be kept"
    configure
    done_testing
    exit 0
fi
step
is "the second step finds it" "$finds" '1 was kept'
kept=$told
ok "with its processors" test "$(grep -c 'type="PU"' <<<"$kept")" -ge 1
step look
is "hwloc looks for whoever wants that" "$finds" "1 "
is "and finds the same" "$told" "$kept"

sed -i '2s/ .*/ of-another-boot/' "$file"
step
like "what is of another boot is not used" "$finds" '^1 is looked for: .*of before a change'
ok "and made anew" made_anew
chown 12345 "$file"
step
like "nor what another than root may have written" "$finds" '^1 is looked for: .*others than root'
ok "and made anew, too" made_anew
sed -i '$d' "$file"
step
like "nor what somebody has not written to its end" "$finds" '^1 is looked for: .*of before a change'
ok "and made anew as well" made_anew
sed -i 's/^<topology.*/<nothing>/' "$file"
step
like "what hwloc cannot read is not used" "$finds" '^1 is looked for: hwloc cannot read'
sed -i '/^$/,$d' "$file"
printf '\n\nend\n' >>"$file"
step
like "nor is what says that none can be kept" "$finds" '^1 is looked for: .*of which each job sees its own'
ok "which stays" test "$(wc -c <"$file")" -lt 4000
rm -f "$file"
echo rubbish >"$file.new"
chown 12345 "$file.new"
ok "a file that was removed is made anew by the next step" made_anew
ok "and with it what another has left there" test ! -e "$file.new"

# What it does with what this machine has not: serial numbers that only root may read, and no room.
plugins=$(sed -n 's/^PluginDir=\([^:]*\).*/\1/p' "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf")
export program=${plugins%/lib/slurm}/libexec/pmixhost/pmixhost-topology
aside() { unshare -m --propagation private bash -ec "$1" 2>&1; }
said=$(aside 'mount -t tmpfs tmpfs /sys/class; mkdir -p /sys/class/dmi/id; cd /sys/class/dmi/id
    echo Box-7 >product_name; echo Serial-7 >product_serial; chmod 400 product_serial
    mount -t tmpfs tmpfs /mnt; "$program" /mnt/kept; grep -o "\(Box\|Serial\)-7" /mnt/kept')
is "what only root may read is not in it" "$said" Box-7
# shellcheck disable=SC2016 # for that shell
said=$(aside 'mount -t tmpfs -o size=12k tmpfs /mnt; echo old >/mnt/kept; head -c 4k /dev/zero >/mnt/other
    ! "$program" /mnt/kept; ls /mnt; cat /mnt/kept')
is "where there is no room the old one stays, and nothing else" "$said" \
    "pmixhost-topology: /mnt/kept.new: No space left on device"$'\nkept\nother\nold'
is "it is linked with nothing that it does not need" \
    "$(readelf -d "$program" | sed -n 's/.*NEEDED.*\[lib\([a-z]*\).*/\1/p' | grep -cvxE 'hwloc|fmt|stdc|gcc|c|m')" 0
ok "nobody is left who has looked" until_true 20 none_looks
configure
done_testing
