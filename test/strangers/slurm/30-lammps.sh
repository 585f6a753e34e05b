#!/bin/bash
# A short molecular dynamics simulation (package lammps): over four hosts the same as on one.
. "$(dirname "$0")/../words.sh"
needs /usr/bin/lmp lammps
cat >"$test_dir/in.melt" <<'TXT'
# 864 atoms of a Lennard-Jones crystal that melts
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 20
run 60
TXT

# The steps of its table: step, temperature, energies, pressure.
table() { awk '/^ *Step/ { on = 1; next } /^Loop/ { on = 0 } on && $1 ~ /^[0-9]+$/ { print $1, $2, $3, $5, $6 }' <<<"$output"; }

run_srun -N 1 -n 1 lmp -in "$test_dir/in.melt" -log none
ok "one process" passed
alone=$(table)
like "it has computed something" "$alone" '^0 3 '
for shape in 1x4 4x1 4x2; do
    run_srun -N "${shape%x*}" -n $((${shape%x*} * ${shape#*x})) lmp -in "$test_dir/in.melt" -log none
    is "the same results, $shape" "$(table)" "$alone"
done
done_testing
