# server-glue/: the PMIx server. A library, so that tests can use its parts, and the daemon.
noinst_LTLIBRARIES += server-glue/libglue.la
server_glue_libglue_la_SOURCES = \
	server-glue/allocation_service.h server-glue/allocation_service.cc \
	server-glue/upcalls_allocation.cc server-glue/step_rm.cc \
	server-glue/backend_loader.h server-glue/backend_loader.cc \
	server-glue/central_roles.h \
	server-glue/central_server.h server-glue/central_server.cc \
	server-glue/child_job.h server-glue/child_job.cc \
	server-glue/collective.h server-glue/collective.cc \
	server-glue/control_abroad.h server-glue/control_abroad.cc \
	server-glue/credential_service.h server-glue/credential_service.cc \
	server-glue/data_store.h server-glue/data_store.cc \
	server-glue/event_service.h server-glue/event_service.cc \
	server-glue/foreign_jobs.h server-glue/foreign_jobs.cc \
	server-glue/gathering.h server-glue/gathering.cc \
	server-glue/group_invitations.h server-glue/group_invitations.cc \
	server-glue/group_parts.h server-glue/group_parts.cc \
	server-glue/group_registry.h server-glue/group_registry.cc \
	server-glue/member_list.h server-glue/member_list.cc server-glue/recent_names.h \
	server-glue/host_events.h server-glue/host_events.cc \
	server-glue/info_list.h server-glue/info_list.cc \
	server-glue/invitation_stream.h server-glue/invitation_stream.cc \
	server-glue/job_control.h server-glue/job_control.cc \
	server-glue/job_info.h server-glue/job_info.cc \
	server-glue/job_starter.h \
	server-glue/launcher_server.h server-glue/launcher_server.cc \
	server-glue/local_tasks.h server-glue/local_tasks.cc \
	server-glue/mail.h server-glue/mail.cc \
	server-glue/log_service.h server-glue/log_service.cc \
	server-glue/modex.h server-glue/modex.cc \
	server-glue/one_shot.h \
	server-glue/pmix_library.h server-glue/pmix_library.cc \
	server-glue/private_directory.h server-glue/private_directory.cc \
	server-glue/process_sets.h server-glue/process_sets.cc \
	server-glue/process_table.h server-glue/process_table.cc \
	server-glue/publish_service.h server-glue/publish_service.cc \
	server-glue/rm_backend.h \
	server-glue/query_service.h server-glue/query_service.cc \
	server-glue/role_process.h server-glue/role_process.cc \
	server-glue/session_control.h server-glue/session_control.cc \
	server-glue/session_events.h server-glue/session_events.cc \
	server-glue/session_server.h server-glue/session_server.cc \
	server-glue/signature.h server-glue/signature.cc \
	server-glue/spawn_directives.h server-glue/spawn_directives.cc \
	server-glue/spawn_plan.h server-glue/spawn_plan.cc \
	server-glue/spawn_request.h server-glue/spawn_request.cc \
	server-glue/spawn_service.h server-glue/spawn_service.cc \
	server-glue/stand_in.h server-glue/stand_in.cc \
	server-glue/step_server.h server-glue/step_server.cc server-glue/step_ends.cc server-glue/step_events.cc server-glue/step_log.cc \
	server-glue/step_control.cc \
	server-glue/step_outside.cc server-glue/step_groups.cc server-glue/step_queries.cc server-glue/step_sets.cc \
	server-glue/step_messages.cc server-glue/step_spawned.cc \
	server-glue/time_warning.h server-glue/time_warning.cc \
	server-glue/supervisor.h server-glue/supervisor.cc \
	server-glue/task_door.h server-glue/task_door.cc \
	server-glue/task_table.h \
	server-glue/task_watch.h server-glue/task_watch.cc \
	server-glue/upcall_tools.h server-glue/upcalls_connect.cc server-glue/upcalls_control.cc server-glue/upcalls_data.cc \
	server-glue/upcalls_groups.cc \
	server-glue/upcalls_events.cc server-glue/upcalls_log.cc server-glue/upcalls_query.cc server-glue/upcalls_security.cc server-glue/upcalls_spawn.cc \
	server-glue/upcalls.h server-glue/upcalls.cc \
	server-glue/user_terminal.h server-glue/user_terminal.cc
server_glue_libglue_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(PMIX_CFLAGS)
server_glue_libglue_la_LIBADD = common/libcommon.la $(PMIX_LIBS) -ldl

pmixhostlibexec_PROGRAMS += server-glue/pmixhostd
server_glue_pmixhostd_SOURCES = server-glue/pmixhostd.cc server-glue/timer_guard.cc
server_glue_pmixhostd_CPPFLAGS = $(server_glue_libglue_la_CPPFLAGS)
server_glue_pmixhostd_LDADD = server-glue/libglue.la

# On the way of every process that PMIx_Spawn makes: linked with nothing that it could wait for.
pmixhostlibexec_PROGRAMS += server-glue/pmixhost-task
server_glue_pmixhost_task_SOURCES = server-glue/pmixhost_task.cc \
	common/result.cc common/start_document.cc common/task_spec.cc
server_glue_pmixhost_task_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) -DFMT_HEADER_ONLY
server_glue_pmixhost_task_LDFLAGS = $(AM_LDFLAGS) -static-libstdc++ -static-libgcc
