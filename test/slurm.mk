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

# The same sources as the module, which itself exports nothing to link with.
test_unit_slurm_backend_SOURCES = test/unit/slurm_backend.cc \
	plugins/slurm/backend/backend_step.cc plugins/slurm/backend/contact_socket.cc \
	plugins/slurm/shim/app_list.cc plugins/slurm/shim/identity.cc \
	plugins/slurm/steps/spawn_command.cc plugins/slurm/backend/step_caller.cc \
	plugins/slurm/backend/call_step.cc plugins/slurm/backend/own_steps.cc plugins/slurm/shim/task_map.cc
test_unit_slurm_backend_CPPFLAGS = $(plugins_slurm_backend_slurm_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_backend_LDADD = plugins/kit/libkit.la $(SLURM_LIBS) $(MUNGE_LIBS) $(FMT_LIBS) \
	$(CMOCKA_LIBS)

check_PROGRAMS += test/bench/bench_start
test_bench_bench_start_SOURCES = test/bench/bench_start.cc \
	plugins/slurm/backend/backend_step.cc plugins/slurm/backend/contact_socket.cc plugins/slurm/shim/app_list.cc \
	plugins/slurm/shim/identity.cc plugins/slurm/shim/task_map.cc
test_bench_bench_start_CPPFLAGS = $(plugins_slurm_backend_slurm_la_CPPFLAGS) $(PMIX_CFLAGS)
test_bench_bench_start_LDADD = plugins/kit/libkit.la server-glue/libglue.la $(GLUE_TEST_LDADD) $(SLURM_LIBS) $(MUNGE_LIBS) $(FMT_LIBS)

test_unit_slurm_output_SOURCES = test/unit/slurm_output.cc \
	plugins/slurm/backend/output_frames.cc plugins/slurm/backend/step_output.cc \
	plugins/slurm/shim/attach_output.cc plugins/slurm/shim/identity.cc plugins/slurm/shim/output_offer.cc
test_unit_slurm_output_CPPFLAGS = $(plugins_slurm_backend_slurm_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_output_LDADD = plugins/kit/libkit.la $(SLURM_LIBS) $(MUNGE_LIBS) $(FMT_LIBS) $(CMOCKA_LIBS)

test_unit_slurm_allocations_SOURCES = test/unit/slurm_allocations.cc \
	plugins/slurm/backend/allocations.cc plugins/slurm/backend/allocation_calls.cc plugins/slurm/backend/rm_answers.cc \
	plugins/slurm/backend/backend_step.cc plugins/slurm/shim/app_list.cc \
	plugins/slurm/shim/identity.cc plugins/slurm/shim/task_map.cc
test_unit_slurm_allocations_CPPFLAGS = $(plugins_slurm_backend_slurm_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_allocations_LDADD = plugins/kit/libkit.la $(SLURM_LIBS) $(MUNGE_LIBS) $(FMT_LIBS) \
	$(CMOCKA_LIBS)

test_unit_slurm_step_ender_SOURCES = test/unit/slurm_step_ender.cc \
	plugins/slurm/backend/step_ender.cc plugins/slurm/backend/slurm_calls.cc \
	plugins/slurm/backend/backend_step.cc plugins/slurm/shim/app_list.cc \
	plugins/slurm/shim/identity.cc plugins/slurm/shim/task_map.cc
test_unit_slurm_step_ender_CPPFLAGS = $(plugins_slurm_backend_slurm_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_step_ender_LDADD = plugins/kit/libkit.la $(SLURM_LIBS) $(MUNGE_LIBS) $(FMT_LIBS) \
	$(CMOCKA_LIBS)

test_unit_slurm_lobby_SOURCES = test/unit/slurm_lobby.cc plugins/slurm/backend/lobby.cc \
	plugins/slurm/backend/allocations.cc plugins/slurm/backend/allocation_calls.cc plugins/slurm/backend/rm_answers.cc \
	plugins/slurm/backend/backend_step.cc plugins/slurm/backend/contact_socket.cc plugins/slurm/shim/app_list.cc \
	plugins/slurm/shim/identity.cc plugins/slurm/shim/task_map.cc plugins/slurm/steps/session_step.cc
test_unit_slurm_lobby_CPPFLAGS = $(plugins_slurm_backend_slurm_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_lobby_LDADD = plugins/kit/libkit.la $(SLURM_LIBS) $(MUNGE_LIBS) $(FMT_LIBS) \
	$(CMOCKA_LIBS)

test_unit_slurm_job_record_SOURCES = test/unit/slurm_job_record.cc plugins/slurm/backend/job_record.cc
test_unit_slurm_job_record_CPPFLAGS = $(plugins_slurm_backend_slurm_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_job_record_LDADD = common/libcommon.la $(SLURM_LIBS) $(FMT_LIBS) $(CMOCKA_LIBS)

test_unit_slurm_check_SOURCES = test/unit/slurm_check.cc $(slurm_check_files)
test_unit_slurm_check_CPPFLAGS = $(plugins_slurm_backend_slurm_la_CPPFLAGS) $(CMOCKA_CFLAGS) \
	-DPMIXHOST_TOP_BUILDDIR='"$(abs_top_builddir)"'
test_unit_slurm_check_LDADD = common/libcommon.la $(CMOCKA_LIBS)
EXTRA_test_unit_slurm_check_DEPENDENCIES = plugins/slurm/mpi_pmixhost.la plugins/slurm/pmixhost-check-slurm

test_unit_slurm_spawn_SOURCES = test/unit/slurm_spawn.cc \
	plugins/slurm/steps/spawn_command.cc
test_unit_slurm_spawn_CPPFLAGS = $(plugins_slurm_backend_slurm_la_CPPFLAGS) $(CMOCKA_CFLAGS)
test_unit_slurm_spawn_LDADD = plugins/kit/libkit.la $(SLURM_LIBS) $(MUNGE_LIBS) $(FMT_LIBS) \
	$(CMOCKA_LIBS)

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
