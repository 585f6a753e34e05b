# shellcheck shell=bash
# The words of the tests of other people's programs; for sourcing by test/strangers/slurm/*.sh.
. "$PMIXHOST_SOURCE/test/e2e/lib.sh"

# UCX looks past network namespaces; more ranks than CPUs must yield.
export UCX_TLS=tcp,self OMPI_MCA_mpi_yield_when_idle=1 OMP_NUM_THREADS=1
[[ $(ompi_info --version 2>/dev/null) == *' v4.'* ]] && export OMPI_MCA_osc=pt2pt
TEST_LIMIT=180

# needs FILE PACKAGE: ends the script, as skipped, without it.
needs() {
    [[ ! -e $1 ]] || return 0
    echo "1..0 # SKIP there is no $1 (package $2)"
    trap - EXIT
    exit 0
}

# It ended well, and none of its lines says otherwise.
content() { passed && ! grep -Eqi '(^|[^a-z_])(error|failed|failure)([^a-z_]|$)' <<<"$output"; }
