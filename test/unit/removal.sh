#!/bin/sh
# What the package of the plugin does when it is removed: the topology that steps have left on the host goes, and nothing
# else; an upgrade leaves it.
script=${srcdir:-.}/contrib/packaging/debian/pmixhost-slurm.postrm
root=$(mktemp -d) || exit 1
trap 'rm -rf "$root"' EXIT
echo 1..4
result() { # STATUS NUMBER TEXT
	if [ "$1" = 0 ]; then echo "ok $2 - $3"; else echo "not ok $2 - $3"; fi
}
mkdir -p "$root/etc/slurm" "$root/var/spool/slurmd" "$root/srv/n1/spool" "$root/srv/n2/spool"
fill() {
	printf '# SlurmdSpoolDir=/srv/no\n slurmdSpoolDir = %s # of slurmd\nSlurmdPort=6818\n' "$1" >"$root/etc/slurm/slurm.conf"
	for directory in var/spool/slurmd srv/n1/spool srv/n2/spool; do
		touch "$root/$directory/pmixhost_topology" "$root/$directory/pmixhost_topology.new" "$root/$directory/cred_state"
	done
}
left() { find "$root" -name 'pmixhost_topology*' | wc -l; }
removes() { # WORD
	DPKG_ROOT=$root SLURM_CONF='' sh "$script" "$1" >"$root/said" 2>&1 && ! [ -s "$root/said" ]
}
fill /srv/%n/spool
removes upgrade && removes failed-upgrade && removes 1 && [ "$(left)" = 6 ]
result $? 1 "an upgrade leaves it"
removes remove && [ "$(left)" = 0 ]
result $? 2 "it goes from where slurm.conf says, whatever the host is called, and from the usual place"
[ "$(find "$root" -name cred_state | wc -l)" = 3 ]
result $? 3 "nothing else does"
fill /srv/n1/spool
removes 0 && [ "$(left)" = 2 ] && rm "$root/etc/slurm/slurm.conf" && removes purge && [ "$(left)" = 2 ]
result $? 4 "rpm's word for the last one does the same, and one without a slurm.conf is no error"
