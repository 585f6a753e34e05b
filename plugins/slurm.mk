# The Slurm shim (mpi_pmixhost.so) and the Slurm backend. See contrib/doc/architecture.md.
slurm_base_files = \
	plugins/slurm/base/app_list.h plugins/slurm/base/contacts_directory.h plugins/slurm/base/output_channel.h \
	plugins/slurm/base/slurm_abi.h plugins/slurm/base/step_name.h plugins/slurm/base/task_map.h
slurm_shim_files = $(slurm_base_files) \
	plugins/slurm/shim/attach_output.h plugins/slurm/shim/cpu_binding.h plugins/slurm/shim/daemon_cgroup.h \
	plugins/slurm/shim/daemon_path.h plugins/slurm/shim/hook_env.h plugins/slurm/shim/identity.h \
	plugins/slurm/shim/multi_prog.h plugins/slurm/shim/output_offer.h plugins/slurm/shim/prefork.h \
	plugins/slurm/shim/prelaunch.h plugins/slurm/shim/srun_command.h plugins/slurm/shim/srun_context.h \
	plugins/slurm/shim/srun_roles.h plugins/slurm/shim/starting_tool.h plugins/slurm/shim/step_description.h \
	plugins/slurm/shim/task_hook.h plugins/slurm/steps/child_options.h
EXTRA_DIST += plugins/slurm/shim/shim.map plugins/slurm/backend/backend.map

if HAVE_SLURM
# The shim is loaded into all of Slurm's daemons, so it has no library of ours, no libfmt and no libslurm.
noinst_LTLIBRARIES += plugins/slurm/libshim.la
plugins_slurm_libshim_files = $(slurm_shim_files) $(kit_shim_sources) \
	common/job/process_set.cc common/process/process_stat.cc common/process/program_look.cc \
	common/start/task_spec.cc common/wire/wire_version.cc \
	plugins/slurm/base/app_list.cc plugins/slurm/base/contacts_directory.cc plugins/slurm/base/task_map.cc \
	plugins/slurm/shim/attach_output.cc plugins/slurm/shim/cpu_binding.cc plugins/slurm/shim/daemon_cgroup.cc \
	plugins/slurm/shim/daemon_path.cc plugins/slurm/shim/hook_env.cc plugins/slurm/shim/identity.cc \
	plugins/slurm/shim/multi_prog.cc plugins/slurm/shim/output_offer.cc plugins/slurm/shim/prefork.cc \
	plugins/slurm/shim/prelaunch.cc plugins/slurm/shim/srun_command.cc plugins/slurm/shim/srun_context.cc \
	plugins/slurm/shim/srun_roles.cc plugins/slurm/shim/starting_tool.cc plugins/slurm/shim/step_description.cc \
	plugins/slurm/shim/task_hook.cc
plugins_slurm_libshim_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(MUNGE_CFLAGS) \
	$(NETTLE_CFLAGS) $(FMT_CFLAGS) -DFMT_HEADER_ONLY
plugins_slurm_libshim_la_LIBADD = $(MUNGE_LIBS) $(NETTLE_LIBS)

slurmplugin_LTLIBRARIES += plugins/slurm/mpi_pmixhost.la
plugins_slurm_mpi_pmixhost_la_SOURCES = plugins/slurm/shim/shim.cc plugins/slurm/shim/held_job.h \
	plugins/slurm/shim/held_job.cc
plugins_slurm_mpi_pmixhost_la_CPPFLAGS = $(plugins_slurm_libshim_la_CPPFLAGS)
plugins_slurm_mpi_pmixhost_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-Wl,--version-script=$(top_srcdir)/plugins/slurm/shim/shim.map
plugins_slurm_mpi_pmixhost_la_LIBADD = plugins/slurm/libshim.la
EXTRA_plugins_slurm_mpi_pmixhost_la_DEPENDENCIES = plugins/slurm/shim/shim.map

# All of the backend but what the module exports, so that tests can use its parts.
noinst_LTLIBRARIES += plugins/slurm/libbackend.la
plugins_slurm_libbackend_files = $(slurm_base_files) plugins/slurm/base/app_list.cc plugins/slurm/base/task_map.cc \
	plugins/slurm/backend/allocations.h plugins/slurm/backend/allocations.cc \
	plugins/slurm/backend/allocation_calls.h plugins/slurm/backend/allocation_calls.cc \
	plugins/slurm/backend/backend_step.h plugins/slurm/backend/backend_step.cc \
	plugins/slurm/backend/contact_socket.h plugins/slurm/backend/contact_socket.cc \
	plugins/slurm/backend/loaded_jobs.h plugins/slurm/backend/job_record.h plugins/slurm/backend/job_record.cc \
	plugins/slurm/backend/job_gpus.h plugins/slurm/backend/job_gpus.cc \
	plugins/slurm/backend/rm_answers.h plugins/slurm/backend/rm_answers.cc \
	plugins/slurm/steps/session_step.h plugins/slurm/steps/session_step.cc \
	plugins/slurm/steps/own_srun.h \
	plugins/slurm/steps/child_options.h plugins/slurm/steps/spawn_command.h plugins/slurm/steps/spawn_command.cc \
	plugins/slurm/backend/call_step.h plugins/slurm/backend/call_step.cc \
	plugins/slurm/backend/lobby.h plugins/slurm/backend/lobby.cc \
	plugins/slurm/backend/own_steps.h plugins/slurm/backend/own_steps.cc \
	plugins/slurm/backend/output_frames.h plugins/slurm/backend/output_frames.cc \
	plugins/slurm/backend/session_contact.h plugins/slurm/backend/session_contact.cc \
	plugins/slurm/backend/slurm_calls.h plugins/slurm/backend/slurm_calls.cc \
	plugins/slurm/backend/srun_starter.h plugins/slurm/backend/srun_starter.cc \
	plugins/slurm/backend/step_backend.h plugins/slurm/backend/step_backend.cc \
	plugins/slurm/backend/step_caller.h plugins/slurm/backend/step_caller.cc \
	plugins/slurm/backend/step_ender.h plugins/slurm/backend/step_ender.cc \
	plugins/slurm/backend/step_output.h plugins/slurm/backend/step_output.cc \
	plugins/slurm/backend/which_steps.h
plugins_slurm_libbackend_la_CPPFLAGS = $(AM_CPPFLAGS) $(SLURM_CPPFLAGS) $(MUNGE_CFLAGS) $(FMT_CFLAGS)
plugins_slurm_libbackend_la_LIBADD = plugins/kit/libkit.la $(SLURM_LIBS) $(MUNGE_LIBS) $(FMT_LIBS)

pmixhostlib_LTLIBRARIES += plugins/slurm/backend_slurm.la
plugins_slurm_backend_slurm_la_SOURCES = plugins/slurm/backend/backend.cc
plugins_slurm_backend_slurm_la_CPPFLAGS = $(plugins_slurm_libbackend_la_CPPFLAGS)
plugins_slurm_backend_slurm_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-Wl,--version-script=$(top_srcdir)/plugins/slurm/backend/backend.map
plugins_slurm_backend_slurm_la_LIBADD = plugins/slurm/libbackend.la
EXTRA_plugins_slurm_backend_slurm_la_DEPENDENCIES = plugins/slurm/backend/backend.map

# What `pmixhost doctor` knows of Slurm. It is linked with none of Slurm's libraries (check_program.cc says why).
slurm_check_files = plugins/slurm/check/controller_config.h plugins/slurm/check/controller_config.cc \
	plugins/slurm/check/plugin_file.h plugins/slurm/check/plugin_file.cc \
	plugins/slurm/check/topology_check.h plugins/slurm/check/topology_check.cc
pmixhostlibexec_PROGRAMS += plugins/slurm/pmixhost-check-slurm
plugins_slurm_pmixhost_check_slurm_SOURCES = plugins/slurm/check/check_program.cc $(slurm_check_files)
plugins_slurm_pmixhost_check_slurm_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) \
	-DPMIXHOST_SLURM_PLUGINDIR='"$(slurmplugindir)"'
plugins_slurm_pmixhost_check_slurm_LDADD = common/libcommon.la
endif
