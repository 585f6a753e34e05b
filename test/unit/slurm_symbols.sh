#!/bin/sh
# What mpi_pmixhost.so shows to Slurm's programs: exactly the symbols they look up, and no library
# that they do not have anyway or that must not run in them.
plugin=plugins/slurm/.libs/mpi_pmixhost.so
echo 1..4
result() { # STATUS NUMBER TEXT
	if [ "$1" = 0 ]; then echo "ok $2 - $3"; else echo "not ok $2 - $3"; fi
}

# plugin_id came with 22.05, together with new names.
if nm -D --defined-only "$plugin" | grep -qw plugin_id; then
	want="fini init mpi_p_client_fini mpi_p_client_prelaunch mpi_p_conf_get
mpi_p_conf_get_printable mpi_p_conf_options mpi_p_conf_set mpi_p_slurmstepd_prefork
mpi_p_slurmstepd_task plugin_id plugin_name plugin_type plugin_version"
else
	want="fini init p_mpi_hook_client_fini p_mpi_hook_client_prelaunch
p_mpi_hook_slurmstepd_prefork p_mpi_hook_slurmstepd_task plugin_name plugin_type plugin_version"
fi
have=$(nm -D --defined-only "$plugin" | sed 's/^.* //; s/@.*//' | sort)
[ "$(echo $have)" = "$(echo $(printf '%s\n' $want | sort))" ]
status=$?
result $status 1 "the exported symbols are the hooks"
[ $status = 0 ] || echo "$have" | sed 's/^/# has /'

nm -D "$plugin" | grep -q ' u '
[ $? = 1 ]
result $? 2 "no unique symbol pins the plugin"

needed=$(readelf -d "$plugin" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p')
! echo "$needed" | grep -qE 'pmix|event|libslurm|hwloc|fmt'
status=$?
result $status 3 "no libpmix, libevent, libslurm, libhwloc, libfmt"
[ $status = 0 ] || echo "$needed" | sed 's/^/# needs /'

# Only symbols that libslurmfull and libc surely have; the weak ones may be missing.
unknown=$(nm -D --undefined-only "$plugin" | sed -n 's/^ *U \(.*slurm.*\|stepd.*\|proctrack.*\)/\1/p' |
	grep -vxE 'slurm_(env_array_overwrite|unsetenvp|error|info|kill_job_step|load_job|free_job_info_msg)')
[ -z "$unknown" ]
status=$?
result $status 4 "Slurm's own symbols are the few known ones"
[ $status = 0 ] || echo "$unknown" | sed 's/^/# wants /'
