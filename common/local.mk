# common/: one static convenience library that everything else links.
include common/config.mk
noinst_LTLIBRARIES += common/libcommon.la
common_libcommon_la_SOURCES = \
	common/base/rate_limit.h \
	common/base/line_writer.h common/base/line_writer.cc \
	common/base/start_thread.h common/base/start_thread.cc \
	common/bytes.h \
	common/deadline_timer.h \
	common/event_loop.h common/event_loop.cc \
	common/fd_pair.h \
	common/job_map.h common/job_map.cc \
	common/local/socket_owner.h common/local/socket_owner.cc \
	common/local/peer_address.h \
	common/local/peer_process.h common/local/peer_process.cc \
	common/local/stranger_limits.h \
	common/log.h common/log.cc \
	common/process_set.h common/process_set.cc \
	common/rank_ranges.h common/rank_ranges.cc \
	common/result.h common/result.cc \
	common/settings.h \
	common/slow_calls.h common/slow_calls.cc \
	common/small_file.h common/small_file.cc \
	common/spawn_channel.h common/spawn_channel.cc \
	common/start_document.h common/start_document.cc \
	common/start_fd.h common/start_fd.cc \
	common/status_page.h \
	common/task_spec.h common/task_spec.cc \
	common/topology.h common/topology.cc \
	common/unique_fd.h \
	common/transport/authenticator.h common/transport/authenticator.cc \
	common/transport/credential.h common/transport/credential.cc \
	common/transport/invitation.h common/transport/invitation.cc \
	common/transport/contact.h common/transport/contact.cc \
	common/transport/frame_tag.h common/transport/frame_tag.cc \
	common/transport/link.h common/transport/link.cc \
	common/transport/link_faults.h common/transport/link_faults.cc \
	common/transport/listener.h common/transport/listener.cc \
	common/transport/mesh.h common/transport/mesh.cc \
	common/transport/tree.h \
	common/worker.h \
	common/wire/codec.h \
	common/wire/frame.h common/wire/frame.cc \
	common/wire/all_messages.h \
	common/wire/collective_messages.h \
	common/wire/connection_messages.h \
	common/wire/control_messages.h \
	common/wire/cross_job_messages.h \
	common/wire/event_messages.h \
	common/wire/modex_messages.h \
	common/wire/names.h \
	common/wire/publish_messages.h \
	common/wire/session_messages.h \
	common/wire/spawn_messages.h \
	common/wire/table_messages.h \
	$(COMMON_CONFIG_SOURCES)
common_libcommon_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(LIBEVENT_CFLAGS) $(HWLOC_CFLAGS) $(MUNGE_CFLAGS) \
	$(NETTLE_CFLAGS)
common_libcommon_la_LIBADD = $(FMT_LIBS) $(LIBEVENT_LIBS) $(HWLOC_LIBS) $(MUNGE_LIBS) $(NETTLE_LIBS)
