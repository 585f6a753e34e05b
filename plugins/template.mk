# The template of a backend (contrib/doc/new-backend.md): built for the tests, not installed.
check_LTLIBRARIES += plugins/template/backend_template.la
plugins_template_backend_template_la_SOURCES = plugins/template/backend.cc
plugins_template_backend_template_la_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS)
plugins_template_backend_template_la_LIBADD = plugins/kit/libkit.la
plugins_template_backend_template_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere \
	-Wl,--version-script=$(top_srcdir)/plugins/template/backend_template.map
EXTRA_plugins_template_backend_template_la_DEPENDENCIES = plugins/template/backend_template.map
EXTRA_DIST += plugins/template/backend_template.map
check_PROGRAMS += plugins/template/pmixhost-template
plugins_template_pmixhost_template_SOURCES = plugins/template/starter.cc
plugins_template_pmixhost_template_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS)
plugins_template_pmixhost_template_LDADD = plugins/kit/libkit.la
