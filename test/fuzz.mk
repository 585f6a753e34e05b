# A fuzzer for each decoder of hostile input (test/fuzz/README). In `make check` they replay their
# seeds and a fixed number of mutations; `make fuzz` runs them under libFuzzer. Included by
# test/local.mk.
noinst_HEADERS += test/fuzz/fuzz.h
EXTRA_DIST += test/fuzz/README test/fuzz/run-libfuzzer
FUZZERS = test/fuzz/wire test/fuzz/start_document test/fuzz/config_file test/fuzz/local_control \
	test/fuzz/task_door test/fuzz/hello test/fuzz/policy
if HAVE_SLURM
FUZZERS += test/fuzz/task_map test/fuzz/starter_message
endif
check_PROGRAMS += $(FUZZERS)
if !SANITIZES_THREADS
TESTS += $(FUZZERS)
endif

FUZZ_CPPFLAGS = $(AM_CPPFLAGS) $(FMT_CFLAGS) $(PMIX_CFLAGS)
# The source with main(), unless libFuzzer brings one.
FUZZ_MAIN = test/fuzz/libreplay.la
check_LTLIBRARIES += test/fuzz/libreplay.la
test_fuzz_libreplay_la_SOURCES = test/fuzz/replay.cc

test_fuzz_wire_SOURCES = test/fuzz/wire.cc
test_fuzz_wire_CPPFLAGS = $(FUZZ_CPPFLAGS)
test_fuzz_wire_LDADD = $(FUZZ_MAIN) server-glue/libglue.la
test_fuzz_start_document_SOURCES = test/fuzz/start_document.cc
test_fuzz_start_document_CPPFLAGS = $(FUZZ_CPPFLAGS)
test_fuzz_start_document_LDADD = $(FUZZ_MAIN) common/libcommon.la
test_fuzz_config_file_SOURCES = test/fuzz/config_file.cc
test_fuzz_config_file_CPPFLAGS = $(FUZZ_CPPFLAGS)
test_fuzz_config_file_LDADD = $(FUZZ_MAIN) common/libcommon.la
test_fuzz_local_control_SOURCES = test/fuzz/local_control.cc
test_fuzz_local_control_CPPFLAGS = $(FUZZ_CPPFLAGS)
test_fuzz_local_control_LDADD = $(FUZZ_MAIN) common/libcommon.la
test_fuzz_task_door_SOURCES = test/fuzz/task_door.cc
test_fuzz_task_door_CPPFLAGS = $(FUZZ_CPPFLAGS)
test_fuzz_task_door_LDADD = $(FUZZ_MAIN) server-glue/libglue.la
test_fuzz_policy_SOURCES = test/fuzz/policy.cc
test_fuzz_policy_CPPFLAGS = $(FUZZ_CPPFLAGS)
test_fuzz_policy_LDADD = $(FUZZ_MAIN) common/libcommon.la
test_fuzz_hello_SOURCES = test/fuzz/hello.cc
test_fuzz_hello_CPPFLAGS = $(FUZZ_CPPFLAGS)
test_fuzz_hello_LDADD = $(FUZZ_MAIN) server-glue/libglue.la
if HAVE_SLURM
test_fuzz_task_map_SOURCES = test/fuzz/task_map.cc common/job/job_map.cc
test_fuzz_task_map_CPPFLAGS = $(plugins_slurm_libshim_la_CPPFLAGS)
test_fuzz_task_map_LDADD = $(FUZZ_MAIN) plugins/slurm/libshim.la
test_fuzz_starter_message_SOURCES = test/fuzz/starter_message.cc
test_fuzz_starter_message_CPPFLAGS = $(plugins_slurm_libshim_la_CPPFLAGS)
test_fuzz_starter_message_LDADD = $(FUZZ_MAIN) plugins/slurm/libshim.la
endif

# make fuzz [FUZZ_SECONDS=60]: each fuzzer under libFuzzer and the sanitizers; needs clang.
FUZZ_SECONDS = 60
.PHONY: fuzz fuzzers
fuzzers: $(FUZZERS)
fuzz:
	$(top_srcdir)/test/fuzz/run-libfuzzer $(abs_top_srcdir) $(abs_builddir)/fuzz-build $(FUZZ_SECONDS)
