# Tests of the configuration, of `pmixhost run` and of the local backend. Included by test/local.mk.
config_tests = test/unit/config_file test/unit/policy test/unit/policy_command test/unit/local_cli test/unit/local_control \
	test/unit/local_output test/unit/local_run test/unit/local_start test/unit/local_backend test/unit/job_ends test/unit/doctor test/unit/event_lines test/unit/output_lines test/unit/recent_lines test/unit/typed_input test/unit/reach_plan test/unit/stacks test/unit/read_stacks test/unit/debug_talk test/unit/host_debug \
	test/unit/dap_session \
	test/unit/launcher_file
check_PROGRAMS += $(config_tests)
TESTS += $(config_tests)
config_test_cppflags = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(CMOCKA_CFLAGS) \
	-DPMIXHOST_TOP_SRCDIR='"$(abs_top_srcdir)"' -DPMIXHOST_TOP_BUILDDIR='"$(abs_top_builddir)"'
test_unit_config_file_SOURCES = test/unit/config_file.cc
test_unit_config_file_CPPFLAGS = $(config_test_cppflags)
test_unit_config_file_LDADD = common/libcommon.la $(CMOCKA_LIBS)
test_unit_policy_SOURCES = test/unit/policy.cc
test_unit_policy_CPPFLAGS = $(config_test_cppflags)
test_unit_policy_LDADD = common/libcommon.la $(CMOCKA_LIBS)
# Runs tools/pmixhost of this build.
test_unit_policy_command_SOURCES = test/unit/policy_command.cc
test_unit_policy_command_CPPFLAGS = $(config_test_cppflags)
test_unit_policy_command_LDADD = common/libcommon.la $(CMOCKA_LIBS)
EXTRA_test_unit_policy_command_DEPENDENCIES = tools/pmixhost
test_unit_local_cli_SOURCES = test/unit/local_cli.cc
test_unit_local_cli_CPPFLAGS = $(config_test_cppflags)
test_unit_local_cli_LDADD = tools/libtools.la $(CMOCKA_LIBS)
test_unit_local_control_SOURCES = test/unit/local_control.cc
test_unit_local_control_CPPFLAGS = $(config_test_cppflags)
test_unit_local_control_LDADD = common/libcommon.la $(CMOCKA_LIBS)
test_unit_local_output_SOURCES = test/unit/local_output.cc
test_unit_local_output_CPPFLAGS = $(config_test_cppflags)
test_unit_local_output_LDADD = tools/libtools.la $(CMOCKA_LIBS)
test_unit_local_start_SOURCES = test/unit/local_start.cc
test_unit_local_start_CPPFLAGS = $(config_test_cppflags)
test_unit_local_start_LDADD = plugins/local/liblocal.la $(CMOCKA_LIBS)
test_unit_local_backend_SOURCES = test/unit/local_backend.cc plugins/local/backend.cc
test_unit_local_backend_CPPFLAGS = $(config_test_cppflags)
test_unit_local_backend_LDADD = plugins/local/liblocal.la $(CMOCKA_LIBS)
test_unit_job_ends_SOURCES = test/unit/job_ends.cc
test_unit_job_ends_CPPFLAGS = $(config_test_cppflags)
test_unit_job_ends_LDADD = tools/libtools.la $(CMOCKA_LIBS)
# Runs tools/pmixhost with the daemon and the backend of this build.
test_unit_local_run_SOURCES = test/unit/local_run.cc
test_unit_local_run_CPPFLAGS = $(config_test_cppflags)
test_unit_local_run_LDADD = common/libcommon.la $(CMOCKA_LIBS)
EXTRA_test_unit_local_run_DEPENDENCIES = tools/pmixhost server-glue/pmixhostd \
	plugins/local/backend_local.la
# Runs tools/pmixhost of this build.
test_unit_doctor_SOURCES = test/unit/doctor.cc
test_unit_doctor_CPPFLAGS = $(config_test_cppflags) $(PMIX_CFLAGS)
test_unit_doctor_LDADD = tools/libtools.la $(CMOCKA_LIBS)
EXTRA_test_unit_doctor_DEPENDENCIES = tools/pmixhost
test_unit_recent_lines_SOURCES = test/unit/recent_lines.cc
test_unit_recent_lines_CPPFLAGS = $(config_test_cppflags)
test_unit_recent_lines_LDADD = common/libcommon.la $(CMOCKA_LIBS)
test_unit_typed_input_SOURCES = test/unit/typed_input.cc
test_unit_typed_input_CPPFLAGS = $(config_test_cppflags)
test_unit_typed_input_LDADD = common/libcommon.la $(CMOCKA_LIBS)
test_unit_output_lines_SOURCES = test/unit/output_lines.cc
test_unit_output_lines_CPPFLAGS = $(config_test_cppflags) $(PMIX_CFLAGS)
test_unit_output_lines_LDADD = tools/libtools.la $(CMOCKA_LIBS)
test_unit_event_lines_SOURCES = test/unit/event_lines.cc
test_unit_event_lines_CPPFLAGS = $(config_test_cppflags) $(PMIX_CFLAGS)
test_unit_event_lines_LDADD = tools/libtools.la $(CMOCKA_LIBS)
test_unit_launcher_file_SOURCES = test/unit/launcher_file.cc
test_unit_launcher_file_CPPFLAGS = $(config_test_cppflags)
test_unit_launcher_file_LDADD = plugins/kit/libkit.la $(FMT_LIBS) $(CMOCKA_LIBS)
test_unit_reach_plan_SOURCES = test/unit/reach_plan.cc
test_unit_reach_plan_CPPFLAGS = $(config_test_cppflags)
test_unit_reach_plan_LDADD = tools/libtools.la $(CMOCKA_LIBS)
test_unit_stacks_SOURCES = test/unit/stacks.cc
test_unit_stacks_CPPFLAGS = $(config_test_cppflags)
test_unit_stacks_LDADD = tools/libtools.la $(CMOCKA_LIBS)
test_unit_debug_talk_SOURCES = test/unit/debug_talk.cc
test_unit_debug_talk_CPPFLAGS = $(config_test_cppflags) $(LIBEDIT_CFLAGS)
test_unit_debug_talk_LDADD = tools/libtools.la $(CMOCKA_LIBS)
test_unit_host_debug_SOURCES = test/unit/host_debug.cc
test_unit_host_debug_CPPFLAGS = $(config_test_cppflags)
test_unit_host_debug_LDADD = tools/libtools.la $(CMOCKA_LIBS)
test_unit_dap_session_SOURCES = test/unit/dap_session.cc
test_unit_dap_session_CPPFLAGS = $(config_test_cppflags)
test_unit_dap_session_LDADD = tools/libtools.la $(CMOCKA_LIBS)
test_unit_read_stacks_SOURCES = test/unit/read_stacks.cc
test_unit_read_stacks_CPPFLAGS = $(config_test_cppflags)
test_unit_read_stacks_LDADD = tools/libtools.la $(CMOCKA_LIBS)
EXTRA_test_unit_read_stacks_DEPENDENCIES = test/unit/waits_one test/unit/waits_two test/unit/waits_bare
check_PROGRAMS += test/unit/waits_one test/unit/waits_two test/unit/waits_bare
test_unit_waits_bare_SOURCES = test/unit/waits_bare.c
test_unit_waits_bare_LDFLAGS = -Wl,-s
test_unit_waits_one_SOURCES = test/unit/waits_here.c
test_unit_waits_one_CPPFLAGS = $(AM_CPPFLAGS) -DWAITS_IN=waits_in_one
test_unit_waits_one_LDFLAGS = -Wl,--build-id=none
test_unit_waits_two_SOURCES = test/unit/waits_here.c
test_unit_waits_two_CPPFLAGS = $(AM_CPPFLAGS) -DWAITS_IN=waits_in_two
test_unit_waits_two_LDFLAGS = -Wl,--build-id=none
