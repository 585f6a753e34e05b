# server-glue/: the PMIx server. A library, so that tests can use its parts, and the daemon.
noinst_LTLIBRARIES += server-glue/libglue.la
server_glue_libglue_files = \
	server-glue/allocation/allocation_ask.h server-glue/allocation/allocation_upcall.cc \
	server-glue/allocation/allocation_service.h server-glue/allocation/allocation_service.cc \
	server-glue/allocation/session_watch.h server-glue/allocation/session_watch.cc \
	server-glue/allocation/step_allocations.h server-glue/allocation/step_allocations.cc \
	server-glue/allocation/time_warning.h server-glue/allocation/time_warning.cc \
	server-glue/collective/fence_ask.h server-glue/collective/fence_upcall.cc \
	server-glue/collective/connect_ask.h server-glue/collective/connect_upcall.cc \
	server-glue/collective/collective.h server-glue/collective/collective.cc \
	server-glue/collective/collective_pieces.cc \
	server-glue/collective/result_pieces.h server-glue/collective/result_pieces.cc \
	server-glue/collective/session_collective.h server-glue/collective/session_collective.cc \
	server-glue/collective/session_joins.h server-glue/collective/session_joins.cc \
	server-glue/core/message_takers.h server-glue/cross_job/session_relay.h server-glue/cross_job/session_relay.cc \
	server-glue/publish/session_publish.h server-glue/publish/session_publish.cc \
	server-glue/session/session_peers.h server-glue/session/session_service.h \
	server-glue/collective/step_collectives.h server-glue/collective/step_collectives.cc \
	server-glue/collective/step_connect.h server-glue/collective/step_connect.cc \
	server-glue/control/abort_ask.h server-glue/control/abort_upcall.cc \
	server-glue/control/job_control_ask.h server-glue/control/job_control_upcall.cc \
	server-glue/control/cross_job_control.h server-glue/control/cross_job_control.cc \
	server-glue/control/job_control.h server-glue/control/job_control.cc \
	server-glue/control/session_control.h server-glue/control/session_control.cc \
	server-glue/control/step_abort.h server-glue/control/step_abort.cc server-glue/control/step_control.h \
	server-glue/control/step_control.cc \
	server-glue/control/tool_pauses.h server-glue/control/tool_pauses.cc \
	server-glue/core/central_roles.h server-glue/core/host_port.h server-glue/core/one_shot.h \
	server-glue/core/signature.h server-glue/core/signature.cc server-glue/core/task_descriptors.h \
	server-glue/cross_job/cross_jobs.h server-glue/cross_job/cross_jobs.cc \
	server-glue/cross_job/cross_job_registry.h server-glue/cross_job/cross_job_registry.cc \
	server-glue/cross_job/namespace_asks.h server-glue/cross_job/namespace_asks.cc \
	server-glue/cross_job/cross_job_posted.h server-glue/cross_job/cross_job_posted.cc \
	server-glue/cross_job/step_finder.h server-glue/cross_job/step_finder.cc \
	server-glue/daemon/central_server.h server-glue/daemon/central_server.cc \
	server-glue/daemon/launcher_server.h \
	server-glue/daemon/launcher_server.cc server-glue/daemon/library_holder.h \
	server-glue/daemon/library_holder.cc \
	server-glue/daemon/module_table.h server-glue/daemon/module_table.cc \
	server-glue/daemon/private_directory.h \
	server-glue/daemon/private_directory.cc server-glue/daemon/role_process.h \
	server-glue/daemon/role_process.cc server-glue/daemon/session_server.h \
	server-glue/daemon/session_server.cc server-glue/daemon/step_ending.h server-glue/daemon/step_ending.cc server-glue/daemon/step_peers.h \
	server-glue/daemon/step_peers.cc \
	server-glue/daemon/role_documents.h server-glue/daemon/role_documents.cc \
	server-glue/daemon/step_server.h server-glue/daemon/step_server.cc server-glue/daemon/step_services.h \
	server-glue/daemon/repeated_end.h server-glue/daemon/repeated_end.cc \
	server-glue/daemon/supervisor.h server-glue/daemon/supervisor.cc \
	server-glue/debug/stop_ask.h server-glue/debug/stop_upcall.cc \
	server-glue/debug/stop_board.h server-glue/debug/stop_board.cc \
	server-glue/debug/debugger_door.h server-glue/debug/debugger_door.cc \
	server-glue/debug/left_stopped.h server-glue/debug/left_stopped.cc \
	server-glue/debug/debugged_job.h server-glue/debug/debugged_job.cc server-glue/debug/job_end.h \
	server-glue/debug/job_end.cc \
	server-glue/debug/release.h server-glue/debug/release.cc \
	server-glue/debug/standing.h server-glue/debug/standing.cc \
	server-glue/debug/standing_note.h server-glue/debug/standing_note.cc \
	server-glue/debug/step_debug.h server-glue/debug/step_debug.cc \
	server-glue/evidence/evidence.h server-glue/evidence/evidence.cc \
	server-glue/evidence/own_evidence.h server-glue/evidence/own_evidence.cc \
	server-glue/events/parent_news.h server-glue/events/parent_news.cc \
	server-glue/events/monitors.h server-glue/events/notify_ask.h server-glue/events/notify_upcall.cc \
	server-glue/events/event_service.h server-glue/events/event_service.cc server-glue/events/host_events.h \
	server-glue/events/host_events.cc server-glue/events/library_events.h \
	server-glue/events/library_events.cc server-glue/events/process_ends.h \
	server-glue/events/process_ends.cc server-glue/events/session_events.h \
	server-glue/events/session_events.cc server-glue/events/step_events.h server-glue/events/step_events.cc \
	server-glue/groups/group_ask.h server-glue/groups/group_upcall.cc \
	server-glue/groups/group_invitations.h server-glue/groups/group_invitations.cc \
	server-glue/groups/group_parts.h server-glue/groups/group_parts.cc server-glue/groups/group_registry.h \
	server-glue/groups/group_registry.cc server-glue/groups/member_list.h server-glue/groups/member_list.cc \
	server-glue/groups/step_groups.h server-glue/groups/step_groups.cc \
	server-glue/guard/assigned_base.h server-glue/guard/assigned_base.cc \
	server-glue/guard/closed_connections.h server-glue/guard/closed_connections.cc \
	server-glue/guard/connection_guard.h server-glue/guard/connection_guard.cc \
	server-glue/guard/library_connection.h \
	server-glue/guard/descriptor_range.h server-glue/guard/descriptor_range.cc \
	server-glue/guard/hello.h server-glue/guard/hello.cc \
	server-glue/guard/hello_directives.h server-glue/guard/hello_directives.cc \
	server-glue/guard/hello_peek.h server-glue/guard/hello_peek.cc \
	server-glue/guard/listener_takeover.h server-glue/guard/listener_takeover.cc \
	server-glue/guard/remote_hello.h server-glue/guard/remote_hello.cc \
	server-glue/guard/tool_visitor.h \
	server-glue/iof/children_io.h server-glue/iof/children_io.cc server-glue/iof/tool_pace.h \
	server-glue/iof/output_forward.h server-glue/iof/output_forward.cc \
	server-glue/iof/parent_forwarding.h server-glue/iof/parent_forwarding.cc \
	server-glue/iof/slow_readers.h server-glue/iof/slow_readers.cc \
	server-glue/iof/tool_pulls.h server-glue/iof/tool_pulls.cc \
	server-glue/iof/iof_ask.h server-glue/iof/iof_upcall.cc server-glue/iof/pull_gate.h \
	server-glue/iof/input_flow.h server-glue/iof/input_flow.cc \
	server-glue/iof/output_copies.h server-glue/iof/output_copies.cc \
	server-glue/iof/output_flow.h server-glue/iof/output_flow.cc \
	server-glue/iof/output_queue.h server-glue/iof/output_queue.cc \
	server-glue/iof/output_selection.h server-glue/iof/output_selection.cc \
	server-glue/iof/copied_streams.h server-glue/iof/copied_streams.cc \
	server-glue/iof/held_output.h server-glue/iof/held_output.cc \
	server-glue/iof/recent_output.h server-glue/iof/recent_output.cc \
	server-glue/iof/rm_output_copy.h server-glue/iof/rm_output_copy.cc \
	server-glue/iof/step_iof.h server-glue/iof/step_iof.cc server-glue/iof/readable_streams.h \
	server-glue/iof/task_streams.h server-glue/iof/task_streams.cc \
	server-glue/library/answer_bell.h server-glue/library/answer_bell.cc \
	server-glue/library/convert.h server-glue/library/convert.cc \
	server-glue/library/direct_answers.h server-glue/library/direct_answers.cc \
	server-glue/library/expected_environment.h server-glue/library/expected_environment.cc \
	server-glue/library/given_environment.h server-glue/library/given_environment.cc \
	server-glue/library/library_version.h \
	server-glue/library/library_version.cc \
	server-glue/library/info_list.h \
	server-glue/library/info_list.cc server-glue/library/inner_client.h server-glue/library/inner_client.cc \
	server-glue/library/library_start.h server-glue/library/library_start.cc \
	server-glue/library/library_thread.h server-glue/library/library_thread.cc \
	server-glue/library/library_watch.h server-glue/library/library_watch.cc \
	server-glue/library/library_watchdog.h \
	server-glue/library/pmix_library.h \
	server-glue/library/pmix_library.cc server-glue/library/posted_now.h server-glue/library/posted_now.cc \
	server-glue/library/replies.h server-glue/library/upcall_handlers.h \
	server-glue/library/member_data.h server-glue/library/member_data.cc \
	server-glue/library/pack.h server-glue/library/pack.cc \
	server-glue/library/pending_writes.h server-glue/library/pending_writes.cc \
	server-glue/library/unmended_faults.h server-glue/library/unmended_faults.cc \
	server-glue/library/upcall_tools.h server-glue/library/upcalls.h server-glue/library/upcalls.cc \
	server-glue/log/log_ask.h server-glue/log/log_upcall.cc \
	server-glue/log/log_service.h server-glue/log/log_service.cc server-glue/log/mail.h \
	server-glue/log/mail.cc server-glue/log/step_log.h server-glue/log/step_log.cc \
	server-glue/log/user_terminal.h server-glue/log/user_terminal.cc \
	server-glue/log/task_texts.h server-glue/log/task_texts.cc \
	server-glue/modex/modex_ask.h server-glue/modex/modex_upcall.cc \
	server-glue/modex/handing_over.h server-glue/modex/handing_over.cc server-glue/modex/modex.h \
	server-glue/modex/modex.cc server-glue/modex/posted_heirs.h server-glue/modex/posted_heirs.cc \
	server-glue/modex/step_modex.h server-glue/modex/step_modex.cc \
	server-glue/publish/publish_asks.h server-glue/publish/tool_place.h server-glue/publish/publish_upcall.cc \
	server-glue/publish/audience.h server-glue/publish/audience.cc \
	server-glue/publish/data_store.h server-glue/publish/data_store.cc server-glue/publish/publish_service.h \
	server-glue/publish/publish_service.cc server-glue/publish/step_publish.h \
	server-glue/publish/step_publish.cc \
	server-glue/query/query_ask.h server-glue/query/query_upcall.cc server-glue/query/newer_keys.h \
	server-glue/query/host_support.h server-glue/query/host_support.cc \
	server-glue/query/set_answers.h server-glue/query/set_answers.cc \
	server-glue/query/table_answers.h server-glue/query/table_answers.cc \
	server-glue/query/job_tables.h server-glue/query/job_tables.cc \
	server-glue/sets/process_sets.h server-glue/sets/process_sets.cc server-glue/query/process_table.h \
	server-glue/query/process_table.cc server-glue/query/query_keys.h server-glue/query/query_keys.cc server-glue/query/query_port.h \
	server-glue/query/query_service.h server-glue/query/query_service.cc \
	server-glue/query/step_queries.h server-glue/query/step_queries.cc server-glue/sets/step_sets.h \
	server-glue/sets/step_sets.cc \
	server-glue/security/credential_asks.h server-glue/security/credential_upcall.cc \
	server-glue/rm/allocations.h server-glue/rm/backend_loader.h server-glue/rm/backend_loader.cc \
	server-glue/rm/facets.h server-glue/rm/invitation_stream.h server-glue/rm/invitation_stream.cc \
	server-glue/rm/job_record.h server-glue/rm/job_starter.h server-glue/rm/questions.h \
	server-glue/rm/rm_backend.h server-glue/rm/roles.h server-glue/rm/spawn_places.h server-glue/rm/spawn_plan.h \
	server-glue/rm/spawned_step.h server-glue/rm/step_output.h server-glue/rm/user_notes.h \
	server-glue/security/credential_service.h server-glue/security/credential_service.cc \
	server-glue/spawn/allocation_places.h server-glue/spawn/allocation_places.cc \
	server-glue/spawn/spawn_ask.h server-glue/spawn/spawn_upcall.cc \
	server-glue/spawn/child_job.h server-glue/spawn/child_job.cc \
	server-glue/spawn/debugger_daemons.h server-glue/spawn/debugger_daemons.cc \
	server-glue/spawn/launch_outcome.h server-glue/spawn/launch_outcome.cc server-glue/spawn/plan_spawn.h \
	server-glue/spawn/plan_spawn.cc server-glue/core/recent_names.h server-glue/cross_job/shared_fate.h \
	server-glue/cross_job/shared_fate.cc server-glue/spawn/spawn_directives.h \
	server-glue/spawn/spawn_directives.cc server-glue/spawn/spawn_request.h \
	server-glue/spawn/spawn_request.cc server-glue/spawn/spawn_service.h server-glue/spawn/spawn_service.cc \
	server-glue/spawn/spawned_jobs.h server-glue/spawn/spawned_jobs.cc server-glue/spawn/starting_jobs.h \
	server-glue/cross_job/step_fate.h server-glue/cross_job/step_fate.cc server-glue/spawn/step_spawn.h \
	server-glue/spawn/step_spawn.cc \
	server-glue/spawn/children_ends.h server-glue/spawn/children_ends.cc \
	server-glue/events/first_failures.h server-glue/events/first_failures.cc \
	server-glue/events/end_lines.h server-glue/events/end_lines.cc \
	server-glue/events/host_ends.h server-glue/events/host_ends.cc \
	server-glue/spawn/spawn_refusal.h server-glue/spawn/spawn_wishes.h server-glue/spawn/spawn_wishes.cc \
	server-glue/spawn/lost_children.h server-glue/spawn/lost_jobs.h server-glue/spawn/lost_jobs.cc \
	server-glue/spawn/place_wish.h server-glue/spawn/place_wish.cc \
	server-glue/spawn/spawn_places.h server-glue/spawn/spawn_places.cc \
	server-glue/spawn/tool_children.h server-glue/spawn/tool_children.cc \
	server-glue/step/client_libraries.h server-glue/step/client_libraries.cc \
	server-glue/step/session_link.h server-glue/step/session_link.cc server-glue/step/step_context.h \
	server-glue/step/step_messages.h server-glue/step/step_service.h \
	server-glue/tasks/agent_descriptions.h server-glue/tasks/agent_descriptions.cc \
	server-glue/tasks/client_asks.h server-glue/tasks/client_upcall.cc \
	server-glue/tasks/job_info.h server-glue/tasks/job_info.cc server-glue/tasks/local_tasks.h \
	server-glue/tasks/local_tasks.cc server-glue/tasks/remedies.h server-glue/tasks/remedies.cc \
	server-glue/tasks/proxy_client.h server-glue/tasks/proxy_client.cc \
	server-glue/debug/exec_stop_watch.h server-glue/debug/exec_stop_watch.cc \
	server-glue/debug/step_stops.h server-glue/debug/step_stops.cc \
	server-glue/tasks/task_door.h server-glue/tasks/task_door.cc server-glue/tasks/task_lives.h \
	server-glue/tasks/task_lives.cc server-glue/tasks/task_registration.h \
	server-glue/tasks/task_registration.cc server-glue/tasks/task_table.h \
	server-glue/tasks/task_watch.h server-glue/tasks/task_watch.cc \
	server-glue/tool_access/relay.h server-glue/tool_access/relay.cc server-glue/tool_access/step_desks.h \
	server-glue/tool_access/step_desks.cc server-glue/tool_access/tool_origins.h \
	server-glue/tool_access/tool_origins.cc \
	server-glue/desk/desk_server.h server-glue/desk/desk_server.cc \
	server-glue/desk/desk_visits.h server-glue/desk/desk_visits.cc \
	server-glue/desk/desk_lobbies.h server-glue/desk/desk_lobbies.cc \
	server-glue/desk/desk_runs.h server-glue/desk/desk_runs.cc \
	server-glue/desk/gate_desk.h server-glue/desk/gate_desk.cc \
	server-glue/desk/remote_tools.h server-glue/desk/remote_tools.cc \
	server-glue/daemon/store_directory.h server-glue/daemon/store_directory.cc \
	server-glue/gate/desk_channel.h server-glue/gate/desk_channel.cc \
	server-glue/gate/tool_gate.h server-glue/gate/tool_gate.cc \
	server-glue/gate/visit_door.h server-glue/gate/visit_door.cc \
	server-glue/gate/visit_limits.h server-glue/gate/visit_limits.cc \
	server-glue/gate/gate_rules.h server-glue/gate/gate_rules.cc \
	server-glue/gate/unknown_tools.h server-glue/gate/remote_door.h server-glue/gate/remote_door.cc \
	server-glue/tool_access/step_choice.h server-glue/tool_access/step_choice.cc \
	server-glue/tool_access/step_tools.h server-glue/tool_access/step_tools.cc \
	server-glue/tool_access/tool_names.h server-glue/tool_access/tool_names.cc \
	server-glue/tool_access/tool_rights.h server-glue/tool_access/tool_rights.cc \
	server-glue/tool_access/tool_ask.h server-glue/tool_access/tool_upcall.cc
server_glue_libglue_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(PMIX_CFLAGS)
server_glue_libglue_la_LIBADD = server-glue/libmended.la server-glue/libseen.la common/libcommon.la $(PMIX_LIBS) -ldl

# What the PMIx library gives to processes is looked at while this is built.
noinst_LTLIBRARIES += server-glue/libseen.la
server_glue_libseen_la_SOURCES = server-glue/library/seen_environment.h server-glue/library/seen_environment.cc
noinst_PROGRAMS += server-glue/environment-probe
server_glue_environment_probe_SOURCES = server-glue/library/environment_probe.cc \
	server-glue/library/settings_file.h
server_glue_environment_probe_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS)
# Without sanitizers, which would judge the library.
server_glue_environment_probe_CXXFLAGS = $(PMIXHOST_CXXSTD) $(PMIXHOST_WARN)
server_glue_environment_probe_LDFLAGS =
server_glue_environment_probe_LDADD = $(PMIX_LIBS) -ldl
EXTRA_DIST += server-glue/library/see_environment.sh
server-glue/library/seen_environment.lo: server-glue/library/seen_environment.inc
server-glue/library/seen_environment.inc: server-glue/environment-probe$(EXEEXT) server-glue/library/see_environment.sh
	$(AM_V_GEN)$(srcdir)/server-glue/library/see_environment.sh server-glue/environment-probe$(EXEEXT) > $@.new && \
		mv $@.new $@
CLEANFILES += server-glue/library/seen_environment.inc

# This one is in C, with the PMIx library's own headers.
noinst_LTLIBRARIES += server-glue/libmended.la
server_glue_libmended_la_SOURCES = \
	server-glue/library/failed_collective.h server-glue/library/failed_collective.c \
	server-glue/library/connected_server.h server-glue/library/connected_server.c \
	server-glue/library/default_output.h server-glue/library/default_output.c \
	server-glue/library/iof_deregistration.h server-glue/library/iof_deregistration.c \
	server-glue/library/pull_asker.h server-glue/library/pull_asker.c \
	server-glue/library/passed_over.h server-glue/library/passed_over.c \
	server-glue/library/refused_pull.h server-glue/library/refused_pull.c \
	server-glue/library/pmix_internals.h server-glue/library/internals/include/pmix_server.h
PMIX_INTERNALS_CPPFLAGS = $(AM_CPPFLAGS) $(PMIX_CFLAGS) -I$(top_srcdir)/server-glue/library/internals
server_glue_libmended_la_CPPFLAGS = $(PMIX_INTERNALS_CPPFLAGS)

pmixhostlibexec_PROGRAMS += server-glue/pmixhostd
server_glue_pmixhostd_SOURCES = server-glue/daemon/pmixhostd.cc server-glue/guard/timer_guard.cc \
	server-glue/guard/listener_interposition.cc server-glue/guard/reply_interposition.cc \
	server-glue/guard/closing_interposition.cc \
	server-glue/library/host_query.h server-glue/library/query_interposition.cc
server_glue_pmixhostd_CPPFLAGS = $(server_glue_libglue_la_CPPFLAGS)
server_glue_pmixhostd_LDADD = server-glue/libglue.la

# The system's server for tools of a host. It runs as nobody's user, with a process that may become users, so it is
# linked with neither the PMIx library nor the rest of the server.
pmixhostlibexec_PROGRAMS += server-glue/pmixhost-gate
noinst_LTLIBRARIES += server-glue/libgate.la
server_glue_libgate_files = \
	server-glue/gate/desk_channel.cc server-glue/gate/gate_rules.h server-glue/gate/gate_rules.cc \
	server-glue/gate/gate_server.h server-glue/gate/gate_server.cc \
	server-glue/gate/privileges.h server-glue/gate/privileges.cc \
	server-glue/gate/refused_tools.h server-glue/gate/refused_tools.cc \
	server-glue/gate/unknown_tools.h server-glue/gate/remote_door.h server-glue/gate/remote_door.cc \
	server-glue/guard/hello.h server-glue/guard/hello.cc \
	server-glue/guard/hello_directives.h server-glue/guard/hello_directives.cc \
	server-glue/guard/hello_peek.h server-glue/guard/hello_peek.cc \
	server-glue/guard/remote_hello.h server-glue/guard/remote_hello.cc \
	server-glue/gate/starter.h server-glue/gate/starter.cc server-glue/gate/tool_gate.cc \
	server-glue/gate/visit_door.cc server-glue/gate/visit_limits.cc
server_glue_libgate_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(PMIX_CFLAGS)
server_glue_libgate_la_LIBADD = common/libcommon.la $(FMT_LIBS)
server_glue_pmixhost_gate_SOURCES = server-glue/gate/gate_program.cc
server_glue_pmixhost_gate_CPPFLAGS = $(server_glue_libgate_la_CPPFLAGS)
server_glue_pmixhost_gate_LDADD = server-glue/libgate.la

# The program that looks at a daemon that stands still (server-glue/evidence/evidence.h). It is a program so that it can
# be killed, and so that nothing else is linked with libdw.
noinst_LTLIBRARIES += server-glue/libevidence.la
server_glue_libevidence_files = \
	server-glue/evidence/backtrace.h server-glue/evidence/backtrace.cc \
	server-glue/evidence/evidence_file.h server-glue/evidence/evidence_file.cc \
	server-glue/evidence/evidence_report.h server-glue/evidence/evidence_report.cc \
	server-glue/evidence/memory_map.h server-glue/evidence/memory_map.cc \
	server-glue/evidence/socket_list.h server-glue/evidence/socket_list.cc \
	server-glue/evidence/stopped_thread.h server-glue/evidence/stopped_thread.cc \
	server-glue/evidence/syscall_names.h server-glue/evidence/syscall_names.cc \
	server-glue/evidence/thread_snapshot.h server-glue/evidence/thread_snapshot.cc
server_glue_libevidence_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(LIBDW_CFLAGS)
server_glue_libevidence_la_LIBADD = $(LIBDW_LIBS)

pmixhostlibexec_PROGRAMS += server-glue/pmixhost-evidence
server_glue_pmixhost_evidence_SOURCES = server-glue/evidence/evidence_program.cc \
	common/base/result.cc common/base/small_file.cc
server_glue_pmixhost_evidence_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS)
server_glue_pmixhost_evidence_LDADD = server-glue/libevidence.la $(FMT_LIBS)

# Every process that PMIx_Spawn makes waits for this program, so it is linked with nothing that it could wait for.
pmixhostlibexec_PROGRAMS += server-glue/pmixhost-task
server_glue_pmixhost_task_files = server-glue/tasks/task_program.cc \
	common/process/descriptor_message.cc common/process/exec_stop.cc common/process/output_file.cc \
	common/base/result.cc common/start/agent_description.cc common/start/start_document.cc \
	common/start/task_output.cc common/start/task_spec.cc
server_glue_pmixhost_task_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) -DFMT_HEADER_ONLY
server_glue_pmixhost_task_LDFLAGS = $(AM_LDFLAGS) -static-libstdc++ -static-libgcc

# What stands between a debugger and the launcher that it has started.
noinst_LTLIBRARIES += server-glue/libindirect.la
server_glue_libindirect_files = \
	server-glue/indirect/debugger_peer.h server-glue/indirect/debugger_peer.cc \
	server-glue/indirect/debugger_process.h server-glue/indirect/debugger_process.cc \
	server-glue/indirect/debugger_server.h server-glue/indirect/debugger_server.cc \
	server-glue/indirect/input_relay.h server-glue/indirect/input_relay.cc \
	server-glue/indirect/job_life.h server-glue/indirect/job_life.cc \
	server-glue/indirect/job_tool.h server-glue/indirect/job_tool.cc \
	server-glue/indirect/keeper.h server-glue/indirect/keeper.cc \
	server-glue/indirect/held_job.h server-glue/indirect/held_job.cc \
	server-glue/indirect/launcher_control.h server-glue/indirect/launcher_control.cc \
	server-glue/indirect/launch_wishes.h server-glue/indirect/launch_wishes.cc \
	server-glue/indirect/packing.h server-glue/indirect/packing.cc \
	server-glue/indirect/side_messages.h \
	server-glue/indirect/tool_process.h server-glue/indirect/tool_process.cc
server_glue_libindirect_la_CPPFLAGS = $(server_glue_libglue_la_CPPFLAGS)
pmixhostlibexec_PROGRAMS += server-glue/pmixhost-indirect
server_glue_pmixhost_indirect_SOURCES = server-glue/indirect/indirect_program.cc \
	server-glue/guard/listener_interposition.cc
server_glue_pmixhost_indirect_CPPFLAGS = $(server_glue_libglue_la_CPPFLAGS)
server_glue_pmixhost_indirect_LDADD = server-glue/libindirect.la server-glue/libglue.la
