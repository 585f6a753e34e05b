# Unit tests of the configuration, of `pmixhost run` and of the local backend. Included by
# test/local.mk.
check_PROGRAMS += test/unit/config_file
TESTS += test/unit/config_file
test_unit_config_file_SOURCES = test/unit/config_file.cc
test_unit_config_file_CPPFLAGS = $(AM_CPPFLAGS) -DPMIXHOST_TOP_SRCDIR='"$(abs_top_srcdir)"'
test_unit_config_file_LDADD = common/libcommon.la $(FMT_LIBS) $(CMOCKA_LIBS)
