# common/: one static convenience library that everything else links.
include common/config.mk
noinst_LTLIBRARIES += common/libcommon.la
common_libcommon_files = \
	common/base/rate_limit.h common/base/user_lines.h \
	common/base/line_writer.h common/base/line_writer.cc \
	common/base/start_thread.h common/base/start_thread.cc \
	common/base/bytes.h \
	common/check/finding.h common/check/finding.cc \
	common/loop/deadline_timer.h \
	common/loop/event_loop.h common/loop/event_loop.cc \
	common/base/begin_connect.h common/base/fd_pair.h common/base/poll_time.h common/base/random_bytes.h \
	common/job/job_map.h common/job/job_map.cc \
	common/policy/accounts.h common/policy/accounts.cc \
	common/policy/network.h common/policy/network.cc \
	common/policy/others_jobs.h common/policy/others_jobs.cc \
	common/policy/own_rules.h common/policy/own_rules.cc \
	common/policy/policy.h common/policy/policy.cc \
	common/policy/policy_load.h common/policy/policy_load.cc \
	common/policy/rule.h common/policy/rule.cc \
	common/policy/unreachable.h common/policy/unreachable.cc \
	common/peer/socket_owner.h common/peer/socket_owner.cc \
	common/peer/peer_address.h \
	common/peer/peer_process.h common/peer/peer_process.cc \
	common/peer/stranger_limits.h \
	common/base/log.h common/base/log.cc \
	common/job/process_set.h common/job/process_set.cc \
	common/rendezvous/rendezvous_files.h common/rendezvous/tool_offer.h common/rendezvous/desk_word.h common/rendezvous/server_names.h common/rendezvous/unserved_step.h common/rendezvous/rendezvous_files.cc \
	common/rendezvous/debugger_door.h common/rendezvous/debugger_door.cc common/rendezvous/gate_door.h common/rendezvous/gate_door.cc common/rendezvous/own_keys.h common/rendezvous/asked_run.h common/rendezvous/asked_run.cc \
	common/job/rank_ranges.h common/job/rank_ranges.cc \
	common/job/rank_runs.h common/job/rank_runs.cc \
	common/job/debug_stops.h common/job/debug_stops.cc common/job/told_ends.h \
	common/base/result.h common/base/result.cc \
	common/config/settings.h \
	common/loop/slow_calls.h common/loop/slow_calls.cc \
	common/base/small_file.h common/base/small_file.cc \
	common/start/spawn_channel.h common/start/spawn_channel.cc \
	common/start/start_document.h common/start/start_document.cc \
	common/text/printable.h common/text/roff.h common/text/roff.cc common/text/take_number.h common/text/take_until.h common/text/trimmed.h common/text/time_back.h \
	common/text/nearest_name.h common/text/nearest_name.cc common/text/shell_words.h \
	common/start/start_fd.h common/start/start_fd.cc \
	common/start/status_page.h common/start/step_secret.h \
	common/start/agent_description.h common/start/agent_description.cc \
	common/start/exec_words.h common/start/exec_words.cc common/start/task_output.h common/start/task_output.cc \
	common/start/starter_command.h common/start/task_spec.h common/start/task_spec.cc \
	common/process/captured_command.h common/process/captured_command.cc common/process/exit_code.h common/process/pointers.h \
	common/process/descriptor_message.h common/process/descriptor_message.cc \
	common/process/exec_stop.h common/process/exec_stop.cc \
	common/process/output_file.h common/process/output_file.cc common/process/posix_spawn.h \
	common/process/bare_fork.h common/process/process_stat.h common/process/process_stat.cc \
	common/process/process_status.h common/process/process_status.cc \
	common/process/memory_use.h common/process/memory_use.cc common/process/topology.h common/process/topology.cc \
	common/process/topology_file.h common/process/topology_file.cc \
	common/process/program_beside.h common/process/program_beside.cc \
	common/process/program_look.h common/process/program_look.cc \
	common/base/hurry.h common/base/hurry.cc common/base/no_room.h common/base/unique_fd.h \
	common/transport/authenticator.h common/transport/authenticator.cc \
	common/transport/credential.h common/transport/credential.cc \
	common/transport/invitation.h common/transport/invitation.cc \
	common/transport/contact.h common/transport/contact.cc common/transport/offered_addresses.h \
	common/transport/frame_tag.h common/transport/frame_tag.cc \
	common/transport/keep_alive.h common/transport/link.h common/transport/link.cc \
	common/transport/link_faults.h common/transport/link_faults.cc \
	common/transport/listener.h common/transport/listener.cc \
	common/transport/mesh.h common/transport/mesh.cc common/transport/mesh_parts.h \
	common/transport/mesh_dialing.cc common/transport/mesh_listening.cc \
	common/transport/secret_box.h common/transport/secret_box.cc \
	common/transport/tree.h \
	common/loop/worker.h \
	common/wire/codec.h \
	common/wire/frame.h common/wire/frame.cc \
	common/wire/rank_set.h common/wire/rank_set.cc \
	common/wire/all_messages.h \
	common/wire/collective_messages.h \
	common/wire/connection_messages.h \
	common/wire/control_messages.h \
	common/wire/cross_job_messages.h \
	common/wire/debug_messages.h \
	common/wire/iof_messages.h common/wire/event_messages.h \
	common/wire/modex_messages.h \
	common/wire/names.h common/wire/time_left.h \
	common/wire/publish_messages.h common/wire/relay_messages.h common/wire/relayed.h \
	common/wire/session_messages.h \
	common/wire/spawn_messages.h \
	common/wire/table_messages.h \
	common/wire/wire_version.h common/wire/wire_version.cc \
	$(COMMON_CONFIG_SOURCES)
common_libcommon_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(LIBEVENT_CFLAGS) $(HWLOC_CFLAGS) $(MUNGE_CFLAGS) \
	$(NETTLE_CFLAGS)
common_libcommon_la_LIBADD = $(FMT_LIBS) $(LIBEVENT_LIBS) $(HWLOC_LIBS) $(MUNGE_LIBS) $(NETTLE_LIBS)
