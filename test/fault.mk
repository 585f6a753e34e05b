# The attackers of the fault tests (test/fault/run-slurm, run-local): no part of pmixhost, so they take none of its
# flags but the warnings. Included by test/local.mk.
FAULT_CFLAGS = $(PMIXHOST_WARN)
check_PROGRAMS += test/fault/stranger
test_fault_stranger_SOURCES = test/fault/stranger.c
test_fault_stranger_CFLAGS = $(FAULT_CFLAGS)
test_fault_stranger_LDFLAGS =
test_fault_stranger_LDADD =

# For LD_PRELOAD; -rpath makes libtool build a shared object of what is never installed.
check_LTLIBRARIES += test/fault/claim_uid.la
test_fault_claim_uid_la_SOURCES = test/fault/claim_uid.c
test_fault_claim_uid_la_CFLAGS = $(FAULT_CFLAGS)
test_fault_claim_uid_la_LDFLAGS = -module -shared -avoid-version -rpath $(abs_builddir)/test/fault

# make fault-programs: what the runners need, and nothing else.
.PHONY: fault-programs
fault-programs: e2e-clients test/fault/stranger test/fault/claim_uid.la

# The scripts by their folders: a list of them would forget the new ones.
EXTRA_DIST += test/strangers/run-slurm test/strangers/words.sh test/strangers/examples.h test/strangers/slurm
EXTRA_DIST += test/fault/run-slurm test/fault/run-local test/fault/slurm test/fault/local \
	test/fault/words.sh test/e2e/on-cluster.sh test/e2e/chosen.sh
