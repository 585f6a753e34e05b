# test/: unit and simulation tests speak TAP; end-to-end tests have runners of their own
# (test/e2e/run-local, test/e2e/run-slurm), which contrib/check calls.
TEST_EXTENSIONS = .sh
LOG_DRIVER = env CMOCKA_MESSAGE_OUTPUT=TAP AM_TAP_AWK='$(AWK)' $(SHELL) \
	$(top_srcdir)/contrib/build-aux/tap-driver.sh
SH_LOG_DRIVER = $(LOG_DRIVER)
LOG_COMPILER = $(top_srcdir)/test/unit/cmocka-tap
EXTRA_DIST += test/unit/cmocka-tap

noinst_HEADERS = test/unit/bare_rm.h test/unit/check.h test/unit/counted_memory.h test/unit/fake_hosts.h test/unit/fake_session.h test/unit/lingering.h test/unit/gate.h test/unit/hello.h test/unit/iof_world.h test/unit/library_gate.h test/unit/lone_step.h test/unit/no_hosts.h test/unit/run_until.h test/unit/table_hosts.h test/unit/tool_pulls_host.h test/unit/upcall_fixture.h \
	test/unit/slurm_map_head.h
include test/config.mk
include test/slurm.mk
include test/e2e.mk
include test/fuzz.mk
include test/fault.mk

GLUE_TESTS = test/unit/wire test/unit/collective test/unit/collective_pieces test/unit/link test/unit/mesh test/unit/munge_authenticator test/unit/frame_tags test/unit/modex test/unit/data_store \
	test/unit/session_collective test/unit/cross_job_control test/unit/job_control test/unit/log_service test/unit/task_texts test/unit/task_watch test/unit/task_lives \
	test/unit/event_loop test/unit/event_service test/unit/process_set test/unit/process_table test/unit/query_service test/unit/rank_ranges test/unit/rank_runs test/unit/rank_set test/unit/debug_stops test/unit/step_debug test/unit/time_warning test/unit/session_watch \
	test/unit/spawn_plan test/unit/place_wish test/unit/spawn_places test/unit/spawn_leaving test/unit/spawned_jobs test/unit/lost_jobs \
	test/unit/wire_document
GLUE_TESTS += test/unit/posted_heirs test/unit/posted_now test/unit/job_tables test/unit/debugged_job test/unit/debugger_door test/unit/first_failures test/unit/host_events test/unit/debugger_daemons test/unit/pack
GLUE_TESTS += test/unit/secret_box
GLUE_TESTS += test/unit/indirect_launch test/unit/iof_deregistration test/unit/library_version test/unit/unmended_faults test/unit/remedies test/unit/client_libraries
GLUE_TESTS += test/unit/session_events test/unit/session_relay test/unit/session_publish test/unit/publish_service test/unit/shared_fate test/unit/rendezvous_files test/unit/tool_names
GLUE_TESTS += test/unit/tool_gate test/unit/visit_limits test/unit/visit_door test/unit/tool_needs test/unit/tool_rights test/unit/step_choice test/unit/gate_desk
GLUE_TESTS += test/unit/hurry test/unit/remote_tools test/unit/asked_run test/unit/gate_rules test/unit/gate_server test/unit/refused_tools test/unit/desk_runs test/unit/desk_lobbies
GLUE_TESTS += test/unit/slow_calls test/unit/allocation_service
GLUE_TESTS += test/unit/strangers test/unit/task_door test/unit/exec_stop test/unit/output_file test/unit/copied_streams test/unit/recent_output test/unit/held_output test/unit/store_directory
GLUE_TESTS += test/unit/launcher_server test/unit/allocation_places
GLUE_TESTS += test/unit/leaving
GLUE_TESTS += test/unit/log test/unit/topology_file test/unit/topology_keeper
GLUE_TESTS += test/unit/worker
GLUE_TESTS += test/unit/relay test/unit/pending_writes test/unit/output_flow test/unit/output_taken_over test/unit/input_flow test/unit/output_forward test/unit/children_io test/unit/task_streams \
	test/unit/parent_forwarding test/unit/tool_pulls test/unit/passed_over_pulls test/unit/slow_readers
GLUE_TESTS += test/unit/group_parts test/unit/group_upcall
GLUE_TESTS += test/unit/connection_guard test/unit/hello test/unit/library_guard test/unit/socket_owner
GLUE_TESTS += test/unit/step_server test/unit/expected_environment test/unit/program_look test/unit/program_beside
GLUE_TESTS += test/unit/evidence
GLUE_TESTS += test/unit/timer_guard
GLUE_TESTS += test/unit/library_thread test/unit/upcalls test/unit/upcall_answers test/unit/direct_answers test/unit/closed_connections
GLUE_TESTS += test/unit/library_watch
GLUE_TESTS += test/unit/namespace_asks test/unit/inner_client test/unit/cross_job_posted
# Large state machines without a thread have nothing for the thread sanitizer, under which they take minutes.
LARGE_TESTS = test/sim/collectives test/unit/group_registry test/unit/group_invitations
check_PROGRAMS += $(GLUE_TESTS) $(LARGE_TESTS)
if !SANITIZES_THREADS
TESTS += $(LARGE_TESTS)
endif
TESTS += $(GLUE_TESTS) test/unit/library_calls.sh test/unit/include_directions.sh test/unit/source_text.sh test/unit/backends.sh test/unit/removal.sh \
	test/unit/namespaces.sh test/unit/man_page.sh test/unit/query_keys.sh test/unit/bench_report.sh
EXTRA_DIST += test/unit/library_calls.sh test/unit/include_directions.sh test/unit/source_text.sh test/unit/with-threads test/unit/on-each-release test/unit/in-turn test/unit/backends.sh test/unit/removal.sh \
	test/unit/namespaces.sh test/unit/man_page.sh test/unit/query_keys.sh test/unit/bench_report.sh
GLUE_TEST_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(PMIX_CFLAGS) $(CMOCKA_CFLAGS)
GLUE_TEST_LDADD = server-glue/libglue.la $(CMOCKA_LIBS)
test_unit_wire_SOURCES = test/unit/wire.cc
test_unit_wire_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_wire_LDADD = $(GLUE_TEST_LDADD)
test_unit_collective_SOURCES = test/unit/collective.cc
test_unit_collective_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_collective_LDADD = $(GLUE_TEST_LDADD)
test_unit_collective_pieces_SOURCES = test/unit/collective_pieces.cc
test_unit_collective_pieces_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_collective_pieces_LDADD = $(GLUE_TEST_LDADD)
test_sim_collectives_SOURCES = test/sim/collectives.cc
test_sim_collectives_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_sim_collectives_LDADD = $(GLUE_TEST_LDADD)
test_unit_inner_client_SOURCES = test/unit/inner_client.cc
test_unit_inner_client_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_inner_client_LDADD = $(GLUE_TEST_LDADD)
test_unit_cross_job_posted_SOURCES = test/unit/cross_job_posted.cc
test_unit_cross_job_posted_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_cross_job_posted_LDADD = $(GLUE_TEST_LDADD)
test_unit_namespace_asks_SOURCES = test/unit/namespace_asks.cc
test_unit_namespace_asks_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_namespace_asks_LDADD = $(GLUE_TEST_LDADD)
test_unit_cross_job_control_SOURCES = test/unit/cross_job_control.cc
test_unit_cross_job_control_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_cross_job_control_LDADD = $(GLUE_TEST_LDADD)
test_unit_job_control_SOURCES = test/unit/job_control.cc
test_unit_job_control_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_job_control_LDADD = $(GLUE_TEST_LDADD)
GLUE_TESTS += test/unit/tool_pauses
test_unit_tool_pauses_SOURCES = test/unit/tool_pauses.cc
test_unit_tool_pauses_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_tool_pauses_LDADD = $(GLUE_TEST_LDADD)
test_unit_indirect_launch_SOURCES = test/unit/indirect_launch.cc
test_unit_indirect_launch_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_indirect_launch_LDADD = server-glue/libindirect.la plugins/kit/libkit.la $(GLUE_TEST_LDADD)
test_unit_iof_deregistration_SOURCES = test/unit/iof_deregistration.c
test_unit_iof_deregistration_CPPFLAGS = $(PMIX_INTERNALS_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_iof_deregistration_LDADD = server-glue/libmended.la $(PMIX_LIBS) $(CMOCKA_LIBS)
test_unit_library_version_SOURCES = test/unit/library_version.cc
test_unit_library_version_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_library_version_LDADD = $(GLUE_TEST_LDADD)
test_unit_client_libraries_SOURCES = test/unit/client_libraries.cc
test_unit_client_libraries_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_client_libraries_LDADD = $(GLUE_TEST_LDADD)
test_unit_unmended_faults_SOURCES = test/unit/unmended_faults.cc
test_unit_unmended_faults_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_unmended_faults_LDADD = $(GLUE_TEST_LDADD)

test_unit_remedies_SOURCES = test/unit/remedies.cc
test_unit_remedies_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_remedies_LDADD = $(GLUE_TEST_LDADD)

test_unit_posted_heirs_SOURCES = test/unit/posted_heirs.cc
test_unit_posted_heirs_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_posted_heirs_LDADD = $(GLUE_TEST_LDADD)
test_unit_library_thread_SOURCES = test/unit/library_thread.cc
test_unit_library_thread_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_library_thread_LDADD = $(GLUE_TEST_LDADD)
# With what makes libpmix' base known, as pmixhostd is.
test_unit_direct_answers_SOURCES = test/unit/direct_answers.cc server-glue/guard/timer_guard.cc
test_unit_direct_answers_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_direct_answers_LDADD = $(GLUE_TEST_LDADD) -ldl
test_unit_direct_answers_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
# With pmixhostd's close(); library_guard is a program without it.
test_unit_closed_connections_SOURCES = test/unit/closed_connections.cc server-glue/guard/closing_interposition.cc
test_unit_closed_connections_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_closed_connections_LDADD = $(GLUE_TEST_LDADD) -ldl
test_unit_closed_connections_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_unit_library_watch_SOURCES = test/unit/library_watch.cc
test_unit_library_watch_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_library_watch_LDADD = $(GLUE_TEST_LDADD)
# With the guard, as pmixhostd is, and a module, as backends are.
test_unit_timer_guard_SOURCES = test/unit/timer_guard.cc server-glue/guard/timer_guard.cc \
	server-glue/guard/assigned_base.cc
test_unit_timer_guard_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_timer_guard_LDADD = common/libcommon.la $(CMOCKA_LIBS) -ldl
test_unit_timer_guard_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
EXTRA_test_unit_timer_guard_DEPENDENCIES = test/unit/timer_module.la
check_LTLIBRARIES += test/unit/timer_module.la
test_unit_timer_module_la_SOURCES = test/unit/timer_module.cc
test_unit_timer_module_la_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_timer_module_la_LIBADD = common/libcommon.la
test_unit_timer_module_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
test_unit_upcalls_SOURCES = test/unit/upcalls.cc
test_unit_upcalls_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_upcalls_LDADD = $(GLUE_TEST_LDADD)
test_unit_upcall_answers_SOURCES = test/unit/upcall_answers.cc
test_unit_upcall_answers_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_upcall_answers_LDADD = $(GLUE_TEST_LDADD)
test_unit_task_texts_SOURCES = test/unit/task_texts.cc
test_unit_task_texts_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_task_texts_LDADD = $(GLUE_TEST_LDADD)
test_unit_log_service_SOURCES = test/unit/log_service.cc
test_unit_log_service_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_log_service_LDADD = $(GLUE_TEST_LDADD)
test_unit_group_upcall_SOURCES = test/unit/group_upcall.cc
test_unit_group_upcall_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_group_upcall_LDADD = $(GLUE_TEST_LDADD)
test_unit_munge_authenticator_SOURCES = test/unit/munge_authenticator.cc
test_unit_munge_authenticator_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_munge_authenticator_LDADD = $(GLUE_TEST_LDADD)
test_unit_munge_authenticator_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_unit_link_SOURCES = test/unit/link.cc
test_unit_link_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_link_LDADD = $(GLUE_TEST_LDADD)
test_unit_mesh_SOURCES = test/unit/mesh.cc
test_unit_mesh_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_mesh_LDADD = $(GLUE_TEST_LDADD)
test_unit_secret_box_SOURCES = test/unit/secret_box.cc
test_unit_secret_box_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_secret_box_LDADD = $(GLUE_TEST_LDADD)

test_unit_frame_tags_SOURCES = test/unit/frame_tags.cc
test_unit_frame_tags_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_frame_tags_LDADD = $(GLUE_TEST_LDADD)
test_unit_data_store_SOURCES = test/unit/data_store.cc
test_unit_data_store_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_data_store_LDADD = $(GLUE_TEST_LDADD)
test_unit_shared_fate_SOURCES = test/unit/shared_fate.cc
test_unit_shared_fate_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_shared_fate_LDADD = $(GLUE_TEST_LDADD)
test_unit_session_collective_SOURCES = test/unit/session_collective.cc
test_unit_session_collective_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_session_collective_LDADD = $(GLUE_TEST_LDADD)
test_unit_group_invitations_SOURCES = test/unit/group_invitations.cc
test_unit_group_invitations_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_group_invitations_LDADD = $(GLUE_TEST_LDADD)
test_unit_group_parts_SOURCES = test/unit/group_parts.cc
test_unit_group_parts_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_group_parts_LDADD = $(GLUE_TEST_LDADD)
test_unit_group_registry_SOURCES = test/unit/group_registry.cc
test_unit_group_registry_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_group_registry_LDADD = $(GLUE_TEST_LDADD)
test_unit_modex_SOURCES = test/unit/modex.cc
test_unit_modex_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_modex_LDADD = $(GLUE_TEST_LDADD)
test_unit_task_watch_SOURCES = test/unit/task_watch.cc
test_unit_task_watch_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_task_watch_LDADD = $(GLUE_TEST_LDADD)
test_unit_event_service_SOURCES = test/unit/event_service.cc
test_unit_event_service_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_event_service_LDADD = $(GLUE_TEST_LDADD)
test_unit_rendezvous_files_SOURCES = test/unit/rendezvous_files.cc
test_unit_rendezvous_files_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_rendezvous_files_LDADD = $(GLUE_TEST_LDADD)
test_unit_visit_limits_SOURCES = test/unit/visit_limits.cc
test_unit_visit_limits_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_visit_limits_LDADD = $(GLUE_TEST_LDADD)
test_unit_refused_tools_SOURCES = test/unit/refused_tools.cc
test_unit_refused_tools_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_refused_tools_LDADD = server-glue/libgate.la $(CMOCKA_LIBS)
test_unit_tool_gate_SOURCES = test/unit/tool_gate.cc
test_unit_tool_gate_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_tool_gate_LDADD = $(GLUE_TEST_LDADD)
test_unit_tool_needs_SOURCES = test/unit/tool_needs.cc
test_unit_tool_needs_CPPFLAGS = $(GLUE_TEST_CPPFLAGS) -DPMIXHOST_TOP_SRCDIR='"$(abs_top_srcdir)"'
test_unit_tool_needs_LDADD = $(GLUE_TEST_LDADD)
test_unit_tool_rights_SOURCES = test/unit/tool_rights.cc
test_unit_tool_rights_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_tool_rights_LDADD = $(GLUE_TEST_LDADD)
test_unit_visit_door_SOURCES = test/unit/visit_door.cc
test_unit_visit_door_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_visit_door_LDADD = $(GLUE_TEST_LDADD)
test_unit_remote_tools_SOURCES = test/unit/remote_tools.cc
test_unit_remote_tools_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_remote_tools_LDADD = $(GLUE_TEST_LDADD)
test_unit_hurry_SOURCES = test/unit/hurry.cc
test_unit_hurry_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_hurry_LDADD = $(GLUE_TEST_LDADD)
test_unit_asked_run_SOURCES = test/unit/asked_run.cc
test_unit_asked_run_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_asked_run_LDADD = $(GLUE_TEST_LDADD)
test_unit_program_beside_SOURCES = test/unit/program_beside.cc
test_unit_program_beside_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_program_beside_LDADD = $(GLUE_TEST_LDADD)
test_unit_gate_rules_SOURCES = test/unit/gate_rules.cc
test_unit_gate_rules_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_gate_rules_LDADD = $(GLUE_TEST_LDADD)
test_unit_gate_server_SOURCES = test/unit/gate_server.cc
test_unit_gate_server_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_gate_server_LDADD = server-glue/libgate.la $(CMOCKA_LIBS)
test_unit_desk_runs_SOURCES = test/unit/desk_runs.cc
test_unit_desk_runs_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_desk_runs_LDADD = $(GLUE_TEST_LDADD)
test_unit_desk_lobbies_SOURCES = test/unit/desk_lobbies.cc
test_unit_desk_lobbies_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_desk_lobbies_LDADD = $(GLUE_TEST_LDADD)
test_unit_spawn_leaving_SOURCES = test/unit/spawn_leaving.cc
test_unit_spawn_leaving_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_spawn_leaving_LDADD = $(GLUE_TEST_LDADD)
test_unit_spawned_jobs_SOURCES = test/unit/spawned_jobs.cc
test_unit_spawned_jobs_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_spawned_jobs_LDADD = $(GLUE_TEST_LDADD)
test_unit_lost_jobs_SOURCES = test/unit/lost_jobs.cc
test_unit_lost_jobs_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_lost_jobs_LDADD = $(GLUE_TEST_LDADD)
test_unit_spawn_places_SOURCES = test/unit/spawn_places.cc
test_unit_spawn_places_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_spawn_places_LDADD = $(GLUE_TEST_LDADD)
test_unit_gate_desk_SOURCES = test/unit/gate_desk.cc
test_unit_gate_desk_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_gate_desk_LDADD = $(GLUE_TEST_LDADD)
test_unit_step_choice_SOURCES = test/unit/step_choice.cc
test_unit_step_choice_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_step_choice_LDADD = $(GLUE_TEST_LDADD)
test_unit_tool_names_SOURCES = test/unit/tool_names.cc
test_unit_tool_names_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_tool_names_LDADD = $(GLUE_TEST_LDADD)
test_unit_session_relay_SOURCES = test/unit/session_relay.cc
test_unit_session_relay_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_session_relay_LDADD = $(GLUE_TEST_LDADD)
test_unit_publish_service_SOURCES = test/unit/publish_service.cc
test_unit_publish_service_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_publish_service_LDADD = $(GLUE_TEST_LDADD)
test_unit_session_publish_SOURCES = test/unit/session_publish.cc
test_unit_session_publish_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_session_publish_LDADD = $(GLUE_TEST_LDADD)
test_unit_session_events_SOURCES = test/unit/session_events.cc
test_unit_session_events_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_session_events_LDADD = $(GLUE_TEST_LDADD)
test_unit_session_watch_SOURCES = test/unit/session_watch.cc
test_unit_session_watch_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_session_watch_LDADD = $(GLUE_TEST_LDADD)
test_unit_time_warning_SOURCES = test/unit/time_warning.cc
test_unit_time_warning_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_time_warning_LDADD = $(GLUE_TEST_LDADD)
test_unit_debug_stops_SOURCES = test/unit/debug_stops.cc
test_unit_debug_stops_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_debug_stops_LDADD = $(GLUE_TEST_LDADD)
test_unit_step_debug_SOURCES = test/unit/step_debug.cc
test_unit_step_debug_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_step_debug_LDADD = $(GLUE_TEST_LDADD)
test_unit_job_tables_SOURCES = test/unit/job_tables.cc
test_unit_job_tables_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_job_tables_LDADD = $(GLUE_TEST_LDADD)
test_unit_pack_SOURCES = test/unit/pack.cc
test_unit_pack_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_pack_LDADD = $(GLUE_TEST_LDADD)
test_unit_host_events_SOURCES = test/unit/host_events.cc
test_unit_host_events_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_host_events_LDADD = $(GLUE_TEST_LDADD)
test_unit_first_failures_SOURCES = test/unit/first_failures.cc
test_unit_first_failures_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_first_failures_LDADD = $(GLUE_TEST_LDADD)
test_unit_debugged_job_SOURCES = test/unit/debugged_job.cc
test_unit_debugged_job_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_debugged_job_LDADD = $(GLUE_TEST_LDADD)
test_unit_debugger_door_SOURCES = test/unit/debugger_door.cc
test_unit_debugger_door_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_debugger_door_LDADD = $(GLUE_TEST_LDADD)
test_unit_debugger_daemons_SOURCES = test/unit/debugger_daemons.cc
test_unit_debugger_daemons_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_debugger_daemons_LDADD = $(GLUE_TEST_LDADD)
test_unit_rank_runs_SOURCES = test/unit/rank_runs.cc
test_unit_rank_runs_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_rank_runs_LDADD = $(GLUE_TEST_LDADD)
test_unit_rank_set_SOURCES = test/unit/rank_set.cc
test_unit_rank_set_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_rank_set_LDADD = $(GLUE_TEST_LDADD)
test_unit_rank_ranges_SOURCES = test/unit/rank_ranges.cc
test_unit_rank_ranges_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_rank_ranges_LDADD = $(GLUE_TEST_LDADD)
test_unit_process_table_SOURCES = test/unit/process_table.cc
test_unit_process_table_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_process_table_LDADD = $(GLUE_TEST_LDADD)
check_PROGRAMS += test/bench/bench_table test/bench/bench_scale
test_bench_bench_table_SOURCES = test/bench/bench_table.cc
test_bench_bench_table_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_bench_bench_table_LDADD = $(GLUE_TEST_LDADD)
test_bench_bench_scale_SOURCES = test/bench/bench_scale.cc test/bench/scale.h test/bench/scale_plot.h test/bench/scale_take.h \
	test/bench/simulated_network.h test/bench/scale_collectives.cc test/bench/scale_connect.cc test/bench/scale_events.cc
test_bench_bench_scale_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_bench_bench_scale_LDADD = $(GLUE_TEST_LDADD)
# The sources of daemons that have their event loop and connections from the simulation: its headers come first.
check_PROGRAMS += test/bench/bench_launch
test_bench_bench_launch_files = test/bench/bench_launch.cc test/bench/launch.h test/bench/launch_start.cc \
	test/bench/launch_spawn.cc test/bench/launch_ends.cc test/bench/scale.h test/bench/scale_plot.h \
	test/bench/simulated_network.h test/bench/simulated_hosts.h test/bench/simulated_hosts.cc \
	test/bench/simulated/common/base/begin_connect.h test/bench/simulated/common/loop/event_loop.h \
	test/bench/simulated/common/loop/slow_calls.h test/bench/simulated/common/transport/link.h \
	test/bench/simulated/common/transport/listener.h test/bench/simulated/server-glue/spawn/child_job.h
test_bench_bench_launch_parts = \
	common/base/line_writer.cc common/base/log.cc common/base/result.cc common/base/start_thread.cc \
	common/job/debug_stops.cc common/job/process_set.cc common/job/rank_ranges.cc common/job/rank_runs.cc \
	common/transport/contact.cc common/transport/frame_tag.cc common/transport/invitation.cc \
	common/transport/link_faults.cc common/transport/mesh.cc common/transport/mesh_dialing.cc \
	common/transport/mesh_listening.cc common/wire/wire_version.cc plugins/kit/contact_sender.cc \
	server-glue/cross_job/session_relay.cc server-glue/cross_job/step_finder.cc \
	server-glue/daemon/central_server.cc server-glue/daemon/launcher_server.cc server-glue/library/convert.cc \
	server-glue/spawn/allocation_places.cc \
	server-glue/spawn/debugger_daemons.cc server-glue/spawn/place_wish.cc server-glue/spawn/plan_spawn.cc \
	server-glue/spawn/spawn_directives.cc \
	server-glue/iof/held_output.cc server-glue/spawn/spawn_service.cc server-glue/spawn/spawn_wishes.cc
test_bench_bench_launch_CPPFLAGS = -iquote $(top_srcdir)/test/bench/simulated $(AM_CPPFLAGS) $(FMT_CFLAGS) $(PMIX_CFLAGS) $(NETTLE_CFLAGS)
test_bench_bench_launch_LDADD = $(FMT_LIBS) $(NETTLE_LIBS) $(PMIX_LIBS)
test_unit_query_service_SOURCES = test/unit/query_service.cc
test_unit_query_service_CPPFLAGS = $(GLUE_TEST_CPPFLAGS) -DPMIXHOST_TOP_SRCDIR='"$(abs_top_srcdir)"'
test_unit_query_service_LDADD = $(GLUE_TEST_LDADD)
test_unit_process_set_SOURCES = test/unit/process_set.cc
test_unit_process_set_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_process_set_LDADD = $(GLUE_TEST_LDADD)
test_unit_event_loop_SOURCES = test/unit/event_loop.cc
test_unit_event_loop_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_event_loop_LDADD = $(GLUE_TEST_LDADD)
test_unit_allocation_service_SOURCES = test/unit/allocation_service.cc
test_unit_allocation_service_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_allocation_service_LDADD = $(GLUE_TEST_LDADD)
test_unit_strangers_SOURCES = test/unit/strangers.cc
test_unit_strangers_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_strangers_LDADD = $(GLUE_TEST_LDADD)
test_unit_posted_now_SOURCES = test/unit/posted_now.cc
test_unit_posted_now_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_posted_now_LDADD = $(GLUE_TEST_LDADD)
test_unit_task_lives_SOURCES = test/unit/task_lives.cc
test_unit_task_lives_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_task_lives_LDADD = $(GLUE_TEST_LDADD)
test_unit_task_door_SOURCES = test/unit/task_door.cc
test_unit_task_door_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_task_door_LDADD = $(GLUE_TEST_LDADD)
test_unit_exec_stop_SOURCES = test/unit/exec_stop.cc
test_unit_exec_stop_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_exec_stop_LDADD = plugins/kit/libkit.la $(GLUE_TEST_LDADD)
test_unit_output_file_SOURCES = test/unit/output_file.cc
test_unit_output_file_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_output_file_LDADD = $(GLUE_TEST_LDADD)
test_unit_recent_output_SOURCES = test/unit/recent_output.cc
test_unit_recent_output_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_recent_output_LDADD = $(GLUE_TEST_LDADD)
test_unit_held_output_SOURCES = test/unit/held_output.cc
test_unit_held_output_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_held_output_LDADD = $(GLUE_TEST_LDADD)
test_unit_copied_streams_SOURCES = test/unit/copied_streams.cc
test_unit_copied_streams_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_copied_streams_LDADD = $(GLUE_TEST_LDADD)
test_unit_topology_file_SOURCES = test/unit/topology_file.cc
test_unit_topology_file_CPPFLAGS = $(GLUE_TEST_CPPFLAGS) $(HWLOC_CFLAGS)
test_unit_topology_file_LDADD = common/libcommon.la $(CMOCKA_LIBS)
test_unit_topology_keeper_SOURCES = test/unit/topology_keeper.cc
test_unit_topology_keeper_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_topology_keeper_LDADD = plugins/kit/libkit.la common/libcommon.la $(CMOCKA_LIBS)
test_unit_store_directory_SOURCES = test/unit/store_directory.cc
test_unit_store_directory_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_store_directory_LDADD = $(GLUE_TEST_LDADD)
test_unit_leaving_SOURCES = test/unit/leaving.cc
test_unit_leaving_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_leaving_LDADD = $(GLUE_TEST_LDADD)
test_unit_launcher_server_SOURCES = test/unit/launcher_server.cc
test_unit_launcher_server_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_launcher_server_LDADD = $(GLUE_TEST_LDADD)
test_unit_allocation_places_SOURCES = test/unit/allocation_places.cc
test_unit_allocation_places_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_allocation_places_LDADD = $(GLUE_TEST_LDADD)
test_unit_log_SOURCES = test/unit/log.cc
test_unit_log_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_log_LDADD = $(GLUE_TEST_LDADD)
test_unit_worker_SOURCES = test/unit/worker.cc
test_unit_worker_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_worker_LDADD = $(GLUE_TEST_LDADD) -ldl
test_unit_slow_calls_SOURCES = test/unit/slow_calls.cc
test_unit_slow_calls_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_slow_calls_LDADD = $(GLUE_TEST_LDADD)
test_unit_evidence_SOURCES = test/unit/evidence.cc
test_unit_evidence_CPPFLAGS = $(GLUE_TEST_CPPFLAGS) -DPMIXHOST_TOP_BUILDDIR='"$(abs_top_builddir)"'
test_unit_evidence_LDADD = server-glue/libevidence.la $(GLUE_TEST_LDADD)
EXTRA_test_unit_evidence_DEPENDENCIES = server-glue/pmixhost-evidence
test_unit_place_wish_SOURCES = test/unit/place_wish.cc
test_unit_place_wish_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_place_wish_LDADD = $(GLUE_TEST_LDADD)
test_unit_spawn_plan_SOURCES = test/unit/spawn_plan.cc
test_unit_spawn_plan_CPPFLAGS = $(GLUE_TEST_CPPFLAGS) -DPMIXHOST_PMIX_CFLAGS='"$(PMIX_CFLAGS)"'
test_unit_spawn_plan_LDADD = $(GLUE_TEST_LDADD)
test_unit_wire_document_SOURCES = test/unit/wire_document.cc
test_unit_wire_document_CPPFLAGS = $(GLUE_TEST_CPPFLAGS) -DPMIXHOST_TOP_SRCDIR='"$(abs_top_srcdir)"'
test_unit_wire_document_LDADD = $(GLUE_TEST_LDADD)
test_unit_output_flow_SOURCES = test/unit/output_flow.cc
test_unit_output_flow_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_output_flow_LDADD = $(GLUE_TEST_LDADD)
test_unit_output_taken_over_SOURCES = test/unit/output_taken_over.cc
test_unit_output_taken_over_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_output_taken_over_LDADD = $(GLUE_TEST_LDADD)
test_unit_input_flow_SOURCES = test/unit/input_flow.cc
test_unit_input_flow_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_input_flow_LDADD = $(GLUE_TEST_LDADD)
test_unit_output_forward_SOURCES = test/unit/output_forward.cc
test_unit_output_forward_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_output_forward_LDADD = $(GLUE_TEST_LDADD)
test_unit_parent_forwarding_SOURCES = test/unit/parent_forwarding.cc
test_unit_parent_forwarding_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_parent_forwarding_LDADD = $(GLUE_TEST_LDADD)
test_unit_slow_readers_SOURCES = test/unit/slow_readers.cc
test_unit_slow_readers_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_slow_readers_LDADD = $(GLUE_TEST_LDADD)
test_unit_tool_pulls_SOURCES = test/unit/tool_pulls.cc
test_unit_tool_pulls_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_tool_pulls_LDADD = $(GLUE_TEST_LDADD)
test_unit_passed_over_pulls_SOURCES = test/unit/passed_over_pulls.cc
test_unit_passed_over_pulls_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_passed_over_pulls_LDADD = $(GLUE_TEST_LDADD)
test_unit_children_io_SOURCES = test/unit/children_io.cc
test_unit_children_io_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_children_io_LDADD = $(GLUE_TEST_LDADD)
test_unit_task_streams_SOURCES = test/unit/task_streams.cc
test_unit_task_streams_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_task_streams_LDADD = $(GLUE_TEST_LDADD)
test_unit_pending_writes_SOURCES = test/unit/pending_writes.cc
test_unit_pending_writes_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_pending_writes_LDADD = $(GLUE_TEST_LDADD)
test_unit_relay_SOURCES = test/unit/relay.cc
test_unit_relay_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_relay_LDADD = $(GLUE_TEST_LDADD)
test_unit_connection_guard_SOURCES = test/unit/connection_guard.cc
test_unit_connection_guard_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_connection_guard_LDADD = $(GLUE_TEST_LDADD)
test_unit_hello_SOURCES = test/unit/hello.cc
test_unit_hello_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_hello_LDADD = $(GLUE_TEST_LDADD)
# With the guard, as pmixhostd is; libpmix is the test's own.
test_unit_step_server_SOURCES = test/unit/step_server.cc server-glue/guard/listener_interposition.cc
test_unit_step_server_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_step_server_LDADD = $(GLUE_TEST_LDADD)
test_unit_step_server_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
# Likewise, with the real libpmix.
test_unit_expected_environment_SOURCES = test/unit/expected_environment.cc server-glue/guard/listener_interposition.cc
test_unit_expected_environment_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_expected_environment_LDADD = $(GLUE_TEST_LDADD)
test_unit_expected_environment_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_unit_program_look_SOURCES = test/unit/program_look.cc
test_unit_program_look_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_program_look_LDADD = $(GLUE_TEST_LDADD)
test_unit_library_guard_SOURCES = test/unit/library_guard.cc
test_unit_library_guard_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_library_guard_LDADD = $(GLUE_TEST_LDADD)
test_unit_socket_owner_SOURCES = test/unit/socket_owner.cc
test_unit_socket_owner_CPPFLAGS = $(GLUE_TEST_CPPFLAGS)
test_unit_socket_owner_LDADD = $(GLUE_TEST_LDADD)
EXTRA_DIST += contrib/doc
