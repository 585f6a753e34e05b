# server-glue/: the PMIx server. A library, so that tests can use its parts, and the daemon.
noinst_LTLIBRARIES += server-glue/libglue.la
server_glue_libglue_la_SOURCES = \
	server-glue/allocation_service.h server-glue/allocation_service.cc \
	server-glue/upcalls_allocation.cc \
	server-glue/backend_loader.h server-glue/backend_loader.cc \
	server-glue/central_roles.h \
	server-glue/central_server.h server-glue/central_server.cc \
	server-glue/child_job.h server-glue/child_job.cc \
	server-glue/collective.h server-glue/collective.cc \
	server-glue/control_abroad.h server-glue/control_abroad.cc \
	server-glue/core/host_port.h \
	server-glue/credential_service.h server-glue/credential_service.cc \
	server-glue/daemon/own_evidence.h server-glue/daemon/own_evidence.cc \
	server-glue/daemon/evidence.h server-glue/daemon/evidence.cc \
	server-glue/data_store.h server-glue/data_store.cc \
	server-glue/event_service.h server-glue/event_service.cc \
	server-glue/foreign_jobs.h server-glue/foreign_jobs.cc \
	server-glue/namespace_asks.h server-glue/namespace_asks.cc \
	server-glue/step_finder.h server-glue/step_finder.cc \
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
	server-glue/library/inner_client.h server-glue/library/inner_client.cc \
	server-glue/library/connection_guard.h server-glue/library/connection_guard.cc \
	server-glue/library/descriptor_range.h server-glue/library/descriptor_range.cc \
	server-glue/library/hello.h server-glue/library/hello.cc \
	server-glue/library/listener_takeover.h server-glue/library/listener_takeover.cc \
	server-glue/library/library_thread.h server-glue/library/library_thread.cc \
	server-glue/library/library_watch.h server-glue/library/library_watch.cc \
	server-glue/library/library_watchdog.h \
	server-glue/local_tasks.h server-glue/local_tasks.cc \
	server-glue/mail.h server-glue/mail.cc \
	server-glue/log_service.h server-glue/log_service.cc \
	server-glue/modex.h server-glue/modex.cc \
	server-glue/posted_heirs.h server-glue/posted_heirs.cc \
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
	server-glue/shared_fate.h server-glue/shared_fate.cc \
	server-glue/session_events.h server-glue/session_events.cc \
	server-glue/session_server.h server-glue/session_server.cc \
	server-glue/signature.h server-glue/signature.cc \
	server-glue/spawn_directives.h server-glue/spawn_directives.cc \
	server-glue/spawn_plan.h server-glue/spawn_plan.cc \
	server-glue/spawn_request.h server-glue/spawn_request.cc \
	server-glue/spawn_service.h server-glue/spawn_service.cc \
	server-glue/stand_in.h server-glue/stand_in.cc \
	server-glue/allocation/step_allocations.h server-glue/allocation/step_allocations.cc \
	server-glue/collective/step_collectives.h server-glue/collective/step_collectives.cc \
	server-glue/collective/step_connect.h server-glue/collective/step_connect.cc \
	server-glue/control/step_control.h server-glue/control/step_control.cc \
	server-glue/core/step_context.h server-glue/core/step_messages.h server-glue/core/step_service.h \
	server-glue/cross_job/cross_jobs.h server-glue/cross_job/cross_jobs.cc \
	server-glue/daemon/library_holder.h server-glue/daemon/library_holder.cc \
	server-glue/daemon/session_link.h server-glue/daemon/session_link.cc \
	server-glue/daemon/step_ending.h server-glue/daemon/step_ending.cc \
	server-glue/daemon/step_server.h server-glue/daemon/step_server.cc server-glue/daemon/step_services.h \
	server-glue/events/library_events.h server-glue/events/library_events.cc \
	server-glue/events/process_ends.h server-glue/events/process_ends.cc \
	server-glue/events/step_events.h server-glue/events/step_events.cc \
	server-glue/groups/step_groups.h server-glue/groups/step_groups.cc \
	server-glue/log/step_log.h server-glue/log/step_log.cc \
	server-glue/modex/handing_over.h server-glue/modex/handing_over.cc \
	server-glue/modex/step_modex.h server-glue/modex/step_modex.cc \
	server-glue/publish/step_publish.h server-glue/publish/step_publish.cc \
	server-glue/query/step_queries.h server-glue/query/step_queries.cc \
	server-glue/query/step_sets.h server-glue/query/step_sets.cc \
	server-glue/spawn/children.h server-glue/spawn/step_fate.h server-glue/spawn/step_fate.cc \
	server-glue/spawn/step_spawn.h server-glue/spawn/step_spawn.cc \
	server-glue/tasks/launch_outcome.h server-glue/tasks/launch_outcome.cc \
	server-glue/tasks/step_abort.h server-glue/tasks/step_abort.cc \
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
server_glue_pmixhostd_SOURCES = server-glue/pmixhostd.cc server-glue/timer_guard.cc \
	server-glue/library/listener_interposition.cc server-glue/library/reply_interposition.cc
server_glue_pmixhostd_CPPFLAGS = $(server_glue_libglue_la_CPPFLAGS)
server_glue_pmixhostd_LDADD = server-glue/libglue.la

# What a daemon that stands still is looked at with (server-glue/daemon/evidence.h); a program, so that
# it can be killed, and so that only it is linked with libdw.
noinst_LTLIBRARIES += server-glue/libevidence.la
server_glue_libevidence_la_SOURCES = \
	server-glue/daemon/backtrace.h server-glue/daemon/backtrace.cc \
	server-glue/daemon/evidence_file.h server-glue/daemon/evidence_file.cc \
	server-glue/daemon/evidence_report.h server-glue/daemon/evidence_report.cc \
	server-glue/daemon/memory_map.h server-glue/daemon/memory_map.cc \
	server-glue/daemon/socket_list.h server-glue/daemon/socket_list.cc \
	server-glue/daemon/stopped_thread.h server-glue/daemon/stopped_thread.cc \
	server-glue/daemon/syscall_names.h server-glue/daemon/syscall_names.cc \
	server-glue/daemon/thread_snapshot.h server-glue/daemon/thread_snapshot.cc
server_glue_libevidence_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(LIBDW_CFLAGS)
server_glue_libevidence_la_LIBADD = $(LIBDW_LIBS)

pmixhostlibexec_PROGRAMS += server-glue/pmixhost-evidence
server_glue_pmixhost_evidence_SOURCES = server-glue/daemon/evidence_program.cc \
	common/result.cc common/small_file.cc
server_glue_pmixhost_evidence_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS)
server_glue_pmixhost_evidence_LDADD = server-glue/libevidence.la $(FMT_LIBS)

# On the way of every process that PMIx_Spawn makes: linked with nothing that it could wait for.
pmixhostlibexec_PROGRAMS += server-glue/pmixhost-task
server_glue_pmixhost_task_SOURCES = server-glue/pmixhost_task.cc \
	common/result.cc common/start_document.cc common/task_spec.cc
server_glue_pmixhost_task_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) -DFMT_HEADER_ONLY
server_glue_pmixhost_task_LDFLAGS = $(AM_LDFLAGS) -static-libstdc++ -static-libgcc
