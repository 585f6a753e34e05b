#!/bin/bash
# pmixhost doctor: says that a good cluster is one, and names what is wrong with others, and its cure.
. "$(dirname "$0")/../common/words.sh"

pmixhost=$(sed -n 's/^PluginDir=\([^:]*\).*/\1/p' "$PMIXHOST_CLUSTER_DIR/etc/slurm.conf")/../../bin/pmixhost
doctor() { # USER HOST [OPTION ...]: sets $output and $status
    status=0
    output=$(cd "$test_dir" && "${on_cluster[@]}" --user "$1" --host "$2" -- timeout -k 5 120 "$pmixhost" doctor "${@:3}" 2>&1) ||
        status=$?
}
bad() { grep -A1 -E '^ *(warning|problem)' <<<"$output"; } # with their cures
summary() { tail -n 1 <<<"$output"; }

# ------------------------------------------------------------------------------------- a good cluster

host=$(host_name 1)
for who in root:head root:"$host" pmixuser1:head pmixuser1:"$host"; do
    doctor "${who%:*}" "${who#*:}"
    is "all is well as ${who%:*} on ${who#*:}" "$status $(bad) $(summary | sed 's/^[0-9]* ok/N ok/')" "0  N ok, 0 warnings, 0 problems"
done
for check in configuration remedies policy directory ports interfaces daemon libpmix library "library faults" gate topology debugging slurm plugin munge clock proctrack; do
    like "it has looked at $check" "$output" "ok +$check +[^ ]"
done
like "and at the topology that the host keeps" "$output" 'ok +topology file +[^ ]*/hosts/[^ ]*/pmixhost_topology'
unlike "nothing of a terminal is in a pipe" "$output" $'\x1b'
doctor pmixuser1 "$host" --json
is "it is JSON" "$(python3 -c 'import json, sys; r = json.load(sys.stdin)[0]; print(r["host"], {f["level"] for f in r["findings"]})' <<<"$output")" \
    "$host {'ok'}"
doctor pmixuser1 "$host" --job 999999
like "a job that is not there" "$status $output" '^1 pmixhost: error: there is no running job 999999'
doctor pmixuser1 "$host" --all-hosts
like "nor is this an allocation" "$status $output" '^1 pmixhost: error: this is not inside of an allocation'
run salloc -Q -N3 "$pmixhost" doctor --all-hosts
is "all hosts of an allocation" "$status $(grep -c '^[a-z]' <<<"$output") $(bad)" "0 3 "
# An srun that leaves one of three hosts out, as if nothing had come from there.
mkdir "$test_dir/bin"
cat >"$test_dir/bin/srun" <<'EOF'
#!/bin/bash
for word; do
    shift
    case $word in --nodes=3 | --ntasks=3) word=${word/=3/=2} ;; esac
    set -- "$@" "$word"
done
PATH=${PATH#*:} exec srun "$@"
EOF
chmod 755 "$test_dir/bin" "$test_dir/bin/srun"
run salloc -Q -N3 env PATH="$test_dir/bin:$PATH" "$pmixhost" doctor --all-hosts
like "a host that does not answer is a problem" "$status $output" "^1 .*problem +hosts +1 of 3 hosts have not answered.*1 problems"
run salloc -Q -N3 "$pmixhost" doctor --all-hosts
like "and their credentials are checked between them" "$output" "munge +makes and checks credentials, another host's too"

# --------------------------------------------------------------------------------- what may be wrong

configure '[transport]' 'ports = "6100-6000"'
doctor pmixuser1 "$host"
like "ports that are no range" "$status $(bad)" '^1 .*pmixhost.conf:2: .*cure: mend that line'
port=6123
# It listens until its input ends.
exec {holder}> >(on_host "$host" timeout 300 python3 -c "
import socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(('', $port)); s.listen(); sys.stdin.read()" >/dev/null 2>&1)
held() { [[ -n $(on_host "$host" ss -Hltn "sport = :$port") ]]; }
until_true 20 held
configure '[transport]' "ports = \"$port\""
doctor pmixuser1 "$host"
like "ports that are taken" "$status $(bad)" "^1 .*transport.ports $port-$port: 0 of 1 free.*cure: .*transport.ports"
doctor pmixuser1 "$(host_name 2)" --quiet
like "are free on another host, though few" "$status $output" '^0 .*warning +ports +transport.ports .* 1 of 1 free'
run salloc -Q -N2 -w "$host,$(host_name 2)" "$pmixhost" doctor --all-hosts --quiet
like "all hosts are told apart" "$status $output" "^1 $host.*problem +ports.*$(host_name 2).*warning +ports.*1 problems"
exec {holder}>&-
configure '[directory]' 'base = "/mnt/gone"'
doctor pmixuser1 "$host"
like "a directory that is missing" "$status $(bad)" '^1 .*problem +directory +/mnt/gone: No such file.*cure: mkdir -m 1777 /mnt/gone'
on_host "$host" mkdir -p /run/full
on_host "$host" mount -t tmpfs -o size=1m,mode=1777 tmpfs /run/full
on_host "$host" sh -c 'head -c 2m /dev/zero >/run/full/file' 2>/dev/null
configure '[directory]' 'base = "/run/full"'
doctor pmixuser1 "$host"
like "a directory that is full" "$status $(bad)" '^1 .*problem +directory +cannot write in /run/full: No space left.*cure: make room'
on_host "$host" umount /run/full
on_host "$host" chmod 755 /run/full
doctor root "$host"
like "one in which root alone may write" "$status $(bad)" '^1 .*problem +directory +only some users may write.*cure: chmod 1777 /run/full'
on_host "$host" rmdir /run/full
configure '[tools]' 'policy = ["allow observe by nobodyofthatname to jobs of anyone from here"]'
doctor pmixuser1 "$host"
like "a rule that makes no sense" "$status $(bad)" '^1 .*pmixhost.conf:2: .*nobodyofthatname.*every tool is refused.*cure: mend that rule'
configure '[tools]' 'policy = ["deny everything by anyone to jobs of anyone from anywhere",' \
    '"allow observe by root to jobs of root from here"]'
doctor pmixuser1 "$host"
like "a rule that never matches" "$status $(bad)" '^0 .*warning +policy .*pmixhost.conf:3: .*can never match.*cure: '
configure
settings=$PMIXHOST_CLUSTER_DIR/home/pmixuser1/.pmix/mca-params.conf
mkdir -p "${settings%/*}"
echo "psec_base_verbose = 0" >"$settings"
doctor pmixuser1 "$host"
like "settings with which libpmix is never started late" "$status $(bad)" "^0 .*warning +library +.*other settings in $settings.*cure: .*daemon.library"
configure '[daemon]' 'library = "early"'
doctor pmixuser1 "$host"
is "which is as it shall be where it is configured so" "$status $(bad)" "0 "
rm -r "${settings%/*}"
configure
kept=$PMIXHOST_CLUSTER_DIR/hosts/$host/spool/pmixhost_topology
run srun "$mpi" -N1 -w "$host" "$clients/hello"
ok "a step has kept the topology" until_true 20 test -s "$kept"
doctor pmixuser1 "$host"
like "which is found" "$output" "ok +topology file +$kept, [0-9]+ KiB"
chmod g+w "$kept"
doctor pmixuser1 "$host"
like "one that others may have written" "$status $(bad)" "^0 .*warning +topology file +$kept is not used.*cure: rm $kept"
chmod g-w "$kept"
doctor pmixuser1 "$host"
is "and all is well again" "$status $(bad)" "0 "

printf '[slurm]\nsrun = "/nowhere/srun"\n' >"$test_dir/other.conf"
chmod a+r "$test_dir/other.conf"
doctor pmixuser1 "$host" --file "$test_dir/other.conf"
like "another file is judged, by the checks of Slurm as well" "$status $output" \
    "^1 .*ok +configuration +$test_dir/other.conf.*problem +srun +slurm.srun is /nowhere/srun"
mkdir "$test_dir/broken"
printf '#!/bin/sh\necho "scontrol: fatal: Could not establish a configuration source" >&2\nexit 1\n' >"$test_dir/broken/scontrol"
chmod 755 "$test_dir/broken" "$test_dir/broken/scontrol"
status=0
output=$(cd "$test_dir" && "${on_cluster[@]}" --user pmixuser1 --host "$host" -- env PATH="$test_dir/broken:$PATH" \
    timeout -k 5 120 "$pmixhost" doctor 2>&1) || status=$?
like "a Slurm that is there and fails is a problem" "$status $(bad)" \
    '^1 .*problem +slurm +scontrol --version ended with exit code 1: .*configuration source.*cure: slurm.conf'
like "and all else is looked at" "$output" 'ok +munge.*ok +srun'

# ------------------------------------------------------------- a Slurm that has no plugin, and no munge

# The cluster finds no plugin where its Slurm looks.
if own_cluster doctor --conf "PluginDir=$(dirname "$(ls /usr/lib/*/slurm-wlm/auth_munge.so)")"; then
    doctor pmixuser1 n1
    like "a plugin that is nowhere" "$status $(bad)" '^1 .*problem +plugin +mpi_pmixhost.so is in no directory of .*cure: PluginDir='
    is "nothing else is wrong" "$(grep -c -E '^ *(warning|problem) ' <<<"$output")" 1
    on_host n1 pkill -x munged
    gone() { ! on_host n1 pgrep -x munged >/dev/null; }
    until_true 20 gone
    doctor root n1
    like "munge that is stopped" "$status $(bad)" '^1 .*problem +munge +.*cannot be reached.*cure: start munged'
    like "the controller does not answer then" "$(bad)" 'problem +slurm +the controller does not answer'
else
    echo "Bail out! ${said##*$'\n'}"
    exit 1
fi
done_testing
