# The local backend.
pmixhostlib_LTLIBRARIES += plugins/local/backend_local.la
noinst_LTLIBRARIES += plugins/local/liblocal.la
plugins_local_liblocal_files = plugins/local/fault.cc plugins/local/fault.h \
	plugins/local/start.cc plugins/local/start.h plugins/local/starter.cc plugins/local/starter.h \
	plugins/local/task_pipes.cc plugins/local/task_pipes.h plugins/local/tasks.cc plugins/local/tasks.h
plugins_local_liblocal_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS)
plugins_local_liblocal_la_LIBADD = plugins/kit/libkit.la
plugins_local_backend_local_la_SOURCES = plugins/local/backend.cc
plugins_local_backend_local_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS)
plugins_local_backend_local_la_LIBADD = plugins/local/liblocal.la
plugins_local_backend_local_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared \
	-Wl,--version-script=$(top_srcdir)/plugins/local/backend_local.map
EXTRA_plugins_local_backend_local_la_DEPENDENCIES = plugins/local/backend_local.map
EXTRA_DIST += plugins/local/backend_local.map
