#!/bin/bash
# The examples of OpenPMIx (package libpmix-dev), each an ordinary client.
. "$(dirname "$0")/../words.sh"
examples=/usr/share/doc/libpmix-dev/examples
needs $examples/client.c libpmix-dev

# shellcheck disable=SC2046 # a list of options
build() { # NAME
    gcc -w -o "$test_dir/$1" -I "$PMIXHOST_SOURCE/test/strangers" $(pkg-config --cflags pmix) \
        -include examples.h "$examples/$1.c" $(pkg-config --libs pmix) -lpthread
}

example() { # NAME SHAPE
    build "$1" || { status=1 output="$1 does not compile"; return; }
    run_srun -N "${2%x*}" -n $((${2%x*} * ${2#*x})) "$test_dir/$1"
}

for name in hello client client2 dmodex pub pubi log abi_no_init abi_with_init jctrl; do
    for shape in 1x4 4x1 2x2; do
        example "$name" "$shape"
        ok "$name, $shape" content
    done
done
for name in group group_dmodex group_lcl_cid asyncgroup; do # of four processes
    for shape in 1x4 4x1 2x2; do
        example "$name" "$shape"
        ok "$name, $shape" content
    done
done
for shape in 1x4 4x1 2x2; do # it asks for coordinates in the network too, which Slurm does not know
    example nodeinfo "$shape"
    ok "nodeinfo, $shape" passed
    is "nodeinfo, $shape: each is told where its neighbour is" "$(grep -c 'is on host n' <<<"$output")" 4
done
build dynamic # which spawns two more
for shape in 1x1 2x1 3x1; do
    run salloc -Q -N "${shape%x*}" --ntasks-per-node=4 srun "$mpi" -N "${shape%x*}" -n "${shape%x*}" "$test_dir/dynamic"
    ok "dynamic, $shape" content
done
example fault 2x2 # one of them leaves without a word: the others hear of it
ok "fault: the end of one is told to the others" eval '[[ -z $too_late ]]'
done_testing
