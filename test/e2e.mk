# The clients of the end-to-end tests and benchmarks: C programs against pmix.h alone, and MPI
# programs where there is an mpicc. Included by test/local.mk.
#
# A new one is one word here: its source is the program's name with .c, its headers are those below.
E2E_CLIENTS = \
	test/e2e/clients/debugger test/e2e/clients/indirect test/e2e/clients/initiator \
	test/bench/bench_counts test/bench/bench_events test/bench/bench_fence test/bench/bench_group test/bench/bench_init \
	test/bench/bench_modex test/bench/bench_spawn test/bench/bench_store test/bench/bench_tool \
	test/e2e/clients/abort test/e2e/clients/again test/e2e/clients/allocate \
	test/e2e/clients/barrier \
	test/e2e/clients/cleanup test/e2e/clients/connect test/e2e/clients/control \
	test/e2e/clients/cross_job_control test/e2e/clients/credential \
	test/e2e/clients/die \
	test/e2e/clients/ended test/e2e/clients/events test/e2e/clients/cross_job_events \
	test/e2e/clients/family test/e2e/clients/fence_data test/e2e/clients/fence_lost \
	test/e2e/clients/fence_reqd test/e2e/clients/fence_sub test/e2e/clients/fence_timeout test/e2e/clients/fork_agent \
	test/e2e/clients/group test/e2e/clients/group_ends test/e2e/clients/group_invite \
	test/e2e/clients/hello test/e2e/clients/io_tool \
	test/e2e/clients/jobinfo \
	test/e2e/clients/knock \
	test/e2e/clients/linger test/e2e/clients/locality test/e2e/clients/log \
	test/e2e/clients/modex test/e2e/clients/monitor \
	test/e2e/clients/nonpmi \
	test/e2e/clients/publish \
	test/e2e/clients/query test/e2e/clients/query_host test/e2e/clients/questions \
	test/e2e/clients/sets test/e2e/clients/shows test/e2e/clients/spawn test/e2e/clients/stops \
	test/e2e/clients/time_left test/e2e/clients/tool test/e2e/clients/tool_connect test/e2e/clients/tool_spawn \
	test/e2e/clients/topology \
	test/e2e/clients/visited \
	test/e2e/clients/waiting
# The clients are of no use to a build with a sanitizer, which runs the unit tests.
if SANITIZED
EXTRA_PROGRAMS = $(E2E_CLIENTS)
else
check_PROGRAMS += $(E2E_CLIENTS)
check_DATA = test/e2e/clients/mpi.stamp test/e2e/clients/break_loop.so
endif
noinst_HEADERS += test/e2e/clients/client.h test/e2e/clients/control.h test/e2e/clients/events.h \
	test/e2e/clients/groups.h test/e2e/clients/initiator.h test/e2e/clients/peers.h test/e2e/clients/queries.h test/e2e/clients/sets.h
# It speaks the protocol itself.
test_e2e_clients_knock_LDADD =
# It counts what others do.
test_bench_bench_counts_LDADD =

# One rule for all MPI programs: without an mpicc there are none, and their tests are skipped.
MPI_CLIENTS = mpi_init mpi_ring mpi_allreduce mpi_onesided mpi_intercomm mpi_spawn mpi_spawn_time mpi_connect mpi_dynamic \
	mpi_family mpi_hang mpi_siblings mpi_tree
# They are measured; the others make room for each other.
MPI_SPINNING = mpi_init mpi_spawn_time

# The clients are no part of pmixhost, so they take none of its flags but the warnings: a sanitizer in them would test
# libpmix and slow the measurements. Automake knows flags of one program or of all; these are make's own, of these
# programs and of what is made for them.
E2E_CFLAGS = $(PMIXHOST_WARN) $(PMIX_CFLAGS) -I$(srcdir)/test/e2e/clients
$(E2E_CLIENTS) $(E2E_CLIENTS:%=%.$(OBJEXT)): AM_CFLAGS = $(E2E_CFLAGS)
$(E2E_CLIENTS): AM_LDFLAGS =
$(E2E_CLIENTS): LDADD = $(PMIX_LIBS)

# The template of a backend, which test/e2e/local/template.sh runs jobs through.
e2e-clients: plugins/template/backend_template.la plugins/template/pmixhost-template

# Preloaded into the daemon (stuck) and into a tool.
check_LTLIBRARIES += test/e2e/clients/stuck.la test/e2e/clients/miscount.la
E2E_PRELOADED = -module -avoid-version -shared -rpath /nowhere
test_e2e_clients_stuck_la_SOURCES = test/e2e/clients/stuck.c
test_e2e_clients_stuck_la_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_stuck_la_LDFLAGS = $(E2E_PRELOADED)
test_e2e_clients_stuck_la_LIBADD = -ldl
test_e2e_clients_miscount_la_SOURCES = test/e2e/clients/miscount.c
test_e2e_clients_miscount_la_CFLAGS = $(E2E_CFLAGS)
test_e2e_clients_miscount_la_LDFLAGS = $(E2E_PRELOADED)
test_e2e_clients_miscount_la_LIBADD = -ldl
test/e2e/clients/break_loop.so: test/e2e/clients/break_loop.c
	@$(MKDIR_P) test/e2e/clients
	$(AM_V_CC)$(CC) $(PMIXHOST_WARN) -shared -fPIC -o $@ $(srcdir)/test/e2e/clients/break_loop.c
test/e2e/clients/mpi.stamp: $(MPI_CLIENTS:%=$(srcdir)/test/e2e/clients/%.c) $(srcdir)/test/e2e/clients/yields.c
	@$(MKDIR_P) test/e2e/clients
	@mpicc=$$(command -v $${MPICC:-mpicc}) || { echo "no mpicc: no MPI clients"; exit 0; }; \
	for p in $(MPI_CLIENTS); do \
		echo "  MPICC    test/e2e/clients/$$p"; \
		case " $(MPI_SPINNING) " in *" $$p "*) yields= ;; *) yields="$(srcdir)/test/e2e/clients/yields.c -rdynamic" ;; esac; \
		$$mpicc -O0 -g -o test/e2e/clients/$$p $(srcdir)/test/e2e/clients/$$p.c $$yields || exit 1; \
	done; touch $@
CLEANFILES += test/e2e/clients/mpi.stamp test/e2e/clients/break_loop.so $(MPI_CLIENTS:%=test/e2e/clients/%)

# make e2e-clients: all of them and nothing else, for the runners.
.PHONY: e2e-clients
e2e-clients: $(E2E_CLIENTS) test/e2e/clients/stuck.la test/e2e/clients/miscount.la test/e2e/clients/mpi.stamp test/e2e/clients/break_loop.so

# The scripts by their folders: a list of them would forget the new ones.
EXTRA_DIST += test/e2e/common test/e2e/slurm test/e2e/local
EXTRA_DIST += $(MPI_CLIENTS:%=test/e2e/clients/%.c) test/e2e/clients/yields.c test/e2e/clients/break_loop.c test/e2e/run-local test/e2e/on-each-release test/e2e/alone \
	test/e2e/not-yet test/e2e/not-yet.bookworm test/e2e/not-yet.trixie test/e2e/step_secret.sh test/e2e/output_jobs.sh \
	test/e2e/open_gate.sh test/e2e/remote_gate.sh \
	test/bench/report test/bench/debug test/bench/events test/bench/large test/bench/output test/bench/spawn test/bench/stacks test/bench/stores test/bench/tools \
	test/bench/unvisited test/bench/visits \
	test/bench/cluster_runs.py test/bench/debuggable.py test/bench/report_tables.py test/bench/samples.py \
	test/coverage-check
