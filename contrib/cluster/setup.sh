# shellcheck shell=bash
# What contrib/quickstart and contrib/check have in common: to say what is done, to install what
# is missing, and to build without leaving anything in the source tree. For sourcing; it needs
# $source (the source tree) and $work (a directory for builds and logs).

: "${source:?}" # set by who sources this
me=${0##*/}
PATH=$PATH:/usr/sbin:/sbin

say() { echo "== $*"; }

# why_no_namespaces: fails where root can make those that the test cluster needs; else says in a few words why not. In a
# plain chroot nobody can make a mount namespace of his own: its root is no mount point.
why_no_namespaces() {
    local said
    said=$(LC_ALL=C unshare --net --pid --mount --fork true 2>&1) && return 1
    case $said in
        *"root filesystem propagation: Invalid argument"*)
            echo "the root of this chroot is no mount point (outside, before chroot: mount --bind DIR DIR; or contrib/release)" ;;
        *"not permitted"* | *"ermission denied"*)
            echo "this machine does not let root make namespaces (an unprivileged container?)" ;;
        *) echo "namespaces cannot be made: ${said##*$'\n'}" ;;
    esac
}

# step NAME NEXT COMMAND ...: runs COMMAND in a subshell with its output in a log. When it fails,
# says which step it was, shows the end of the log, and what to try next. (COMMAND may be a function;
# "set -e" is off in it.)
step() {
    local name=$1 next=$2 log status=0 begin=$SECONDS
    shift 2
    log=$work/log/${name//[^a-zA-Z0-9.-]/-}.log
    mkdir -p "$work/log"
    say "$name"
    ("$@") >"$log" 2>&1 || status=$?
    if ((status != 0)); then
        echo "$me: step '$name' failed with exit code $status; the end of its log:" >&2
        tail -n "${PMIXHOST_LOG_LINES:-30}" "$log" 2>&1 | sed 's/^/    /' >&2 || true
        echo "$me: next: $next" >&2
        return "$status"
    fi
    say "$name: done in $((SECONDS - begin)) s"
}

# Prints the packages of the given groups of contrib/packages that are not installed.
missing_packages() { # GROUP ...
    local package release
    # shellcheck disable=SC1091 # the system's
    release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    awk -v groups=" $* " -v release="$release" '!/^#/ && NF > 1 { split($1, group, "/") }
        !/^#/ && NF > 1 && index(groups, " " group[1] " ") && (group[2] == "" || group[2] == release) { print $2 }' \
        "$source/contrib/packages" |
        while read -r package; do
            [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
                echo "$package"
        done
}

# Packages with daemons start them when they are installed; the tests have their own.
without_starting_daemons() { # COMMAND ...
    local policy=/usr/sbin/policy-rc.d status=0
    if [[ -e $policy ]]; then
        "$@"
        return
    fi
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    "$@" || status=$?
    rm -f "$policy"
    return "$status"
}

apt_install() { # PACKAGE ...
    apt-get update || return
    DEBIAN_FRONTEND=noninteractive without_starting_daemons \
        apt-get install -y --no-install-recommends "$@" </dev/null
}

# install_packages GROUP ...: false when something is missing and cannot be installed.
install_packages() {
    local missing
    if ! command -v dpkg-query >/dev/null; then
        say "this is not Debian: what is needed is listed in contrib/packages; configure will say what it misses"
        return 0
    fi
    missing=$(missing_packages "$@" | tr '\n' ' ')
    if [[ -z $missing ]]; then
        say "all needed packages ($*) are installed"
        return 0
    fi
    if ((EUID != 0)); then
        echo "$me: these packages are missing: $missing" >&2
        echo "$me: next, as root: apt-get install $missing" >&2
        return 1
    fi
    # shellcheck disable=SC2086 # a list of words
    step "install packages" "'apt-get update' by hand shows whether Debian's archive is in reach; needed are: $missing" \
        apt_install $missing
}

# Copies the source tree without what a build in it made, so that nothing is ever written there.
copy_source() { # DESTINATION
    rm -rf "$1"
    mkdir -p "$1" || return
    source_as_tar | tar -C "$1" --no-same-owner -xf -
}
fingerprint() { source_as_tar | sha256sum; }
source_as_tar() {
    tar -C "$source" --anchored --exclude=./.git --exclude='./build*' --exclude=./configure \
        --exclude=./Makefile --exclude=./config.h --exclude=./config.status --exclude=./libtool \
        --no-anchored --exclude='*.o' --exclude='*.lo' --exclude='*.la' --exclude=.libs \
        --exclude=.deps --exclude=autom4te.cache --sort=name -cf - .
}

# configure_in DIR [OPTION ...]: out of tree; the installation goes into DIR/inst, where tests and
# quickstart use it as a site would.
configure_in() {
    local dir=$1
    shift
    mkdir -p "$dir" && cd "$dir" && "$work/source/configure" --prefix="$dir/inst" \
        --with-slurm-plugindir="$dir/inst/lib/slurm" "$@"
}

jobs_at_once() { nproc 2>/dev/null || echo 2; }

# A temporary directory that ordinary users may enter, so that programs in it can run as they.
make_work_dir() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/pmixhost-$me.XXXXXX")
    chmod 755 "$work"
}
