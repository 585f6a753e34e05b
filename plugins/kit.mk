# What the plugins of RMs have in common (contrib/doc/new-backend.md). The part for an RM's own processes needs no
# library of ours and no libfmt (see plugins/slurm.mk).
kit_shim_sources = \
	common/base/fd_pair.h common/base/result.cc common/base/small_file.cc common/start/spawn_channel.cc \
	common/process/descriptor_message.cc common/process/exec_stop.cc common/process/topology_file.cc \
	common/start/start_document.cc common/start/start_fd.h common/start/start_fd.cc \
	common/transport/secret_box.cc \
	plugins/kit/daemon_channels.h plugins/kit/daemon_channels.cc \
	plugins/kit/daemon_launch.h plugins/kit/daemon_launch.cc \
	plugins/kit/door_client.h plugins/kit/door_client.cc plugins/kit/hand_over_streams.h plugins/kit/hand_over_streams.cc \
	plugins/kit/unread_streams.h plugins/kit/unread_streams.cc \
	plugins/kit/fresh_process.h plugins/kit/fresh_process.cc \
	plugins/kit/clean_spawn.h plugins/kit/clean_spawn.cc common/start/indirect_words.h \
	plugins/kit/indirect_launch.h plugins/kit/indirect_launch.cc \
	plugins/kit/launcher_start.h plugins/kit/launcher_start.cc \
	plugins/kit/sealer.h plugins/kit/sealer.cc plugins/kit/starter_address.h plugins/kit/starter_address.cc \
	plugins/kit/starter_frame.h plugins/kit/starter_frame.cc \
	plugins/kit/starter_listener.h plugins/kit/starter_listener.cc \
	plugins/kit/starter_message.h plugins/kit/starter_message.cc \
	plugins/kit/starter_sender.h plugins/kit/starter_sender.cc \
	plugins/kit/launch_listener.h plugins/kit/launch_listener.cc \
	plugins/kit/launcher_file.h plugins/kit/launcher_file.cc \
	plugins/kit/unproved_note.h plugins/kit/unproved_note.cc \
	plugins/kit/tool_door.h plugins/kit/tool_door.cc common/rendezvous/rendezvous_files.cc \
	plugins/kit/topology_keeper.h plugins/kit/topology_keeper.cc \
	plugins/kit/user.h plugins/kit/user.cc

# It runs as root, and so is linked with nothing that it does not need.
pmixhostlibexec_PROGRAMS += plugins/kit/pmixhost-topology
plugins_kit_pmixhost_topology_SOURCES = plugins/kit/topology_program.cc common/base/result.cc common/base/small_file.cc \
	common/process/topology.cc common/process/topology_file.cc
plugins_kit_pmixhost_topology_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(HWLOC_CFLAGS)
plugins_kit_pmixhost_topology_LDADD = $(HWLOC_LIBS) $(FMT_LIBS)

# All of the kit, for backends and for programs that are linked with libcommon.
noinst_LTLIBRARIES += plugins/kit/libkit.la
plugins_kit_libkit_files = \
	plugins/kit/contact_sender.h plugins/kit/contact_sender.cc \
	plugins/kit/daemon_channels.cc plugins/kit/daemon_launch.cc plugins/kit/daemon_start.h \
	plugins/kit/daemon_start.cc plugins/kit/door_client.cc plugins/kit/hand_over_streams.cc plugins/kit/unread_streams.cc \
	plugins/kit/clean_spawn.cc plugins/kit/fresh_process.cc plugins/kit/indirect_launch.cc \
	plugins/kit/launcher_start.cc plugins/kit/launch_listener.cc \
	plugins/kit/launcher_file.cc plugins/kit/sealer.cc \
	plugins/kit/starter_address.cc plugins/kit/starter_listener.cc plugins/kit/starter_message.cc \
	plugins/kit/starter_frame.cc plugins/kit/starter_sender.cc plugins/kit/tool_door.cc plugins/kit/unproved_note.cc \
	plugins/kit/step_document.h plugins/kit/step_document.cc plugins/kit/topology_keeper.cc plugins/kit/user.cc
plugins_kit_libkit_la_CPPFLAGS = $(AM_CPPFLAGS) $(MUNGE_CFLAGS) $(FMT_CFLAGS)
plugins_kit_libkit_la_LIBADD = common/libcommon.la $(MUNGE_LIBS)
