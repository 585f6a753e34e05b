# shellcheck shell=bash
# What run-deb and run-rpm have in common: packages as a site has them, made, installed beside the system's own Slurm,
# used, upgraded under a job that runs, removed without a trace. The tests are site.sh; what differs between the kinds is
# in deb.sh and rpm.sh. For sourcing; it needs $kind and $tools.
#
# Usage: run-deb|run-rpm BUILD_DIR [--packages DIR] [--hosts N]
# BUILD_DIR is a build of any configuration, for the test clients; the packages of DIR are those that contrib/package
# has made, else it makes them. Needs root.
#
# The machine's own files stay as they are: all of it happens in a mount namespace, in which an overlay on a tmpfs
# takes what is written.
set -euo pipefail
: "${kind:?}" "${tools:?}" # deb or rpm, and the programs that it needs; set by who sources this
source=$(realpath "$(dirname "$0")/../..")
me=${0##*/}
PATH=$PATH:/usr/sbin:/sbin
build='' packages='' made='' hosts=3 dir='' pid=''

die() { echo "Bail out! $me: $*"; exit 1; }

parse() {
    while (($#)); do
        case $1 in
            --packages) packages=$(realpath -e "${2:?}") || die "there is no '$2'"; shift ;;
            --hosts) hosts=${2:?}; shift ;;
            -*) die "unknown option '$1'" ;;
            *) build=$(realpath "$1") ;;
        esac
        shift
    done
    [[ -f $build/config.status ]] || die "'$build' is no build directory; next: $me BUILD_DIR"
}

# ------------------------------------------------------------------------ in the mount namespace

# into_overlay PATH ...: the root is the machine's with a layer over it, but for PATHs, which are the machine's.
into_overlay() {
    local path layer=/mnt
    mount -n -t tmpfs -o mode=755 tmpfs "$layer"
    mkdir "$layer/upper" "$layer/work" "$layer/root"
    mount -n -t overlay -o "lowerdir=/,upperdir=$layer/upper,workdir=$layer/work" overlay "$layer/root"
    for path in /proc /sys /dev /run /tmp "$@"; do
        mkdir -p "$layer/root$path"
        mount -n --rbind "$path" "$layer/root$path"
    done
    cd "$layer/root"
    pivot_root . mnt
    cd /
    # What is written can be looked at there.
    mount -n --bind /mnt/mnt/upper /media
    umount -n -l /mnt
}

inside() { # BUILD PACKAGES DIR HOSTS MACHINE
    into_overlay "$source" "$1" "$2" "$3" || { echo "1..0 # SKIP no overlay can be mounted here"; exit 0; }
    export PMIXHOST_SOURCE=$source PMIXHOST_BUILD=$1 PMIXHOST_PACKAGES=$2 PMIXHOST_CLUSTER_DIR=$3 PMIXHOST_HOSTS=$4
    export PMIXHOST_LAYER=/media PMIXHOST_MACHINE=$5
    export PMIXHOST_CLUSTER=$source/contrib/cluster/cluster PMIXHOST_CLIENTS=$1/test/e2e/clients
    export PMIXHOST_CONFIG_FILE=/etc/pmixhost/pmixhost.conf
    exec "$source/test/package/$kind.sh"
}

# -------------------------------------------------------------------------------- outside of it

# shellcheck disable=SC2317 # the trap calls it
clean() {
    local code=$?
    trap - EXIT
    trap '' INT TERM HUP
    if [[ -n $pid ]]; then kill "$pid" 2>/dev/null || true; fi
    if [[ -n $dir ]]; then
        if [[ -e $dir/cluster ]]; then "$source/contrib/cluster/cluster" down --dir "$dir/cluster" || true; fi >&2
        rm -rf "$dir"
    fi
    [[ -z $made ]] || rm -rf "$made"
    exit "$code"
}

make_packages() {
    made=$(mktemp -d "${TMPDIR:-/tmp}/pmixhost-packages.XXXXXX")
    packages=$made
    "$source/contrib/package" "$kind" --out "$packages" >"$build/package-$kind.log" 2>&1 || {
        sed 's/^/# /' "$build/package-$kind.log"
        die "contrib/package $kind failed; above is why"
    }
    sed 's/^/# /' "$build/package-$kind.log"
}

if [[ ${1:-} == _inside ]]; then
    shift
    inside "$@"
fi
parse "$@"
trap clean EXIT
trap 'exit 130' INT TERM HUP
((EUID == 0)) || { echo "1..0 # SKIP a Slurm cluster on one machine needs root"; exit 0; }
for tool in $tools; do
    command -v "$tool" >/dev/null || { echo "1..0 # SKIP there is no $tool"; exit 0; }
done
unshare --mount --net --pid --fork true 2>/dev/null ||
    { echo "1..0 # SKIP this machine does not let root make namespaces (an unprivileged container, or a plain chroot?)"; exit 0; }
[[ ! -e /usr/libexec/pmixhost ]] || { echo "1..0 # SKIP pmixhost is installed on this machine"; exit 0; }
make -C "$build" -j "$(nproc)" test/e2e/clients/hello test/e2e/clients/spawn >"$build/package-clients.log" 2>&1 ||
    die "the test clients do not build; next: see $build/package-clients.log"
[[ -n $packages ]] || make_packages
dir=$(mktemp -d "${TMPDIR:-/tmp}/pmixhost-$kind.XXXXXX")
chmod 755 "$dir"
# In the background, so that a signal to this script is heard at once.
unshare --mount --propagation private "$0" _inside "$build" "$packages" "$dir" "$hosts" "/proc/$$/root" &
pid=$!
code=0
wait "$pid" || code=$?
pid=''
exit "$code"
