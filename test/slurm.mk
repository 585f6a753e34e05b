# Tests of the Slurm shim and backend. Included by test/local.mk.
noinst_HEADERS += test/unit/slurm_fakes.h
EXTRA_DIST += test/unit/slurm_symbols.sh

if HAVE_SLURM
SLURM_TESTS = test/unit/slurm_task_map test/unit/slurm_programs test/unit/slurm_starter_messages test/unit/slurm_prefork \
	test/unit/slurm_backend test/unit/slurm_plugin test/unit/slurm_spawn \
	test/unit/slurm_check
SLURM_TESTS += test/unit/slurm_allocations test/unit/slurm_lobby test/unit/slurm_job_record test/unit/slurm_output
SLURM_TESTS += test/unit/slurm_cpu_binding test/unit/slurm_step_ender
check_PROGRAMS += $(SLURM_TESTS) test/unit/slurm_stand_in
TESTS += $(SLURM_TESTS) test/unit/slurm_symbols.sh
SLURM_TEST_CPPFLAGS = $(plugins_slurm_libshim_la_CPPFLAGS) $(CMOCKA_CFLAGS)
SLURM_SHIM_TEST_LDADD = plugins/slurm/libshim.la $(CMOCKA_LIBS)

test_unit_slurm_task_map_SOURCES = test/unit/slurm_task_map.cc common/job/job_map.cc
test_unit_slurm_task_map_CPPFLAGS = $(SLURM_TEST_CPPFLAGS)
test_unit_slurm_task_map_LDADD = $(SLURM_SHIM_TEST_LDADD)

test_unit_slurm_programs_SOURCES = test/unit/slurm_programs.cc
test_unit_slurm_programs_CPPFLAGS = $(SLURM_TEST_CPPFLAGS)
test_unit_slurm_programs_LDADD = $(SLURM_SHIM_TEST_LDADD)

test_unit_slurm_starter_messages_SOURCES = test/unit/slurm_starter_messages.cc
test_unit_slurm_starter_messages_CPPFLAGS = $(SLURM_TEST_CPPFLAGS)
test_unit_slurm_starter_messages_LDADD = $(SLURM_SHIM_TEST_LDADD)

test_unit_slurm_prefork_SOURCES = test/unit/slurm_prefork.cc test/unit/slurm_fakes.cc
test_unit_slurm_prefork_CPPFLAGS = $(SLURM_TEST_CPPFLAGS)
test_unit_slurm_prefork_LDADD = $(SLURM_SHIM_TEST_LDADD)

# What the module is made of, which itself exports nothing to link with.
test_unit_slurm_backend_SOURCES = test/unit/slurm_backend.cc
test_unit_slurm_backend_CPPFLAGS = $(plugins_slurm_libbackend_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_backend_LDADD = plugins/slurm/libbackend.la $(CMOCKA_LIBS)

check_PROGRAMS += test/bench/bench_start
test_bench_bench_start_SOURCES = test/bench/bench_start.cc
test_bench_bench_start_CPPFLAGS = $(plugins_slurm_libbackend_la_CPPFLAGS) $(PMIX_CFLAGS)
test_bench_bench_start_LDADD = plugins/slurm/libbackend.la server-glue/libglue.la $(CMOCKA_LIBS)

test_unit_slurm_output_SOURCES = test/unit/slurm_output.cc plugins/slurm/shim/attach_output.cc \
	plugins/slurm/shim/identity.cc plugins/slurm/shim/output_offer.cc
test_unit_slurm_output_CPPFLAGS = $(plugins_slurm_libbackend_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_output_LDADD = plugins/slurm/libbackend.la $(CMOCKA_LIBS)

test_unit_slurm_allocations_SOURCES = test/unit/slurm_allocations.cc
test_unit_slurm_allocations_CPPFLAGS = $(plugins_slurm_libbackend_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_allocations_LDADD = plugins/slurm/libbackend.la $(CMOCKA_LIBS)

test_unit_slurm_step_ender_SOURCES = test/unit/slurm_step_ender.cc
test_unit_slurm_step_ender_CPPFLAGS = $(plugins_slurm_libbackend_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_step_ender_LDADD = plugins/slurm/libbackend.la $(CMOCKA_LIBS)

test_unit_slurm_lobby_SOURCES = test/unit/slurm_lobby.cc
test_unit_slurm_lobby_CPPFLAGS = $(plugins_slurm_libbackend_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_lobby_LDADD = plugins/slurm/libbackend.la $(CMOCKA_LIBS)

test_unit_slurm_job_record_SOURCES = test/unit/slurm_job_record.cc
test_unit_slurm_job_record_CPPFLAGS = $(plugins_slurm_libbackend_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_job_record_LDADD = plugins/slurm/libbackend.la $(CMOCKA_LIBS)

test_unit_slurm_check_SOURCES = test/unit/slurm_check.cc $(slurm_check_files)
test_unit_slurm_check_CPPFLAGS = $(plugins_slurm_libbackend_la_CPPFLAGS) $(CMOCKA_CFLAGS) \
	-DPMIXHOST_TOP_BUILDDIR='"$(abs_top_builddir)"'
test_unit_slurm_check_LDADD = common/libcommon.la $(CMOCKA_LIBS)
EXTRA_test_unit_slurm_check_DEPENDENCIES = plugins/slurm/mpi_pmixhost.la plugins/slurm/pmixhost-check-slurm

test_unit_slurm_spawn_SOURCES = test/unit/slurm_spawn.cc
test_unit_slurm_spawn_CPPFLAGS = $(plugins_slurm_libbackend_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_spawn_LDADD = plugins/slurm/libbackend.la $(CMOCKA_LIBS)

test_unit_slurm_cpu_binding_SOURCES = test/unit/slurm_cpu_binding.cc
test_unit_slurm_cpu_binding_CPPFLAGS = $(SLURM_TEST_CPPFLAGS)
test_unit_slurm_cpu_binding_LDADD = $(SLURM_SHIM_TEST_LDADD)

# Gives the plugin what it would find in a program of Slurm.
test_unit_slurm_plugin_SOURCES = test/unit/slurm_plugin.cc test/unit/slurm_fakes.cc
test_unit_slurm_plugin_CPPFLAGS = $(SLURM_TEST_CPPFLAGS)
test_unit_slurm_plugin_LDFLAGS = $(AM_LDFLAGS) -export-dynamic
test_unit_slurm_plugin_LDADD = $(SLURM_SHIM_TEST_LDADD)

test_unit_slurm_stand_in_SOURCES = test/unit/slurm_stand_in.cc
test_unit_slurm_stand_in_CPPFLAGS = $(SLURM_TEST_CPPFLAGS)
test_unit_slurm_stand_in_LDADD = plugins/slurm/libshim.la
endif
