# The Slurm shim (mpi_pmixhost.so) and the Slurm backend. See contrib/doc/architecture.md.
slurm_shim_files = \
	plugins/slurm/app_list.h plugins/slurm/multi_prog.h plugins/slurm/srun_command.h \
	plugins/slurm/daemon_cgroup.h \
	plugins/slurm/hook_env.h \
	plugins/slurm/identity.h plugins/slurm/prefork.h plugins/slurm/prelaunch.h \
	plugins/slurm/slurm_abi.h \
	plugins/slurm/task_hook.h plugins/slurm/task_map.h
EXTRA_DIST += plugins/slurm/shim.map plugins/slurm/backend.map

if HAVE_SLURM
# The shim is loaded into all of Slurm's daemons: no library of ours, no libfmt, no libslurm.
noinst_LTLIBRARIES += plugins/slurm/libshim.la
plugins_slurm_libshim_la_SOURCES = $(slurm_shim_files) $(kit_shim_sources) \
	common/process_set.cc common/task_spec.cc \
	plugins/slurm/app_list.cc plugins/slurm/multi_prog.cc plugins/slurm/srun_command.cc \
	plugins/slurm/daemon_cgroup.cc plugins/slurm/hook_env.cc \
	plugins/slurm/identity.cc plugins/slurm/prefork.cc plugins/slurm/prelaunch.cc \
	plugins/slurm/task_hook.cc plugins/slurm/task_map.cc
plugins_slurm_libshim_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(MUNGE_CFLAGS) \
	$(FMT_CFLAGS) -DFMT_HEADER_ONLY

slurmplugin_LTLIBRARIES += plugins/slurm/mpi_pmixhost.la
plugins_slurm_mpi_pmixhost_la_SOURCES = plugins/slurm/shim.cc
plugins_slurm_mpi_pmixhost_la_CPPFLAGS = $(plugins_slurm_libshim_la_CPPFLAGS)
plugins_slurm_mpi_pmixhost_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-Wl,--version-script=$(top_srcdir)/plugins/slurm/shim.map
plugins_slurm_mpi_pmixhost_la_LIBADD = plugins/slurm/libshim.la $(MUNGE_LIBS)
EXTRA_plugins_slurm_mpi_pmixhost_la_DEPENDENCIES = plugins/slurm/shim.map

pmixhostlib_LTLIBRARIES += plugins/slurm/backend_slurm.la
plugins_slurm_backend_slurm_la_SOURCES = \
	plugins/slurm/backend.cc \
	plugins/slurm/allocations.h plugins/slurm/allocations.cc \
	plugins/slurm/allocation_calls.h plugins/slurm/allocation_calls.cc \
	plugins/slurm/backend_step.h plugins/slurm/backend_step.cc \
	plugins/slurm/contact_socket.h plugins/slurm/contact_socket.cc \
	plugins/slurm/app_list.cc plugins/slurm/identity.cc \
	plugins/slurm/job_record.h plugins/slurm/job_record.cc \
	plugins/slurm/rm_answers.h plugins/slurm/rm_answers.cc \
	plugins/slurm/task_map.cc plugins/slurm/session_step.h plugins/slurm/session_step.cc \
	plugins/slurm/spawn_command.h plugins/slurm/spawn_command.cc \
	plugins/slurm/step_caller.h plugins/slurm/step_caller.cc
plugins_slurm_backend_slurm_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(MUNGE_CFLAGS) $(FMT_CFLAGS)
plugins_slurm_backend_slurm_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-Wl,--version-script=$(top_srcdir)/plugins/slurm/backend.map
plugins_slurm_backend_slurm_la_LIBADD = plugins/kit/libkit.la $(SLURM_LIBS) $(MUNGE_LIBS) $(FMT_LIBS)
EXTRA_plugins_slurm_backend_slurm_la_DEPENDENCIES = plugins/slurm/backend.map
endif
