#!/bin/bash
# An administrator's settings of the network hold: the daemons of a step listen on the configured ports and on no
# others, and use the configured interfaces, also one that has IPv6 addresses only.
. "$(dirname "$0")/../common/words.sh"

hosts=("$(host_name 1)" "$(host_name 2)" "$(host_name 3)")
# Slurm gives a job none of those that still clear up after the last one, but others.
on_these=(-w "$(IFS=,; echo "${hosts[*]}")")
out=$test_dir/linger
step=

start() { # a step of three hosts that stays
    : >"$out"
    (cd "$test_dir" && exec timeout -k 5 100 "${on_cluster[@]}" --user pmixuser1 -- \
        srun "$mpi" "${on_these[@]}" -N3 -n6 "$clients/linger") >"$out" 2>&1 </dev/null &
    step=$!
    until_true 40 there
}
there() { (($(grep -c '^there' "$out") == 6)); }
end() {
    end_jobs
    wait "$step" 2>/dev/null
    until_true 40 eval '[[ -z $(listening) ]]' # a daemon may outlive its job a little, with its port
}

# Prints the local addresses, without the port, of the daemons on all hosts. libpmix' own port for the tasks of its
# host is on the loopback interface and is none of these.
listening() {
    local host
    for host in "${hosts[@]}"; do
        on_host "$host" ss -Hltnp | awk '/pmixhostd/ && $4 !~ /^127\.|^\[::1\]/ {print $4}'
    done
}
connections() { # the far ends
    local host
    for host in "${hosts[@]}"; do
        on_host "$host" ss -Htnp state established | awk '/pmixhostd/ && $4 !~ /^127\.|^\[::1\]/ {print $4}'
    done
}

# The session of a test before this one may just be leaving.
until_true 40 eval '[[ -z $(listening) ]]'

# ---------------------------------------------------------------------------------------- ports

configure '[transport]' 'ports = "21000-21003"'
ok "a step runs with four ports to choose from" start
ports=$(listening | sed 's/.*://')
is "each of its daemons listens on one" "$(wc -l <<<"$ports")" 3
is "and on none but these" "$(grep -vxE '2100[0-3]' <<<"$ports")" ""
end

configure '[transport]' 'ports = 21000'
ok "one port is enough for a step alone" start
is "which its daemons all have" "$(listening | sed 's/.*://' | uniq -c | tr -s ' ')" " 3 21000"
run_srun --overlap -w "${hosts[0]},${hosts[1]}" -N2 -n2 "$clients/hello"
like "and a second step on these hosts is told which option to change" "$output" 'transport\.ports'
end

# ----------------------------------------------------------------------------------------- IPv6

net=fd99:6::
number=0
for host in "${hosts[@]}"; do
    number=$((number + 1))
    on_host "$host" sh -c "ip link add link eth0 name six type macvlan mode bridge && ip link set six up &&
        ip -6 addr add $net$number/64 dev six nodad" 2>&1 | sed 's/^/# /'
done
six=$(on_host "${hosts[2]}" ip -6 addr show dev six 2>/dev/null || true)
if [[ $six == *$net* ]]; then
    configure '[transport]' 'interfaces = ["six"]'
    ok "a step runs over an interface that has IPv6 addresses only" start
    is "each of its daemons has a connection" "$(connections | wc -l | awk '{print ($1 >= 4)}')" 1
    is "and none that is not of this network" "$(connections | grep -v "^\[$net")" ""
    end
    job_options=("${on_these[@]}")
    client 3 2 fence_data
    ok "fences with data, over IPv6" all_ok 6
    client 3 2 modex
    ok "direct modex, over IPv6" all_ok 6
    job_options=()
    configure '[transport]' 'interfaces = ["seven"]'
    run_srun -N3 -n6 "$clients/hello"
    like "an interface that is not there is named" "$output" 'transport\.interfaces'
else
    skip "IPv6 between daemons" "this kernel has no macvlan"
fi
# This is done in any case, since MPI programs of the scripts after this one would use it.
for host in "${hosts[@]}"; do on_host "$host" ip link del six 2>/dev/null; done

configure
ok "nothing is left" no_litter 20
done_testing
