#!/bin/bash
# shellcheck disable=SC2016 # what the inner shells are to expand
# Why the test cluster cannot be had on a machine, as contrib/quickstart says it: in a plain chroot, and for a root who
# may not make namespaces, as in an unprivileged container.
source=$(realpath "${srcdir:-.}") number=0
echo 1..3
result() { # STATUS TEXT
    ((++number))
    if (($1 == 0)); then echo "ok $number - $2"; else echo "not ok $number - $2"; fi
}
says='source=/ && . "$1" && ! why_no_namespaces && echo nothing'
if ((EUID != 0)) || ! unshare --net --pid --mount --fork true 2>/dev/null || ! command -v setpriv >/dev/null; then
    for _ in 1 2 3; do echo "ok $((++number)) - # SKIP it takes root who can make namespaces, and setpriv"; done
    exit 0
fi
[[ $(bash -c "$says" - "$source/contrib/cluster/setup.sh" 2>&1) == nothing ]]
result $? "on this machine there is no reason"
said=$(setpriv --bounding-set -sys_admin --inh-caps -sys_admin bash -c "$says" - "$source/contrib/cluster/setup.sh" 2>&1)
[[ $said == *"does not let root make namespaces (an unprivileged container?)"* ]]
result $? "root without the right to"
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
cp "$source/contrib/cluster/setup.sh" "$root/setup.sh"
mkdir "$root/usr" "$root/dev"
: >"$root/dev/null"
for directory in bin lib lib64; do ln -s "usr/$directory" "$root/$directory"; done
said=$(unshare --mount --propagation private bash -c '
    mount -n --bind /usr "$1/usr" && mount -n --bind /dev/null "$1/dev/null" && exec chroot "$1" bash -c "$2" - /setup.sh' - "$root" "$says" 2>&1)
[[ $said == *"the root of this chroot is no mount point"* ]]
result $? "a plain chroot"
