#!/bin/bash
# Programs in containers. First what is put before the command lines of spawned programs, so that they come into one
# as their parents did; then a container that has its own PMIx library, Open MPI, /tmp and /dev/shm, and no munge: the
# root file system of another release of Debian (PMIXHOST_OTHER_ROOT, as contrib/release makes them), in a user
# namespace of each task.
. "$(dirname "$0")/../common/words.sh"
TEST_LIMIT=120
unset CLIENT_DIR
export UCX_TLS=tcp,self OMPI_MCA_mpi_yield_when_idle=1

spawn=$PMIXHOST_CLIENTS/spawn
# spawning PREFIX OPTION ... : two hosts with room for children; rank 0 of one spawns.
spawning() {
    local prefix=$1
    shift
    run env PMIXHOST_SLURM_SPAWN_PREFIX="$prefix" salloc -Q -N2 --ntasks-per-node=6 srun "$mpi" -N1 -n1 "$@"
}
lines() { grep -c "$1" <<<"$output"; } # REGEX

# --- the prefix, without a container

cat >"$test_dir/prefix" <<'SH'
#!/bin/sh
echo "entering for $2 in ${PMIXHOST_SPAWN_DIRECTORY-no directory} at $PWD with $1"
shift
exec "$@"
SH
chmod 755 "$test_dir/prefix"
spawning "$test_dir/prefix 'two words'" "$spawn" count=2
ok "spawned programs are started with what the user names" \
    eval 'passed && (($(lines "^entering for $spawn in .* with two words$") == 2 && $(lines "^child ") == 2))'
spawning "$test_dir/prefix x" "$spawn" -- "$spawn" child 2
ok "and what these spawn, and so on" \
    eval 'passed && (($(lines "^entering ") == $(lines "^child ") && $(lines "^child ") > 2))'
spawning "$test_dir/prefix x" "$spawn" pmix.wdir=/usr -- /bin/echo inside
like "PMIX_WDIR" "$output" 'entering for /bin/echo in /usr at /usr with x'
spawning "$test_dir/prefix x" "$spawn" pmix.wdir=/only/inside -- /bin/echo inside
like "a directory that is not there outside: the prefix knows it" \
    "$output" 'entering for /bin/echo in /only/inside at / with x'
spawning "/bin/echo would run" "$spawn" -- /only/inside a 'b  c'
like "nor need the program be there outside" "$output" 'would run /only/inside a b  c'
# shellcheck disable=SC2016 # for the child's shell
spawning "$test_dir/prefix x" "$spawn" pmix.envar.set=PATH=/nowhere env=FOR=it -- \
    /bin/sh -c 'echo it is for $FOR, in $PATH'
like "its environment" "$output" 'it is for it, in /nowhere'
configure '[slurm]' "spawn_prefix = \"$test_dir/prefix 'of the site'\""
spawning '' "$spawn" -- /bin/echo inside
ok "an empty one of the user's stands before the site's" eval 'passed && (($(lines "^entering ") == 0 && $(lines "^inside") == 1))'
run salloc -Q -N2 --ntasks-per-node=6 srun "$mpi" -N1 -n1 "$spawn" -- /bin/echo inside
like "what the site names in pmixhost.conf" "$output" 'entering for /bin/echo .* with of the site'
configure
spawning "no/such/runtime exec" "$spawn" status=ERROR -- /bin/echo inside
ok "a prefix that cannot be executed is an error that its parent lives with" eval 'passed && (($(lines "^refused ") == 1))'
like "and the user is told" "$output" 'no/such/runtime'
spawning "no-such-runtime exec" "$spawn" status=ERROR -- /bin/echo inside
like "nor one that is not in PATH" "$output" 'no program no-such-runtime in PATH, with which /bin/echo .*spawn_prefix'
spawning "enter 'the image" "$spawn"
ok "with a quote too few the step does not begin" failed
like "and the user is told which setting it is" "$output" "PMIXHOST_SLURM_SPAWN_PREFIX: .*a ' has no second one"

# --- a container of the same release that does not see the daemon's files

cat >"$test_dir/hide" <<'SH'
#!/bin/bash
if [[ ${1:-} != --inside ]]; then
    exec unshare --user --map-current-user --keep-caps --mount --propagation private "$0" --inside "$@"
fi
mount -t tmpfs tmpfs "$PMIX_SERVER_TMPDIR" && exec setpriv --ambient-caps=-all --inh-caps=-all "${@:2}"
SH
chmod 755 "$test_dir/hide"
run_srun -O -N2 --ntasks-per-node=2 "$test_dir/hide" "$PMIXHOST_CLIENTS/modex"
ok "modex without the daemon's files" says_ok 4
run env PMIX_MCA_gds=hash srun "$mpi" -O -N2 --ntasks-per-node=2 "$test_dir/hide" "$PMIXHOST_CLIENTS/modex"
ok "and without libpmix' word about them" eval 'says_ok 4 && (($(lines "PMIX ERROR") == 0))'

# --- another release of Debian

root=${PMIXHOST_OTHER_ROOT:-}
if [[ -z $root || ! -x $root/usr/bin/gcc || -z $(find "$root/usr/lib" "$root/usr/include" -name pmix.h -print -quit 2>/dev/null) ]]; then
    skip "programs of another release's root file system" \
        "PMIXHOST_OTHER_ROOT ('$root') names none that has gcc and libpmix-dev (contrib/release makes one)"
    done_testing
    exit 0
fi

# What a runtime for HPC does, in the shell: each task is entered by itself, without privilege, and has no capabilities
# in the end. /mnt/clients is there inside only. OWN="WORD ...": of tmp, shm the container's own.
{
    printf '#!/bin/bash\nroot=%q clients=%q work=%q\n' "$root" "$test_dir/clients" "$test_dir"
    cat <<'SH'
set -e
if [[ ${1:-} != --inside ]]; then
    exec unshare --user ${MAP:---map-current-user} --keep-caps --mount --propagation private "$0" --inside "$@"
fi
shift
mount --rbind "$root" "$root"
cd "$root"
for each in proc sys dev; do mount --rbind "/$each" "$each"; done
[[ " $OWN " != *" shm "* ]] || mount -t tmpfs tmpfs dev/shm
if [[ " $OWN " == *" tmp "* ]]; then mount -t tmpfs tmpfs tmp; else mount --rbind /tmp tmp; fi
mount -t tmpfs tmpfs mnt
mkdir mnt/clients mnt/work
mount --bind "$clients" mnt/clients
mount --bind "$work" mnt/work
exec chroot . setpriv --ambient-caps=-all --inh-caps=-all env -C /mnt/work "$@"
SH
} >"$test_dir/enter"
chmod 755 "$test_dir/enter"
mkdir "$test_dir/clients"

# With the other release's compilers and headers; nothing of its root is written to.
programs=(hello modex fence_data publish spawn connect group events)
mpi_programs=(mpi_init mpi_allreduce mpi_dynamic)
# shellcheck disable=SC2016 # for the shells inside
build_inside='set -e
root=$1 source=$2 clients=$3
shift 3
mount --rbind "$root" "$root"
cd "$root"
mount -t tmpfs tmpfs mnt
mount -t tmpfs tmpfs tmp
mkdir mnt/source mnt/clients
mount --bind "$source" mnt/source
mount --bind "$clients" mnt/clients
exec chroot . /bin/bash -ec "
    cd /mnt/source/test/e2e/clients
    for each in \$1; do gcc -O1 -o /mnt/clients/\$each \$each.c \$(pkg-config --cflags --libs pmix); done
    ! command -v mpicc >/dev/null || for each in \$2; do mpicc -O1 -o /mnt/clients/\$each \$each.c; done
    gcc -O1 -o /mnt/clients/version -x c - \$(pkg-config --cflags --libs pmix) <<<\"
        #include <pmix.h>
        #include <stdio.h>
        int main(void) { puts(PMIx_Get_version()); }\"" build "$1" "$2"'
said=$(unshare --mount --propagation private bash -c "$build_inside" build "$root" "$PMIXHOST_SOURCE" "$test_dir/clients" \
    "${programs[*]}" "${mpi_programs[*]}" 2>&1) || diag "$said"
ok "the other release's compiler builds the clients" test -x "$test_dir/clients/version"

# in_container HOSTS RANKS-PER-HOST PROGRAM ...
own='tmp shm'
in_container() {
    local hosts=$1 per=$2
    shift 2
    until_true 30 none_clears_up # else the job gets other hosts than the first ones
    run env OWN="$own" srun "$mpi" -O -N "$hosts" -n $((hosts * per)) --ntasks-per-node="$per" "$test_dir/enter" "$@"
}
spawning_inside() { OWN=$own spawning "$test_dir/enter" "$test_dir/enter" "$@"; } # PROGRAM ...
told() { grep 'pmixhost: ' <<<"$output"; }

release=$(. "$root/etc/os-release" && echo "$VERSION_CODENAME")
run srun --mpi=none -n1 env OWN="$own" "$test_dir/enter" /mnt/clients/version
theirs=$(grep -m1 -o '[0-9]*\.[0-9]*\.[0-9]*' <<<"$output" | head -n1)
ours=$(pkg-config --modversion pmix)
ours=$(grep -o '^[0-9]*\.[0-9]*\.[0-9]*' <<<"$ours")
diag "the container's libpmix is ${theirs:-not known}, pmixhost's is $ours"

for program in hello modex fence_data 'publish rules' 'connect own'; do
    # shellcheck disable=SC2086 # words
    in_container 2 2 /mnt/clients/$program
    ok "$program in the container" eval 'says_ok 4 && [[ -z $(told) ]]'
done

# How many numbers stand in the answer changed with 4.2.4 and 6.0 (server-glue/library/library_version.h).
writing() { # VERSION
    sort -V <<<"$1"$'\n4.2.4\n6.0.0' | grep -n -m1 -Fx "$1" | cut -d: -f1
}
in_container 2 2 /mnt/clients/group all
if [[ $(writing "$theirs") == "$(writing "$ours")" ]]; then
    ok "a group in the container" says_ok 4
    skip "a group of another libpmix: one line for the user" "libpmix $theirs and $ours write about groups alike"
    skip "it names both versions, and what to do" "the same"
else
    ok "a group of another libpmix: an error for all" eval 'failed && (($(lines "^FAIL [0-3]: construct ") == 4))'
    is "one line for the user" "$(told | wc -l)" 1
    like "it names both versions, and what to do" "$(told)" \
        "n[12]: PMIx_Group_construct cannot work for rank [0-3]: .*container.* is $theirs, that of pmixhost is $ours, .*Next: "
fi

MAP=--map-root-user in_container 2 1 /mnt/clients/hello
ok "a container with another uid inside: an error" failed
is "and one line for the user" "$(told | wc -l)" 1
like "which tells why" "$(told)" 'n[12]: PMIx_Init of rank [01] is refused: it claims uid 0 and is of uid [0-9]*\. In a container'

until_true 30 none_clears_up
spawning_inside /mnt/clients/spawn count=2 pmix.mapby=node
ok "PMIx_Spawn: the children are in the container" \
    eval 'passed && (($(lines "^child [01] of 2 .* on n1") == 1 && $(lines "^child [01] of 2 .* on n2") == 1))'
spawning_inside /mnt/clients/spawn -- /mnt/clients/spawn child 2
ok "and their children" eval 'passed && (($(lines "^child ") > 2))'
# shellcheck disable=SC2016 # for the child's shell
spawning_inside /mnt/clients/spawn -- /bin/sh -c '. /etc/os-release; echo "child in $VERSION_CODENAME"'
like "it is the container's release" "$output" "child in $release"
spawning '' "$test_dir/enter" /mnt/clients/spawn status=ERROR
like "without a prefix the user reads what is not there" "$output" 'cannot (execute|enter the directory) /mnt/'

if [[ -x $test_dir/clients/mpi_allreduce ]]; then
    in_container 2 2 /mnt/clients/mpi_init
    ok "MPI_Init in the container" passed
    own=tmp in_container 2 2 /mnt/clients/mpi_allreduce
    ok "MPI_Allreduce with the host's /dev/shm" says_ok 4
    OMPI_MCA_btl=self,tcp in_container 2 2 /mnt/clients/mpi_allreduce
    ok "MPI_Allreduce by TCP, with a /dev/shm of each task" says_ok 4
    own=tmp spawning_inside /mnt/clients/mpi_dynamic spawn 3 2
    ok "MPI_Comm_spawn" eval 'passed && (($(lines "^child ok$") == 6))'
    own=tmp spawning_inside /mnt/clients/mpi_dynamic deep 2
    ok "MPI_Comm_spawn by children" eval 'passed && (($(lines "^child ok$") == 2))'
else
    skip "Open MPI in the container" "there is no mpicc in $root"
fi
ok "nothing is left on any host" no_litter 20
done_testing
