#!/bin/bash
# shellcheck disable=SC2154,SC2016 # what words.sh sets; what eval is to expand
# From a package to the first job, an upgrade under a job that runs, and the removal. Run by test/package/run-deb
# in a root that is thrown away afterwards; installs into it as a site would, with dpkg.
#   PMIXHOST_PACKAGES   the folder of the packages
#   PMIXHOST_HOSTS      how many hosts the cluster has
#   PMIXHOST_MACHINE    the root of the machine itself
#   PMIXHOST_LAYER      what differs from it in this one
cluster_dir=$PMIXHOST_CLUSTER_DIR
newer=$cluster_dir/newer
mkdir "$cluster_dir/cluster" "$newer"
export PMIXHOST_CLUSTER_DIR=$cluster_dir/cluster
export DEBIAN_FRONTEND=noninteractive

# What differs from the machine's own root, but for what dpkg and its triggers keep for themselves.
differences() {
    local path
    (cd "$PMIXHOST_LAYER" && find . -mindepth 1 \( -path ./var/lib/dpkg -o -path ./var/cache -o -path ./var/log \) \
        -prune -o -print) | while IFS= read -r path; do
        if [[ -c $PMIXHOST_LAYER/$path ]]; then
            echo "removed ${path#.}"
        elif [[ ! -e $PMIXHOST_MACHINE/$path && ! -L $PMIXHOST_MACHINE/$path ]]; then
            echo "new ${path#.}"
        elif [[ -f $PMIXHOST_LAYER/$path ]] && ! cmp -s "$PMIXHOST_LAYER/$path" "$PMIXHOST_MACHINE/$path"; then
            echo "changed ${path#.}"
        fi
    done
}
installed() { dpkg-query -W -f '${Version}' "$1" 2>/dev/null; }
package() { # NAME FOLDER
    local found
    found=$(compgen -G "$2/$1_*.deb" | sort -V | tail -n 1)
    echo "${found:-no-package-of-$1}"
}

# The same files as a newer package: of another revision no byte in them would differ.
make_newer() { # NAME ...
    local name version folder=$newer/tree
    for name; do
        rm -rf "$folder"
        dpkg-deb -R "$(package "$name" "$PMIXHOST_PACKAGES")" "$folder" || return
        version=$(sed -n 's/^Version: //p' "$folder/DEBIAN/control")
        sed -i -e "s/^Version: .*/&.1/" -e "s/pmixhost (= $version)/pmixhost (= $version.1)/" "$folder/DEBIAN/control"
        dpkg-deb --root-owner-group -Znone -b "$folder" "$newer/${name}_$version.1.deb" >"$newer/log" || return
    done
}

# ---------------------------------------------------------------------------------- installation

install_log=$(dpkg -i "$(package pmixhost "$PMIXHOST_PACKAGES")" "$(package pmixhost-slurm "$PMIXHOST_PACKAGES")" 2>&1)
install_status=$?
cluster_log=$("$PMIXHOST_CLUSTER" up --dir "$PMIXHOST_CLUSTER_DIR" --hosts "$PMIXHOST_HOSTS" --share "$PMIXHOST_BUILD" \
    --share "$PMIXHOST_SOURCE" 2>&1) || {
    echo "# ${cluster_log//$'\n'/$'\n'# }"
    echo "Bail out! deb.sh: the cluster did not start; above is why"
    exit 1
}
# shellcheck source=test/e2e/common/words.sh
. "$PMIXHOST_SOURCE/test/e2e/common/words.sh"
end_deb() {
    local code=$?
    "$PMIXHOST_CLUSTER" down --dir "$PMIXHOST_CLUSTER_DIR" 2>&1 | sed 's/^/# /'
    (exit "$code")
    test_end
}
trap end_deb EXIT
export TEST_LIMIT=120 CLIENT_LIMIT=240
output=$install_log status=$install_status
ok "dpkg installs pmixhost and pmixhost-slurm" test "$install_status" = 0
version=$(installed pmixhost)
unlike "no file that was there has changed" "$(differences)" '(^|[[:space:]])(changed|removed) '
for program in /usr/bin/pmixhost /usr/libexec/pmixhost/pmixhostd "$(echo /usr/lib/*/slurm-wlm/mpi_pmixhost.so)"; do
    like "${program##*/} is stripped" "$(readelf -SW "$program" | grep -c -E '\.(symtab|debug_info)')" '^0$'
done

run srun --mpi=list
like "Slurm finds the plugin where its own are" "$output" '(^|[[:space:]])pmixhost($|[[:space:]])'
client "$PMIXHOST_HOSTS" 2 hello
ok "the first job runs" all_ok $((PMIXHOST_HOSTS * 2))
if mpicc -O -o "$test_dir/hello" "$PMIXHOST_SOURCE/contrib/cluster/hello.c" 2>/dev/null; then
    run_srun -N "$PMIXHOST_HOSTS" -n "$PMIXHOST_HOSTS" "$test_dir/hello"
    is "and an MPI program" "$(grep -c 'the sum of all ranks is' <<<"$output")" "$PMIXHOST_HOSTS"
else
    skip "and an MPI program" "there is no mpicc"
fi
run pmixhost run --hosts 2 -n 4 "$clients/hello"
is "the local backend works too" "$(grep -c '^ok [0-9]*$' <<<"$output")" 4
run pmixhost version
like "pmixhost version names both backends" "$output" 'local.*slurm|slurm.*local'

# ------------------------------------------------------------------- an upgrade under running jobs

daemons() { # HOST: "PID EXECUTABLE" of each
    # shellcheck disable=SC2016 # for the inner shell
    on_host "$1" bash -c 'for p in $(pgrep -x pmixhostd); do echo "$p $(readlink "/proc/$p/exe")"; done'
}
sed -i 's/^#idle = .*/idle = "7s"/' "$PMIXHOST_CONFIG_FILE"
like "the installed pmixhost.conf is what is in force" "$(pmixhost config --show | grep -E 'idle.*7')" \
    "$PMIXHOST_CONFIG_FILE"
ok "a newer package can be made" make_newer pmixhost pmixhost-slurm

out=$test_dir/running
(cd "$test_dir" && exec timeout -k 5 240 "${on_cluster[@]}" --user pmixuser1 -- \
    salloc -Q -N "$PMIXHOST_HOSTS" --ntasks-per-node=8 srun "$mpi" -N "$PMIXHOST_HOSTS" -n "$PMIXHOST_HOSTS" \
    "$clients/spawn" times=2 await="$test_dir/go-on" count=2) >"$out" 2>&1 </dev/null &
job=$!
spawned() { [[ $(grep -c '^spawned ' "$out") == "$1" ]]; }
ok "a job runs, and has spawned another" until_true 120 spawned 1
old_daemons=$(daemons n1)
output=$(dpkg -i "$(package pmixhost "$newer")" "$(package pmixhost-slurm "$newer")" 2>&1)
status=$?
ok "an upgrade meanwhile" passed
is "is one" "$(installed pmixhost) $(installed pmixhost-slurm)" "$version.1 $version.1"
like "what was changed in pmixhost.conf is kept" "$(pmixhost config --show | grep -E 'idle.*7')" "$PMIXHOST_CONFIG_FILE"
still=$(daemons n1)
is "the job's daemons are the same as before" "$(cut -d' ' -f1 <<<"$still")" "$(cut -d' ' -f1 <<<"$old_daemons")"
unlike "of the program that they started with" "$still" 'pmixhostd($|'$'\n'')'
client "$PMIXHOST_HOSTS" 1 hello
ok "a job of the newer one runs beside it" all_ok "$PMIXHOST_HOSTS"
: >"$test_dir/go-on"
wait "$job"
status=$? output=$(cat "$out")
ok "the older one goes on, spawns once more by the newer daemons, and ends well" eval \
    'passed && spawned 2 && (($(grep -c "^ok [0-9]*$" "$out") == PMIXHOST_HOSTS && $(grep -c "^child " "$out") == 4))'

# --------------------------------------------------------------------------------------- removal

end_jobs
ok "nothing of it runs on" no_litter 40
kept() { find "$PMIXHOST_CLUSTER_DIR/hosts" -name 'pmixhost_topology*'; }
unlike "steps have kept the topology of their hosts" "$(kept)" '^$'
output=$(SLURM_CONF=$PMIXHOST_CLUSTER_DIR/etc/slurm.conf dpkg -P pmixhost-slurm pmixhost 2>&1)
status=$?
ok "dpkg removes both" passed
is "and what steps have kept" "$(kept)" ""
is "and nothing is left" "$(differences)" ""
run_srun -n1 true
ok "--mpi=pmixhost is refused then" failed
run srun --mpi=none -n1 true
ok "Slurm's own jobs go on" passed
done_testing
