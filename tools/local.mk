# tools/: the command line `pmixhost`.
bin_PROGRAMS += tools/pmixhost
noinst_LTLIBRARIES += tools/librun.la
tools_librun_la_SOURCES = \
	tools/daemon_process.cc tools/daemon_process.h \
	tools/input.cc tools/input.h \
	tools/run.cc tools/run.h \
	tools/layout.cc tools/layout.h \
	tools/output.cc tools/output.h \
	tools/run_options.cc tools/run_options.h \
	tools/session_door.cc tools/session_door.h
tools_librun_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS)
tools_librun_la_LIBADD = common/libcommon.la

tools_pmixhost_SOURCES = tools/main.cc tools/commands.h tools/config_command.cc tools/run_command.cc \
	tools/version_command.cc
# Of the PMIx library only its version's number.
tools_pmixhost_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(PMIX_CFLAGS)
tools_pmixhost_LDADD = tools/librun.la

dist_man_MANS += contrib/man/pmixhost.1 contrib/man/pmixhost-run.1 contrib/man/pmixhost.conf.5
EXTRA_DIST += contrib/pmixhost.conf
