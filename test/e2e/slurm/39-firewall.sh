#!/bin/bash
# Firewalls between the hosts that let through what an administrator was told: Slurm's own ports, SrunPortRange, and
# transport.ports of pmixhost.conf.
. "$(dirname "$0")/../common/words.sh"

own_cluster firewall --conf SlurmdPort=6818 --conf SrunPortRange=42000-42199 ||
    { echo "Bail out! ${said##*$'\n'}"; exit 1; }
unset CLIENT_DIR

# Only what begins a connection is looked at.
let_in() { # HOST PORTS ...
    local host=$1 port
    shift
    for port in "$@"; do
        on_host "$host" iptables -A INPUT -i eth0 -p tcp --dport "$port" -j ACCEPT || return
    done
    on_host "$host" iptables -A INPUT -i eth0 -p tcp --syn -j DROP
}
if ! command -v iptables >/dev/null || ! said=$(let_in head 6817 42000:42199 2>&1); then
    skip "firewalls" "there is no iptables that works: ${said:0:80}"
    done_testing
    exit
fi
for host in n1 n2; do let_in "$host" 6818 21000:21015; done

configure '[transport]' 'ports = "21000-21015"' 'connect_timeout = "10s"'
each_way

configure '[transport]' 'ports = "21020-21030"' 'connect_timeout = "5s"'
run_srun -N2 -n4 "$clients/fence_data"
ok "with ports that the firewall does not let through a fence fails" failed
like "and the user is told once what to look at" "$output" 'pmixhost: n1 and n2: no connection .*firewall.*transport\.ports'
configure
ok "nothing is left" no_litter 30
done_testing
