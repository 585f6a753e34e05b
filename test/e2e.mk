# The clients of the end-to-end tests and benchmarks: C programs against pmix.h alone, and MPI
# programs where there is an mpicc. Included by test/local.mk.
#
# They are nothing of pmixhost's, so they take none of its flags but the warnings: a sanitizer in
# them would test libpmix and slow the measurements.
E2E_CFLAGS = $(PMIXHOST_WARN) $(PMIX_CFLAGS)
E2E_CLIENTS = test/e2e/clients/abort test/e2e/clients/barrier test/e2e/clients/cleanup test/e2e/clients/connect \
	test/e2e/clients/control test/e2e/clients/cross_job_control test/e2e/clients/credential \
	test/e2e/clients/die test/e2e/clients/ended test/e2e/clients/events test/e2e/clients/cross_job_events \
	test/e2e/clients/fence_data test/e2e/clients/fence_reqd test/e2e/clients/fence_sub \
	test/e2e/clients/fence_lost \
	test/e2e/clients/fence_timeout test/e2e/clients/group test/e2e/clients/group_invite test/e2e/clients/hello test/e2e/clients/jobinfo \
	test/e2e/clients/knock test/e2e/clients/linger test/e2e/clients/locality test/e2e/clients/log \
	test/e2e/clients/modex test/e2e/clients/nonpmi test/e2e/clients/publish \
	test/e2e/clients/monitor test/e2e/clients/time_left test/e2e/clients/query test/e2e/clients/sets test/e2e/clients/spawn \
	test/bench/bench_init test/bench/bench_fence test/bench/bench_modex test/bench/bench_group test/bench/bench_spawn
E2E_CLIENTS += test/bench/bench_events
E2E_CLIENTS += test/e2e/clients/questions
E2E_CLIENTS += test/e2e/clients/waiting
E2E_CLIENTS += test/e2e/clients/allocate
E2E_CLIENTS += test/e2e/clients/family
E2E_CLIENTS += test/e2e/clients/again
check_PROGRAMS += $(E2E_CLIENTS)

# make e2e-clients: all of them and nothing else, for the runners.
.PHONY: e2e-clients
e2e-clients: $(E2E_CLIENTS) test/e2e/clients/stuck.la test/e2e/clients/mpi.stamp

# Preloaded into the daemon.
check_LTLIBRARIES += test/e2e/clients/stuck.la
test_e2e_clients_stuck_la_SOURCES = test/e2e/clients/stuck.c
test_e2e_clients_stuck_la_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_stuck_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
test_e2e_clients_stuck_la_LIBADD = -ldl
e2e-clients: $(E2E_CLIENTS) test/e2e/clients/mpi.stamp test/e2e/clients/break_loop.so

test_e2e_clients_abort_SOURCES = test/e2e/clients/abort.c test/e2e/clients/client.h
test_e2e_clients_abort_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_abort_LDFLAGS =
test_e2e_clients_abort_LDADD = $(PMIX_LIBS)
test_e2e_clients_again_SOURCES = test/e2e/clients/again.c test/e2e/clients/client.h
test_e2e_clients_again_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_again_LDFLAGS =
test_e2e_clients_again_LDADD = $(PMIX_LIBS)
test_e2e_clients_barrier_SOURCES = test/e2e/clients/barrier.c test/e2e/clients/client.h
test_e2e_clients_barrier_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_barrier_LDFLAGS =
test_e2e_clients_barrier_LDADD = $(PMIX_LIBS)
test_e2e_clients_waiting_SOURCES = test/e2e/clients/waiting.c test/e2e/clients/client.h
test_e2e_clients_waiting_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_waiting_LDFLAGS =
test_e2e_clients_waiting_LDADD = $(PMIX_LIBS)
test_e2e_clients_monitor_SOURCES = test/e2e/clients/monitor.c test/e2e/clients/client.h
test_e2e_clients_monitor_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_monitor_LDFLAGS =
test_e2e_clients_monitor_LDADD = $(PMIX_LIBS)
test_e2e_clients_allocate_SOURCES = test/e2e/clients/allocate.c test/e2e/clients/client.h
test_e2e_clients_allocate_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_allocate_LDFLAGS =
test_e2e_clients_allocate_LDADD = $(PMIX_LIBS)
test_e2e_clients_questions_SOURCES = test/e2e/clients/questions.c test/e2e/clients/client.h
test_e2e_clients_questions_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_questions_LDFLAGS =
test_e2e_clients_questions_LDADD = $(PMIX_LIBS)
test_e2e_clients_time_left_SOURCES = test/e2e/clients/time_left.c test/e2e/clients/client.h
test_e2e_clients_time_left_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_time_left_LDFLAGS =
test_e2e_clients_time_left_LDADD = $(PMIX_LIBS)
test_e2e_clients_query_SOURCES = test/e2e/clients/query.c test/e2e/clients/sets.h test/e2e/clients/client.h
test_e2e_clients_query_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_query_LDFLAGS =
test_e2e_clients_query_LDADD = $(PMIX_LIBS)
test_e2e_clients_sets_SOURCES = test/e2e/clients/sets.c test/e2e/clients/sets.h test/e2e/clients/client.h
test_e2e_clients_sets_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_sets_LDFLAGS =
test_e2e_clients_sets_LDADD = $(PMIX_LIBS)
test_e2e_clients_connect_SOURCES = test/e2e/clients/connect.c test/e2e/clients/sets.h test/e2e/clients/client.h
test_e2e_clients_connect_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_connect_LDFLAGS =
test_e2e_clients_connect_LDADD = $(PMIX_LIBS)
test_e2e_clients_cross_job_control_SOURCES = test/e2e/clients/cross_job_control.c test/e2e/clients/client.h
test_e2e_clients_cross_job_control_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_cross_job_control_LDFLAGS =
test_e2e_clients_cross_job_control_LDADD = $(PMIX_LIBS)
test_e2e_clients_cleanup_SOURCES = test/e2e/clients/cleanup.c test/e2e/clients/client.h
test_e2e_clients_cleanup_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_cleanup_LDFLAGS =
test_e2e_clients_cleanup_LDADD = $(PMIX_LIBS)
test_e2e_clients_control_SOURCES = test/e2e/clients/control.c test/e2e/clients/client.h
test_e2e_clients_control_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_control_LDFLAGS =
test_e2e_clients_control_LDADD = $(PMIX_LIBS)
test_e2e_clients_credential_SOURCES = test/e2e/clients/credential.c test/e2e/clients/client.h
test_e2e_clients_credential_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_credential_LDFLAGS =
test_e2e_clients_credential_LDADD = $(PMIX_LIBS)
test_e2e_clients_die_SOURCES = test/e2e/clients/die.c test/e2e/clients/client.h
test_e2e_clients_die_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_die_LDFLAGS =
test_e2e_clients_die_LDADD = $(PMIX_LIBS)
test_e2e_clients_ended_SOURCES = test/e2e/clients/ended.c test/e2e/clients/client.h
test_e2e_clients_ended_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_ended_LDFLAGS =
test_e2e_clients_ended_LDADD = $(PMIX_LIBS)
test_e2e_clients_events_SOURCES = test/e2e/clients/events.c test/e2e/clients/client.h
test_e2e_clients_events_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_events_LDFLAGS =
test_e2e_clients_events_LDADD = $(PMIX_LIBS)
test_e2e_clients_cross_job_events_SOURCES = test/e2e/clients/cross_job_events.c test/e2e/clients/client.h
test_e2e_clients_cross_job_events_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_cross_job_events_LDFLAGS =
test_e2e_clients_cross_job_events_LDADD = $(PMIX_LIBS)
test_e2e_clients_fence_data_SOURCES = test/e2e/clients/fence_data.c test/e2e/clients/client.h
test_e2e_clients_fence_data_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_fence_data_LDFLAGS =
test_e2e_clients_fence_data_LDADD = $(PMIX_LIBS)
test_e2e_clients_fence_lost_SOURCES = test/e2e/clients/fence_lost.c test/e2e/clients/client.h
test_e2e_clients_fence_lost_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_fence_lost_LDFLAGS =
test_e2e_clients_fence_lost_LDADD = $(PMIX_LIBS)
test_e2e_clients_fence_reqd_SOURCES = test/e2e/clients/fence_reqd.c test/e2e/clients/client.h
test_e2e_clients_fence_reqd_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_fence_reqd_LDFLAGS =
test_e2e_clients_fence_reqd_LDADD = $(PMIX_LIBS)
test_e2e_clients_fence_sub_SOURCES = test/e2e/clients/fence_sub.c test/e2e/clients/client.h
test_e2e_clients_fence_sub_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_fence_sub_LDFLAGS =
test_e2e_clients_fence_sub_LDADD = $(PMIX_LIBS)
test_e2e_clients_fence_timeout_SOURCES = test/e2e/clients/fence_timeout.c test/e2e/clients/client.h
test_e2e_clients_fence_timeout_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_fence_timeout_LDFLAGS =
test_e2e_clients_fence_timeout_LDADD = $(PMIX_LIBS)
test_e2e_clients_group_SOURCES = test/e2e/clients/group.c test/e2e/clients/client.h
test_e2e_clients_group_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_group_LDFLAGS =
test_e2e_clients_group_LDADD = $(PMIX_LIBS)
test_e2e_clients_group_invite_SOURCES = test/e2e/clients/group_invite.c test/e2e/clients/client.h
test_e2e_clients_group_invite_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_group_invite_LDFLAGS =
test_e2e_clients_group_invite_LDADD = $(PMIX_LIBS)
test_e2e_clients_hello_SOURCES = test/e2e/clients/hello.c test/e2e/clients/client.h
test_e2e_clients_hello_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_hello_LDFLAGS =
test_e2e_clients_hello_LDADD = $(PMIX_LIBS)
test_e2e_clients_jobinfo_SOURCES = test/e2e/clients/jobinfo.c test/e2e/clients/client.h
test_e2e_clients_jobinfo_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_jobinfo_LDFLAGS =
test_e2e_clients_jobinfo_LDADD = $(PMIX_LIBS)
test_e2e_clients_knock_SOURCES = test/e2e/clients/knock.c
test_e2e_clients_knock_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_knock_LDFLAGS =
test_e2e_clients_knock_LDADD =
test_e2e_clients_linger_SOURCES = test/e2e/clients/linger.c test/e2e/clients/client.h
test_e2e_clients_linger_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_linger_LDFLAGS =
test_e2e_clients_linger_LDADD = $(PMIX_LIBS)
test_e2e_clients_locality_SOURCES = test/e2e/clients/locality.c test/e2e/clients/client.h
test_e2e_clients_locality_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_locality_LDFLAGS =
test_e2e_clients_locality_LDADD = $(PMIX_LIBS)
test_e2e_clients_log_SOURCES = test/e2e/clients/log.c test/e2e/clients/client.h
test_e2e_clients_log_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_log_LDFLAGS =
test_e2e_clients_log_LDADD = $(PMIX_LIBS)
test_e2e_clients_modex_SOURCES = test/e2e/clients/modex.c test/e2e/clients/client.h
test_e2e_clients_modex_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_modex_LDFLAGS =
test_e2e_clients_modex_LDADD = $(PMIX_LIBS)
test_e2e_clients_nonpmi_SOURCES = test/e2e/clients/nonpmi.c test/e2e/clients/client.h
test_e2e_clients_nonpmi_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_nonpmi_LDFLAGS =
test_e2e_clients_nonpmi_LDADD = $(PMIX_LIBS)
test_e2e_clients_publish_SOURCES = test/e2e/clients/publish.c test/e2e/clients/client.h
test_e2e_clients_publish_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_publish_LDFLAGS =
test_e2e_clients_publish_LDADD = $(PMIX_LIBS)
test_e2e_clients_family_SOURCES = test/e2e/clients/family.c test/e2e/clients/client.h
test_e2e_clients_family_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_family_LDFLAGS =
test_e2e_clients_family_LDADD = $(PMIX_LIBS)
test_e2e_clients_spawn_SOURCES = test/e2e/clients/spawn.c test/e2e/clients/client.h
test_e2e_clients_spawn_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_spawn_LDFLAGS =
test_e2e_clients_spawn_LDADD = $(PMIX_LIBS)
test_bench_bench_events_SOURCES = test/bench/bench_events.c test/e2e/clients/client.h
test_bench_bench_events_CFLAGS = $(E2E_CFLAGS) -I$(srcdir)/test/e2e/clients
test_bench_bench_events_LDFLAGS =
test_bench_bench_events_LDADD = $(PMIX_LIBS)
test_bench_bench_init_SOURCES = test/bench/bench_init.c test/e2e/clients/client.h
test_bench_bench_init_CFLAGS = $(E2E_CFLAGS) -I$(srcdir)/test/e2e/clients
test_bench_bench_init_LDFLAGS =
test_bench_bench_init_LDADD = $(PMIX_LIBS)
test_bench_bench_spawn_SOURCES = test/bench/bench_spawn.c test/e2e/clients/client.h
test_bench_bench_spawn_CFLAGS = $(E2E_CFLAGS) -I$(srcdir)/test/e2e/clients
test_bench_bench_spawn_LDFLAGS =
test_bench_bench_spawn_LDADD = $(PMIX_LIBS)
test_bench_bench_group_SOURCES = test/bench/bench_group.c test/e2e/clients/client.h
test_bench_bench_group_CFLAGS = $(E2E_CFLAGS) -I$(srcdir)/test/e2e/clients
test_bench_bench_group_LDFLAGS =
test_bench_bench_group_LDADD = $(PMIX_LIBS)
test_bench_bench_fence_SOURCES = test/bench/bench_fence.c test/e2e/clients/client.h
test_bench_bench_fence_CFLAGS = $(E2E_CFLAGS) -I$(srcdir)/test/e2e/clients
test_bench_bench_fence_LDFLAGS =
test_bench_bench_fence_LDADD = $(PMIX_LIBS)
test_bench_bench_modex_SOURCES = test/bench/bench_modex.c test/e2e/clients/client.h
test_bench_bench_modex_CFLAGS = $(E2E_CFLAGS) -I$(srcdir)/test/e2e/clients
test_bench_bench_modex_LDFLAGS =
test_bench_bench_modex_LDADD = $(PMIX_LIBS)

# One rule for all MPI programs: without an mpicc there are none, and their tests are skipped.
MPI_CLIENTS = mpi_init mpi_ring mpi_allreduce mpi_onesided mpi_intercomm mpi_spawn mpi_spawn_time mpi_connect mpi_dynamic \
	mpi_family mpi_siblings mpi_tree
MPI_SOURCES = $(MPI_CLIENTS:%=$(srcdir)/test/e2e/clients/%.c)
check_DATA = test/e2e/clients/mpi.stamp test/e2e/clients/break_loop.so
test/e2e/clients/break_loop.so: test/e2e/clients/break_loop.c
	@$(MKDIR_P) test/e2e/clients
	$(AM_V_CC)$(CC) $(PMIXHOST_WARN) -shared -fPIC -o $@ $(srcdir)/test/e2e/clients/break_loop.c
test/e2e/clients/mpi.stamp: $(MPI_SOURCES)
	@$(MKDIR_P) test/e2e/clients
	@mpicc=$$(command -v $${MPICC:-mpicc}) || { echo "no mpicc: no MPI clients"; exit 0; }; \
	for p in $(MPI_CLIENTS); do \
		echo "  MPICC    test/e2e/clients/$$p"; \
		$$mpicc -O1 -o test/e2e/clients/$$p $(srcdir)/test/e2e/clients/$$p.c || exit 1; \
	done; touch $@
CLEANFILES += test/e2e/clients/mpi.stamp test/e2e/clients/break_loop.so $(MPI_CLIENTS:%=test/e2e/clients/%)

# The scripts by their folders: a list of them would forget the new ones.
EXTRA_DIST += test/e2e/common test/e2e/slurm test/e2e/local
EXTRA_DIST += $(MPI_CLIENTS:%=test/e2e/clients/%.c) test/e2e/clients/break_loop.c test/e2e/run-local \
	test/e2e/not-yet test/bench/bench test/bench/events test/bench/spawn test/coverage-check
