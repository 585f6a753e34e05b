# shellcheck shell=bash
# What the runners of tests on a Slurm cluster have in common (test/e2e/run-slurm,
# test/fault/run-slurm): the options, a build that is installed, and a fresh cluster that ends with the
# runner. For sourcing; after it:
#   parse "$@"; run_on_cluster FOLDER TARGET ...
# runs the scripts of FOLDER that the options choose; the make TARGETs are what these need beside what
# is installed.
set -euo pipefail
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
me=${0##*/}
# shellcheck source=test/e2e/chosen.sh
. "$source/test/e2e/chosen.sh"
build='' only='' hosts=4 keep='' dir='' cluster_options=()

die() { echo "Bail out! $me: $*"; exit 1; }

parse() {
    while (($#)); do
        case $1 in
            --only) only=${2:?}; shift ;;
            --hosts) hosts=${2:?}; shift ;;
            --keep) keep=yes ;;
            --cluster-option) cluster_options+=("${2:?}"); shift ;;
            -*) die "unknown option '$1'" ;;
            *) build=$(realpath "$1") ;;
        esac
        shift
    done
    [[ -f $build/config.status ]] || die "'$build' is no build directory; next: $me BUILD_DIR"
}

make_variable() { # NAME
    # shellcheck disable=SC2016 # $(...) is for make
    printf 'include Makefile\nshow-it:\n\t@echo $(%s)\n' "$1" | make -s -C "$build" -f - show-it
}

first_error() { grep -m 1 -E '[Ee]rror|\*\*\*' "$1" || tail -n 1 "$1"; }

# install_build TARGET ...: those are built beside what is installed.
install_build() {
    local prefix
    prefix=$(make_variable prefix)
    plugin_dir=$(make_variable slurmplugindir)
    [[ $prefix == "$build"/* && $plugin_dir == "$build"/* ]] ||
        die "$build would install into $prefix and $plugin_dir; next: configure it with --prefix=$build/inst --with-slurm-plugindir=$build/inst/lib/slurm"
    make -C "$build" install >"$build/e2e-install.log" 2>&1 ||
        die "make install failed: $(first_error "$build/e2e-install.log"); next: see $build/e2e-install.log"
    make -C "$build" -j "$(nproc)" "$@" >"$build/e2e-clients.log" 2>&1 ||
        die "the test clients do not build: $(first_error "$build/e2e-clients.log"); next: see $build/e2e-clients.log"
    [[ -e $plugin_dir/mpi_pmixhost.so ]] ||
        die "there is no $plugin_dir/mpi_pmixhost.so; next: install libslurm-dev and configure again"
}

clean() {
    local code=$?
    trap - EXIT
    trap '' INT TERM HUP
    # what a test that was interrupted has left (words.sh)
    [[ -z ${PMIXHOST_CONFIG_FILE:-} ]] || rm -f "$PMIXHOST_CONFIG_FILE"
    if [[ -n $dir && -n $keep ]]; then
        echo "# the cluster keeps running; end it with: $PMIXHOST_CLUSTER down --dir $dir"
    elif [[ -n $dir ]]; then
        if ((code != 0)); then
            "$PMIXHOST_CLUSTER" logs --dir "$dir" 2>&1 | sed 's/^/# /' || true
        fi
        "$PMIXHOST_CLUSTER" down --dir "$dir" || true
    fi
    exit "$code"
}

start_cluster() {
    export PMIXHOST_CLUSTER=$source/contrib/cluster/cluster
    dir=$(mktemp -d "${TMPDIR:-/tmp}/pmixhost-e2e.XXXXXX")
    export PMIXHOST_CLUSTER_DIR=$dir
    chmod 755 "$dir"
    "$PMIXHOST_CLUSTER" up --dir "$dir" --hosts "$hosts" --plugin-dir "$plugin_dir" \
        --share "$build" --share "$source" --ipv6 \
        ${cluster_options[@]+"${cluster_options[@]}"} 2>&1 | sed 's/^/# /' ||
        die "the cluster did not start; above is why"
}

run_on_cluster() { # FOLDER TARGET ...
    local folder=$1 scripts
    shift
    trap clean EXIT
    trap 'exit 130' INT TERM HUP
    ((EUID == 0)) || { echo "1..0 # SKIP a Slurm cluster on one machine needs root"; exit 0; }
    mapfile -t scripts < <(chosen "$only" "$folder")
    ((${#scripts[@]})) || die "no script in $folder matches '$only'"
    install_build "$@"
    start_cluster
    export PMIXHOST_SOURCE=$source PMIXHOST_BUILD=$build
    export PMIXHOST_CLIENTS=$build/test/e2e/clients
    PMIXHOST_CONFIG_FILE=$(make_variable pmixhostsysconfdir)/pmixhost.conf
    export PMIXHOST_CONFIG_FILE
    "$source/test/e2e/tap-merge" "${PMIXHOST_SCRIPT_LIMIT:-600}" "${scripts[@]}"
}
