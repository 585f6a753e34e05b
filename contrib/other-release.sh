# shellcheck shell=bash
# What contrib/check does on another release of Debian than this machine's, all of it in a lane beside the tests
# here: it builds there, then runs the tests that test/unit/on-each-release and test/e2e/on-each-release name.
# For sourcing by contrib/check, whose words it uses.
: "${source:?}" "${work=}"
other='' other_cache='' own_cache=''

# The releases that pmixhost is for are two; the other one. A root file system is kept in /var/cache/pmixhost if
# somebody made that directory, and is gone with this run if not.
choose_other_release() {
    case $(. /etc/os-release && echo "${VERSION_CODENAME:-}") in
        bookworm) other=trixie ;;
        trixie) other=bookworm ;;
        *) skip "another release of Debian: this is neither bookworm nor trixie"; return ;;
    esac
    if ((EUID != 0)); then
        skip "$other: a root file system of it needs root"
        other=''
        return
    fi
    other_cache=/var/cache/pmixhost
    if [[ ! -d $other_cache/$other ]] && ! install_packages release; then
        skip "$other: what makes a root file system of it (debootstrap) cannot be installed"
        other=''
        return
    fi
    if [[ ! -d $other_cache ]]; then
        own_cache=$(mktemp -d /var/tmp/pmixhost-check.XXXXXX)
        chmod 755 "$own_cache" # container_tests: ordinary users enter it
        other_cache=$own_cache
    fi
    mkdir -p "$work/$other"
    # Of a directory that both releases see: scripts that run alone do so in both.
    export PMIXHOST_TURNS=$work/$other/turns
    lane "$other" 10 build_and_test_there
}

# Before the builds with sanitizers, which are at 19, and then as what runs here: its tests have deadlines.
build_and_test_there() {
    local only
    check_there --build-only --each-release || return
    ordinary_priority
    only=$(grep -v '^#' "$source/test/e2e/on-each-release" | paste -s -d ,)
    PMIXHOST_TURNS=/build/turns check_there --no-sanitizers --unit --each-release --only "$only" >"$work/log/$other-tests.log" 2>&1 || true
}

# This machine's own file system is there the other release's, for programs in containers (55-containers), which write
# nothing there.
check_there() { # OPTION ...
    "$source/contrib/release" "$other" --cache "$other_cache" --bind "$work/$other:/build" --bind /:/machine -- \
        env PMIXHOST_OTHER_ROOT=/machine /pmixhost/contrib/check --build /build --unoptimised "$@"
}

other_release_tests() {
    local begin=$SECONDS status=0 log=$work/log/$other-tests.log results
    [[ -n $other ]] || return 0
    say "wait for $other"
    join "$other" || status=$?
    say "wait for $other: done in $((SECONDS - begin)) s"
    if ((status == 125)); then
        skip "$other: $(grep -m 1 -E 'release: ' "$work/log/$other.log" || tail -n 1 "$work/log/$other.log")"
        return
    elif ((status == 124)); then
        fail "$other: its packages cannot be installed"
        tail -n 40 "$work/log/$other.log" | sed 's/^/    /'
        return
    elif ((status != 0)); then
        fail "$other: it does not build there"
        tail -n 40 "$work/log/$other.log" | sed 's/^/    /'
        return
    fi
    sed "s/^/$other: /" "$log"
    container_tests
    results=$(tail -n 1 "$log")
    if [[ $results =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2])) skipped=$((skipped + BASH_REMATCH[3]))
        mapfile -t -O "${#failures[@]}" failures < <(sed -n "s/^failed: /$other: /p" "$log")
    else
        fail "$other: contrib/check ended there without results"
    fi
}

# Programs of the other release in its root file system, as in a container, with this release's daemons. When the other
# tests ran here there was perhaps no such root.
container_tests() {
    PMIXHOST_OTHER_ROOT=$other_cache/$other run_tap "containers-of-$other" "$(runner e2e-slurm)" "$work/build" \
        --only 55-containers
}

forget_other_release() { [[ -z $own_cache ]] || rm -rf --one-file-system "$own_cache"; }
