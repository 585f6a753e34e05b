#!/bin/bash
# srun --container BUNDLE: Slurm starts each task with an OCI runtime (oci.conf), here crun without root. The containers
# have the host's programs and nothing else of it: a /tmp, /dev/shm and process numbers of their own.
. "$(dirname "$0")/../common/words.sh"
TEST_LIMIT=60
unset CLIENT_DIR # not seen inside

if ! command -v crun >/dev/null; then
    skip "srun --container" "there is no crun"
    done_testing
    exit
fi

id=$(as_user root id -u "$TEST_USER")
conf=$PMIXHOST_CLUSTER_DIR/etc/oci.conf
bundle=$test_dir/bundle
first_two=$(hosts_of_cluster | head -n 2 | paste -sd,)
end_oci() {
    local code=$? host
    rm -f "$conf"
    for host in ${first_two//,/ }; do on_host "$host" umount -n /sys/fs/cgroup 2>/dev/null; done
    (exit "$code")
    test_end
}
trap end_oci EXIT
# crun does not start where this is nothing, also if it is to use no cgroups.
for host in ${first_two//,/ }; do on_host "$host" mount -n -t tmpfs tmpfs /sys/fs/cgroup; done

# What is shared by all hosts is seen inside as well, where it lies outside of the container's own directories.
mkdir -p "$bundle/rootfs" "$test_dir/runtime"
mounts='{"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},
    {"destination": "/proc", "type": "proc", "source": "proc"}'
for path in /dev /sys /usr /etc "$PMIXHOST_BUILD" "$PMIXHOST_SOURCE" "$PMIXHOST_CLUSTER_DIR"; do
    mounts+=", {\"destination\": \"$path\", \"type\": \"none\", \"source\": \"$path\", \"options\": [\"rbind\"]}"
done
mounts+=', {"destination": "/dev/shm", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]}'
for path in /bin /sbin /lib*; do [[ ! -L $path ]] || ln -s "usr$path" "$bundle/rootfs$path"; done
# Two hosts begin at once, and crun fails where the other one has just made a place to mount at.
for path in /tmp /proc /dev /sys /usr /etc "$PMIXHOST_BUILD" "$PMIXHOST_SOURCE" "$PMIXHOST_CLUSTER_DIR"; do
    mkdir -p "$bundle/rootfs$path"
done
touch "$bundle/rootfs/inside"
ids="[{\"containerID\": $id, \"hostID\": $id, \"size\": 1}]"
cat >"$bundle/config.json" <<TXT
{"ociVersion": "1.0.0", "root": {"path": "rootfs"}, "mounts": [$mounts],
 "process": {"user": {"uid": $id, "gid": $id}, "args": ["true"], "cwd": "/", "env": []},
 "linux": {"namespaces": [{"type": "user"}, {"type": "mount"}, {"type": "pid"}, {"type": "ipc"}],
           "uidMappings": $ids, "gidMappings": $ids}}
TXT
chown -R "$id" "$bundle" "$test_dir/runtime"
crun="crun --cgroup-manager=disabled --rootless=true --root=$test_dir/runtime"
cat >"$conf" <<TXT
RunTimeQuery="$crun state %n.%j.%s.%t"
RunTimeKill="$crun kill -a %n.%j.%s.%t"
RunTimeDelete="$crun delete --force %n.%j.%s.%t"
RunTimeRun="$crun run --bundle %b %n.%j.%s.%t"
TXT

# in_container TASKS-PER-HOST PROGRAM ...: on two hosts
in_container() {
    local per=$1
    shift
    run_srun --container="$bundle" -w "$first_two" -N2 -n $((2 * per)) --ntasks-per-node="$per" "$@"
}
spawning() { # PROGRAM ...: a task in a container and one room for children on each of two hosts
    run salloc -Q -w "$first_two" -N2 --ntasks-per-node=4 srun "$mpi" --container="$bundle" -N1 -n1 "$@"
}
told() { grep -c 'pmixhost: there is no PMIx in a --container' <<<"$output"; }

in_container 1 ls /inside
is "tasks are in a container" "$status $(grep -c '^/inside$' <<<"$output")" "0 2"
version=$(as_user root srun --version)
if [[ $(printf '%s\n' "${version#* }" 23.02 | sort -V | head -n 1) != 23.02 ]]; then
    is "with a Slurm that gives them no variables of a task: one line of it" "$(told)" 1
    in_container 1 "$clients/hello"
    ok "PMIx_Init fails there" failed
    is "with the same line" "$(told)" 1
    run srun --mpi=none --container="$bundle" -w "$first_two" -N2 -n2 ls /inside
    is "without pmixhost nothing is said" "$status $(told)" "0 0"
    skip "PMIx in containers" "Slurm ${version#* } gives tasks in containers none of their variables"
else
    is "nothing is said of it" "$(told)" 0
    for program in hello "modex all" fence_data "publish rules"; do
        # shellcheck disable=SC2086 # with an argument
        in_container 2 "$clients/"$program
        ok "${program% *}" says_ok 4
    done
    in_container 1 "$clients/abort" all 42 words
    is "an abort comes to srun" "$status" 42
    spawning "$clients/spawn" count=2 pmix.mapby=node
    is "PMIx_Spawn" "$status $(grep -c '^child [01] of 2' <<<"$output")" "0 2"
    spawning "$clients/spawn" pmix.mapby=node count=2 -- /bin/ls /inside
    is "the children are in the container" "$(grep -c '^/inside$' <<<"$output")" 2
    spawning "$clients/spawn" -- "$clients/spawn" child 2
    ok "and their children" eval 'passed && (($(grep -c "^child " <<<"$output") > 2))'
    if [[ -x $clients/mpi_allreduce ]]; then
        OMPI_MCA_btl=self,tcp in_container 2 "$clients/mpi_allreduce"
        ok "MPI_Allreduce" says_ok 4
    else
        skip "MPI_Allreduce" "there was no mpicc"
    fi
fi
ok "nothing is left on any host" no_litter 20
done_testing
