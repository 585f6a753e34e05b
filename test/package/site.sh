# shellcheck shell=bash
# shellcheck disable=SC2154,SC2016 # what words.sh and who sources this set; what eval is to expand
# From a package to the first job, an upgrade under a job that runs, and the removal, in a root that is thrown away
# afterwards; installs into it as a site would. For sourcing by deb.sh and rpm.sh, which define:
#   $manager, $kept_by_manager    who does it, and where it keeps what it knows
#   package NAME FOLDER           prints a pattern for the files of that package
#   installed NAME                prints the version
#   files_of NAME ...             prints their files
#   install_files, upgrade_files FILE ..., remove_packages NAME ...
#   make_newer FOLDER FILE ...    makes newer packages there with the same files: their versions have .1 behind them
#   package_is_right FILE FILE    tests pmixhost and pmixhost-slurm before anything is installed
#   PMIXHOST_PACKAGES   the folder of the packages
#   PMIXHOST_HOSTS      how many hosts the cluster has
#   PMIXHOST_MACHINE    the root of the machine itself
#   PMIXHOST_LAYER      what differs from it in this one
cluster_dir=$PMIXHOST_CLUSTER_DIR
newer=$cluster_dir/newer
mkdir "$cluster_dir/cluster" "$newer"
export PMIXHOST_CLUSTER_DIR=$cluster_dir/cluster

# What differs from the machine's own root, but for what the package manager and its triggers keep for themselves.
differences() {
    local path kept=(-false)
    for path in "${kept_by_manager[@]}"; do kept+=(-o -path ".$path"); done
    (cd "$PMIXHOST_LAYER" && find . -mindepth 1 \( "${kept[@]}" \) -prune -o -print) | while IFS= read -r path; do
        if [[ -c $PMIXHOST_LAYER/$path ]]; then
            echo "removed ${path#.}"
        elif [[ ! -e $PMIXHOST_MACHINE/$path && ! -L $PMIXHOST_MACHINE/$path ]]; then
            echo "new ${path#.}"
        elif [[ -f $PMIXHOST_LAYER/$path ]] && ! cmp -s "$PMIXHOST_LAYER/$path" "$PMIXHOST_MACHINE/$path"; then
            echo "changed ${path#.}"
        fi
    done
}
both() { # FOLDER: the newest of each
    local name
    for name in pmixhost pmixhost-slurm; do
        compgen -G "$(package "$name" "$1")" | sort -V | tail -n 1 | grep . || echo "no-package-of-$name"
    done
}

# ---------------------------------------------------------------------------------- installation

mapfile -t packages < <(both "$PMIXHOST_PACKAGES")
install_log=$(install_files "${packages[@]}" 2>&1)
install_status=$?
cluster_log=$("$PMIXHOST_CLUSTER" up --dir "$PMIXHOST_CLUSTER_DIR" --hosts "$PMIXHOST_HOSTS" --share "$PMIXHOST_BUILD" \
    --share "$PMIXHOST_SOURCE" 2>&1) || {
    echo "# ${cluster_log//$'\n'/$'\n'# }"
    echo "Bail out! $manager.sh: the cluster did not start; above is why"
    exit 1
}
# shellcheck source=test/e2e/common/words.sh
. "$PMIXHOST_SOURCE/test/e2e/common/words.sh"
end_site() {
    local code=$?
    "$PMIXHOST_CLUSTER" down --dir "$PMIXHOST_CLUSTER_DIR" 2>&1 | sed 's/^/# /'
    (exit "$code")
    test_end
}
trap end_site EXIT
export TEST_LIMIT=120 CLIENT_LIMIT=240
output=$install_log status=$install_status
ok "$manager installs pmixhost and pmixhost-slurm" test "$install_status" = 0
version=$(installed pmixhost)
package_is_right "${packages[@]}"
unlike "no file that was there has changed" "$(differences)" '(^|[[:space:]])(changed|removed) '
files=$(files_of pmixhost pmixhost-slurm)
for name in pmixhost pmixhostd mpi_pmixhost.so; do
    program=$(grep -E "/(bin|pmixhost|slurm[^/]*)/$name\$" <<<"$files")
    like "$name is stripped" "$program $(readelf -SW "$program" | grep -c -E '\.(symtab|debug_info)')" '^/[^ ]* 0$'
done
is "no file names the directory in which it was built" \
    "$(tr '\n' '\0' <<<"$files" | xargs -0 grep -lF -d skip -e "$PMIXHOST_SOURCE" -e /pmixhost-package. 2>/dev/null)" ""

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
ok "a newer package can be made" make_newer "$newer" "${packages[@]}"

out=$test_dir/running
(cd "$test_dir" && exec timeout -k 5 240 "${on_cluster[@]}" --user pmixuser1 -- \
    salloc -Q -N "$PMIXHOST_HOSTS" --ntasks-per-node=8 srun "$mpi" -N "$PMIXHOST_HOSTS" -n "$PMIXHOST_HOSTS" \
    "$clients/spawn" times=2 await="$test_dir/go-on" count=2) >"$out" 2>&1 </dev/null &
job=$!
spawned() { [[ $(grep -c '^spawned ' "$out") == "$1" ]]; }
ok "a job runs, and has spawned another" until_true 120 spawned 1
old_daemons=$(daemons n1)
mapfile -t packages < <(both "$newer")
output=$(upgrade_files "${packages[@]}" 2>&1)
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
output=$(SLURM_CONF=$PMIXHOST_CLUSTER_DIR/etc/slurm.conf remove_packages pmixhost-slurm pmixhost 2>&1)
status=$?
ok "$manager removes both" passed
is "and what steps have kept" "$(kept)" ""
is "and nothing is left" "$(differences)" ""
run_srun -n1 true
ok "--mpi=pmixhost is refused then" failed
run srun --mpi=none -n1 true
ok "Slurm's own jobs go on" passed
done_testing
